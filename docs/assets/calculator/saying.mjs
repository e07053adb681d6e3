// What a calculator says of its answer: to which values it is, how far the next one is, what was wrong, what Python does.

import { write } from "./values.mjs";

const SETTLE_MS = 400; // typing has settled, and a screen reader is told
const MARK_MS = 50; // three frames: an old answer that stands longer is marked
const LATE_MS = 300; // an answer that is not in by then is said to be under way
const IDLE_TEXT = "Change a value: the answer is computed in your browser.";
const LIVE_TEXT = "Live: Python computes in your browser.";
const WRONG_TEXT = "What stands here still answers the last valid values.";
const LATE_TEXT = "Being computed: what stands here answers the values before your change.";
const STOPPED_TEXT = "Stopped. What stands here answers the values before your change.";
const UNANSWERED_TEXT = "There is no answer to these values yet.";
const KEPT_TEXT = "What is shown answers the values before.";

export class Saying {
  #calculator; #answer; #status; #line; #stale;
  #settling = 0; #marking = 0; #late = 0;

  constructor(calculator) {
    this.#calculator = calculator;
    this.#answer = calculator.querySelector(".calc-answer");
    this.#status = calculator.querySelector(".calc-status");
    this.#line = calculator.querySelector(".calc-runtime");
    this.#stale = document.createElement("p");
    this.#stale.className = "calc-stale";
  }

  // A screen reader is told when typing has settled.
  say(text) {
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => { this.#status.textContent = text; }, SETTLE_MS);
  }

  // From here on the answer on show is to another question, until the one to this comes in. It is marked at once, but
  // where Python is there, which answers within a frame or two: a mark that came and went with each key would flicker,
  // and to draw the answer twice takes a fifth of a key's time.
  asked({ state }) {
    this.#answer.setAttribute("aria-busy", "true");
    if (state !== "ready") this.#mark();
    else this.#marking ||= setTimeout(() => this.#mark(), MARK_MS);
    clearTimeout(this.#late);
    this.#late = setTimeout(() => this.#note(LATE_TEXT), LATE_MS);
  }

  #mark() {
    this.#answer.setAttribute("data-stale", "");
  }

  ended() {
    for (const timer of [this.#marking, this.#late]) clearTimeout(timer);
    this.#marking = 0;
    this.#answer.removeAttribute("aria-busy");
  }

  silence() {
    this.ended();
    clearTimeout(this.#settling);
  }

  // What takes long says how far it is, and can be stopped.
  steps(text, stop) {
    if (!this.#stale.isConnected) return;
    const known = this.#stale.querySelector("span");
    if (known) { known.textContent = text; return; }
    this.#note(LATE_TEXT);
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: "Stop" });
    button.addEventListener("click", stop);
    this.#stale.append(" ", Object.assign(document.createElement("span"), { textContent: text }), " ", button);
  }

  stopped() {
    this.ended();
    this.#note(this.#answer.hidden ? UNANSWERED_TEXT : STOPPED_TEXT);
    this.say(STOPPED_TEXT);
  }

  // What was wrong stands beside its field; what belongs to no field stands before the answer.
  errors(errors, controls) {
    const messages = Object.fromEntries(errors.map(({ field, message }) => [field, message]));
    for (const control of controls) mark(control, messages[control.name]);
    if (errors.length === 0) {
      this.#stale.remove();
      this.#answer.removeAttribute("data-stale");
      return;
    }
    this.#calculator.querySelector("[aria-invalid=true]")?.closest("details")?.setAttribute("open", "");
    const unplaced = errors.filter(({ field }) => !controls.some((control) => control.name === field));
    this.#note([...unplaced.map(({ message }) => message), this.#answer.hidden ? UNANSWERED_TEXT : WRONG_TEXT].join(" "));
  }

  // Say what the answer on show is to: before it, or where it is hidden in its place.
  #note(text) {
    this.#mark();
    this.#stale.textContent = this.#answer.hidden && text === LATE_TEXT ? "Being computed …" : text;
    if (this.#answer.hidden) this.#answer.before(this.#stale);
    else this.#answer.prepend(this.#stale);
  }

  // Say above the answer's state where the form's values are from: a line, or two of which the second ends with the answer.
  origin(...lines) {
    this.#calculator.querySelector(".calc-before")?.remove();
    if (!lines.length) return;
    const told = Object.assign(document.createElement("div"), { className: "calc-before" });
    for (const text of lines) told.append(Object.assign(document.createElement("p"), { textContent: text }));
    if (lines.length > 1) told.lastElementChild.append(Object.assign(document.createElement("span"), { className: "calc-now" }));
    this.#line.before(told);
  }

  // The answer as it is now, where an old link's stands before it.
  now(text) {
    const now = this.#calculator.querySelector(".calc-now");
    if (now) now.textContent = text;
  }

  // One line says what the runtime does: nothing yet, loading, live, or failed with a way to try again.
  state({ state, text }, asked, retry) {
    this.#calculator.dataset.state = state;
    write(this.#line, state === "idle" ? IDLE_TEXT : state === "ready" ? LIVE_TEXT : text);
    if (state !== "failed") return;
    clearTimeout(this.#late);
    if (asked) this.#note(this.#answer.hidden ? UNANSWERED_TEXT : KEPT_TEXT);
    this.say(text);
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: "Retry" });
    button.addEventListener("click", retry);
    this.#line.append(" ", button);
  }
}

function mark(control, message) {
  const place = document.getElementById(`${control.id}-error`);
  if (place.hidden && !message) return;
  place.textContent = message ?? "";
  place.hidden = !message;
  const shown = document.getElementById(`${control.id}-field`) ?? control;
  if (message) shown.setAttribute("aria-invalid", "true");
  else shown.removeAttribute("aria-invalid");
}
