// The calculators of a page. What a reader enters goes to Python in a worker; the HTML that comes back replaces the answer.
// This module holds no fact and no formula. It runs once in a tab: instant navigation keeps it, and with it the worker.

import { carried, carry, corrections, forget } from "./carrying.mjs";
import { choose, offerChoosing, show } from "./choosing.mjs";
import { offerImport } from "./importing.mjs";
import { offerLaunching } from "./launching.mjs";
import { runtime } from "./runtime.mjs";
import { follow, offerSliding } from "./sliding.mjs";
import { before, offerReport, offerTaking } from "./taking.mjs";

const OWN = "own"; // values that are no worked example
const SETTLE_MS = 400; // typing has settled, and a screen reader is told
const ADDRESS_MS = 200; // after the last change: browsers take milliseconds to change an address, and limit how often
const LOOK_MS = 1000; // a calculator that is looked at this long will probably be used
const IDLE_TEXT = "Change a value: the answer is computed in your browser.";
const LIVE_TEXT = "Live: Python computes in your browser.";
const LATE_MS = 300; // an answer that is not in by then is said to be under way
const WRONG_TEXT = "What stands here still answers the last valid values.";
const LATE_TEXT = "Being computed: what stands here answers the values before your change.";
const STOPPED_TEXT = "Stopped. What stands here answers the values before your change.";
const CARRIED_TEXT = "Your values came along from another calculator. Reset takes the first ones.";
const UNANSWERED_TEXT = "There is no answer to these values yet.";
const UNKEPT_TEXT = "The browser does not let this page keep it.";
const KEPT_TEXT = "What is shown answers the values before.";

class Calculator extends HTMLElement {
  #form; #answer; #status; #line; #stale;
  #listening = new AbortController();
  #linked = {}; // values from the address that a control cannot show, such as an option that is not there
  #asked = false; // the reader, or the address, has asked for another answer than the one in the page
  #editing = null; // the field that is being typed in: until it is left, the address is replaced, not pushed
  #push = false; #writing = 0; // whether the address that waits to be written is a new one to go back from
  #shown = ""; #told = ""; #settling = 0; #late = 0;

  connectedCallback() {
    this.#form = this.querySelector("form");
    this.#answer = this.querySelector(".calc-answer");
    this.#status = this.querySelector(".calc-status");
    this.#line = this.querySelector(".calc-runtime");
    this.#stale = document.createElement("p");
    this.#stale.className = "calc-stale";
    this.#listening = new AbortController();
    const listen = (target, type, action, more) =>
      target.addEventListener(type, action, { signal: this.#listening.signal, ...more });
    offerChoosing(this, listen, (text) => this.#say(text));
    offerSliding(this, listen);
    listen(this.#form, "input", (event) => this.#edit(event));
    listen(this.#form, "change", () => { this.#editing = null; });
    listen(this.#form, "submit", (event) => event.preventDefault());
    listen(this.#form, "reset", () => setTimeout(() => this.#reset()));
    listen(window, "popstate", () => this.#restore());
    for (const leaving of ["focusin", "click", "pagehide"]) listen(window, leaving, () => this.#writeAddress(), { capture: true });
    const intents = spared() ? ["focusin"] : ["pointerover", "pointerdown", "focusin"];
    for (const intent of intents) listen(this, intent, () => runtime.start(), { once: true });
    listen(this.#answer, "click", (event) => this.#open(event));
    listen(runtime, "change", () => this.#sayState());
    offerImport(this, listen, {
      fields: () => this.#fields,
      use: (fields, told) => this.#use(fields, told),
      say: (text) => this.#say(text),
    });
    offerTaking(this, listen, {
      fields: () => this.#fields,
      changed: () => this.#changed,
      address: () => this.#address().href,
      status: () => this.#answer.querySelector(".calc-verdict")?.textContent ?? "",
      say: (text) => this.#say(text),
    });
    offerLaunching(this, listen, { fields: () => this.#fields, say: (text) => this.#say(text) });
    this.#offerExamples(listen);
    bringTables(this.#answer);
    this.#startWhenLookedAt();
    this.#tellOrigin(...before(this));
    const typed = this.#controls.filter((control) => control.value !== initial(control)); // before this script was there
    const [linked, taken] = [this.#readAddress(typed), this.#takeCarried(typed)];
    if (typed.length) { this.#carry(); this.#laterWriteAddress(true); }
    if (linked || taken || corrections().length) {
      this.#answer.hidden = true; // the page's own answer is to other values than the address has
      this.#ask();
    }
    const now = this.querySelector(".calc-now");
    if (now && !this.#asked) now.textContent = this.#answer.querySelector(".calc-verdict")?.textContent ?? "";
    this.#count();
    this.#sayState();
  }

  disconnectedCallback() {
    this.#listening.abort();
    for (const timer of [this.#settling, this.#writing, this.#late]) clearTimeout(timer);
  }

  get #controls() {
    return [...this.#form.elements].filter((control) => control.name);
  }

  // What a control stands for: what the address gave where it cannot show that.
  #value(control) {
    return this.#linked[control.name] ?? control.value;
  }

  get #fields() {
    return { ...Object.fromEntries(new FormData(this.#form)), ...this.#linked };
  }

  get #changed() {
    const changed = this.#controls.filter((control) => this.#value(control) !== initial(control));
    return Object.fromEntries(changed.map((control) => [control.name, this.#value(control)]));
  }

  // Loading begins before the first keystroke, but not for a page that is only scrolled past, nor where data is saved.
  #startWhenLookedAt() {
    if (spared() || runtime.started) return;
    let timer = 0;
    const idle = window.requestIdleCallback ?? setTimeout;
    const observer = new IntersectionObserver(([entry]) => {
      clearTimeout(timer);
      if (entry.isIntersecting) timer = setTimeout(() => idle(() => runtime.start()), LOOK_MS);
    });
    observer.observe(this.#form);
    this.#listening.signal.addEventListener("abort", () => { observer.disconnect(); clearTimeout(timer); });
  }

  #key(name) {
    return this.dataset.prefix ? `${this.dataset.prefix}.${name}` : name;
  }

  // Put the address's values into the form, but leave what was typed; say whether the form differs from the defaults.
  #readAddress(typed = []) {
    const query = new URLSearchParams(location.search);
    this.#linked = {};
    let differs = false;
    for (const control of this.#controls) {
      const value = typed.includes(control) ? control.value : (query.get(this.#key(control.name)) ?? initial(control));
      this.#set(control, value);
      if (value !== initial(control)) differs = true;
    }
    return differs;
  }

  // Values of another calculator in this tab that this one asks for too; an address with values of its own comes first,
  // and who goes back finds what was there.
  #takeCarried(typed) {
    if (location.search || this.dataset.prefix || (spared() && !runtime.started)) return false;
    const [arrival] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType("navigation"));
    if (arrival?.type === "back_forward" && !runtime.started) return false;
    const values = carried();
    const known = this.#controls.filter((control) => !typed.includes(control) && control.name in values && values[control.name] !== initial(control) && takes(control, values[control.name]));
    for (const control of known) this.#set(control, values[control.name]);
    if (known.length) {
      this.#tellOrigin(CARRIED_TEXT);
      this.#laterWriteAddress(false);
    }
    return known.length > 0;
  }

  #carry() {
    const values = this.#controls.map((control) => ({ name: control.name, value: this.#value(control), first: initial(control) }));
    carry(this.#changed, values.filter(({ value, first }) => value === first).map(({ name }) => name));
  }

  #set(control, value) {
    if (control.dataset.list) choose(control, value);
    else control.value = value;
    show(control);
    if (control.value === value) delete this.#linked[control.name];
    else this.#linked[control.name] = value;
  }

  #laterWriteAddress(push) {
    this.#push ||= push;
    clearTimeout(this.#writing);
    this.#writing = setTimeout(() => this.#writeAddress(), ADDRESS_MS);
  }

  #writeAddress() {
    if (!this.#writing) return;
    clearTimeout(this.#writing);
    const push = this.#push;
    [this.#writing, this.#push] = [0, false];
    const address = this.#address();
    if (address.href === location.href) return;
    if (push) history.pushState(history.state, "", address);
    else history.replaceState(history.state, "", address);
  }

  // The page's address with the form's values; what another link said of its own answer does not belong to these.
  #address() {
    const address = new URL(location.href);
    for (const key of ["catalog", "was"]) address.searchParams.delete(key);
    for (const control of this.#controls) {
      const value = this.#value(control);
      if (value === initial(control)) address.searchParams.delete(this.#key(control.name));
      else address.searchParams.set(this.#key(control.name), value);
    }
    return address;
  }

  // Worked examples fill in the form; when a field is changed the list says that the values are the reader's own.
  #offerExamples(listen) {
    const list = this.#examples;
    list.parentElement.hidden = false;
    listen(list, "input", (event) => event.stopPropagation());
    listen(list, "change", (event) => {
      event.stopPropagation();
      if (list.value !== OWN) this.#use(this.#exampleValues(list.value), "");
    });
  }

  get #examples() {
    return /** @type {HTMLSelectElement} */ (this.querySelector(".calc-example select"));
  }

  #exampleValues(written) {
    const values = JSON.parse(written);
    return Object.fromEntries(this.#controls.map((control) => [control.name, values[control.name] ?? initial(control)]));
  }

  #nameExample() {
    const now = JSON.stringify(this.#controls.map((control) => [control.name, this.#value(control)]));
    const known = [...this.#examples.options].find(({ value }) => value !== OWN && JSON.stringify(Object.entries(this.#exampleValues(value))) === now);
    this.#examples.value = known?.value ?? OWN;
  }

  // Say above the answer's state where the form's values are from: a line, or two of which the second ends with the answer.
  #tellOrigin(...lines) {
    this.querySelector(".calc-before")?.remove();
    if (!lines.length) return;
    const told = Object.assign(document.createElement("div"), { className: "calc-before" });
    for (const text of lines) told.append(Object.assign(document.createElement("p"), { textContent: text }));
    if (lines.length > 1) told.lastElementChild.append(Object.assign(document.createElement("span"), { className: "calc-now" }));
    this.#line.before(told);
  }

  #edit(event) {
    delete this.#linked[event.target.name];
    this.#leaveOffered(event.target);
    this.#ask();
    this.#carry();
    this.#laterWriteAddress(this.#editing !== event.target);
    this.#editing = event.target;
  }

  // Take values that an import gave; what it told is said together with the answer.
  #use(fields, told) {
    this.#told = told;
    for (const control of this.#controls) if (control.name in fields) this.#set(control, fields[control.name]);
    this.#editing = null;
    this.#ask();
    this.#carry();
    this.#laterWriteAddress(true);
  }

  // Options that Python names beside those of the page: a model that was imported, and the sizes of its file.
  #offer(options) {
    for (const { field, value, label, of } of options) {
      const control = this.#controls.find(({ name }) => name === field);
      let option = [...control.options].find((known) => known.value === value);
      if (!option) control.append((option = new Option(label, value)));
      option.label = option.text = label;
      option.dataset.of = of;
      if (this.#linked[field] === value) this.#set(control, value);
      show(control);
    }
  }

  // Where another model is chosen than the imported one, what belongs to the imported one is no choice any more.
  #leaveOffered(changed) {
    if (changed.tagName !== "SELECT" || changed.selectedOptions[0]?.dataset.of) return;
    for (const control of this.#controls) {
      if (control === changed || control.tagName !== "SELECT") continue;
      const belongs = control.selectedOptions[0]?.dataset.of === changed.name;
      if (belongs) this.#set(control, initial(control));
    }
  }

  #reset() {
    this.#linked = {};
    forget();
    this.#tellOrigin();
    for (const control of this.#controls) show(control);
    this.#editing = null;
    this.#ask();
    this.#laterWriteAddress(true);
  }

  #restore() {
    clearTimeout(this.#writing);
    this.#writing = 0;
    if (this.#readAddress() || this.#asked) this.#ask();
  }

  // From here on the answer on show is to another question, until the one to this comes in.
  #ask() {
    this.#asked = true;
    this.#answer.setAttribute("data-stale", "");
    this.#answer.setAttribute("aria-busy", "true");
    clearTimeout(this.#late);
    this.#late = setTimeout(() => this.#note(LATE_TEXT), LATE_MS);
    this.#count();
    const kept = corrections();
    const request = { calculator: this.dataset.calculator, fields: this.#fields, ...(kept.length && { corrections: kept }) };
    const told = "steps" in this.dataset ? (text) => this.#tellSteps(text) : undefined;
    runtime.ask(this, request, (answer) => { this.#show(answer); if (answer.ok) this.#announce(request.fields); }, { told });
    this.#sayState();
  }

  // What takes long says how far it is, and can be stopped.
  #tellSteps(text) {
    if (!this.#stale.isConnected) return;
    const known = this.#stale.querySelector("span");
    if (known) { known.textContent = text; return; }
    this.#note(LATE_TEXT);
    const stop = Object.assign(document.createElement("button"), { type: "button", textContent: "Stop" });
    stop.addEventListener("click", () => this.#stop());
    this.#stale.append(" ", Object.assign(document.createElement("span"), { textContent: text }), " ", stop);
  }

  #stop() {
    runtime.drop(this);
    this.#answer.removeAttribute("aria-busy");
    this.#note(this.#answer.hidden ? UNANSWERED_TEXT : STOPPED_TEXT);
    this.#say(STOPPED_TEXT);
  }

  #show(answer) {
    if (!this.isConnected) return;
    clearTimeout(this.#late);
    this.#answer.removeAttribute("aria-busy");
    this.#showErrors(answer.errors ?? []);
    this.#offer(answer.options ?? []);
    if (answer.ok) this.#answer.hidden = false;
    if (answer.ok && answer.html !== this.#shown) {
      this.#shown = answer.html;
      const open = new Set([...this.#answer.querySelectorAll("details[open]")].map((part) => part.dataset.key));
      const focused = this.#answer.contains(document.activeElement) && document.activeElement.closest("details")?.dataset.key;
      this.#answer.innerHTML = answer.html;
      bringTables(this.#answer);
      offerReport(this.#answer);
      for (const part of this.#answer.querySelectorAll("details")) part.open = open.has(part.dataset.key);
      if (focused) this.#answer.querySelector(`details[data-key="${focused}"] > summary`)?.focus({ preventScroll: true });
    }
    const now = this.querySelector(".calc-now");
    if (now && answer.ok) now.textContent = answer.status;
    this.#say(`${this.#told} ${answer.status}`.trim());
    this.#told = "";
    this.#sayState();
  }

  // Plots of the page follow: they hear of each answer, and those that come later find the fields of the last one.
  #announce(fields) {
    this.answered = fields;
    this.dispatchEvent(new Event("gpu-answer", { bubbles: true }));
  }

  #say(text) {
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => { this.#status.textContent = text; }, SETTLE_MS);
  }

  #showErrors(errors) {
    const messages = Object.fromEntries(errors.map(({ field, message }) => [field, message]));
    for (const control of this.#controls) {
      const message = messages[control.name];
      const place = document.getElementById(`${control.id}-error`);
      place.textContent = message ?? "";
      place.hidden = !message;
      const shown = document.getElementById(`${control.id}-field`) ?? control;
      if (message) shown.setAttribute("aria-invalid", "true");
      else shown.removeAttribute("aria-invalid");
    }
    if (errors.length === 0) {
      this.#stale.remove();
      this.#answer.removeAttribute("data-stale");
      return;
    }
    this.querySelector("[aria-invalid=true]")?.closest("details")?.setAttribute("open", "");
    const unplaced = errors.filter(({ field }) => !this.#controls.some((control) => control.name === field));
    this.#note([...unplaced.map(({ message }) => message), this.#answer.hidden ? UNANSWERED_TEXT : WRONG_TEXT].join(" "));
  }

  // Say what the answer on show is to: before it, or where it is hidden in its place.
  #note(text) {
    this.#stale.textContent = this.#answer.hidden && text === LATE_TEXT ? "Being computed …" : text;
    if (this.#answer.hidden) this.#answer.before(this.#stale);
    else this.#answer.prepend(this.#stale);
  }

  // The heading of each folded part says how many of its fields were changed, and sliders stand where numbers do.
  #count() {
    this.#nameExample();
    follow(this);
    for (const topic of this.querySelectorAll(".calc-topic")) {
      const within = this.#controls.filter((control) => topic.contains(control));
      const changed = within.filter((control) => this.#value(control) !== initial(control)).length;
      topic.querySelector(".calc-changed").textContent = changed ? `${changed} changed` : "";
    }
  }

  // Buttons of an answer, and the verdict: where it stays at the lower edge of a narrow page, pressing it opens it and
  // shows the rest, and once more closes it.
  #open(event) {
    const button = event.target.closest("[data-correct], [data-uncorrect]");
    if (button) {
      const asked = { calculator: this.dataset.calculator, fields: this.#fields };
      import("./correcting.mjs").then(({ press }) => press(button, asked)).then((told) => { this.#told = told; this.#ask(); }, () => this.#say(UNKEPT_TEXT));
      return;
    }
    const verdict = event.target.closest(".calc-verdict");
    if (!verdict || getComputedStyle(verdict).position !== "sticky") return;
    if (verdict.toggleAttribute("data-open")) verdict.nextElementSibling?.scrollIntoView({ block: "center" });
  }

  // One line says what the runtime does: nothing yet, loading, live, or failed with a way to try again.
  #sayState() {
    const { state, text } = runtime;
    this.dataset.state = state;
    this.#line.textContent = state === "idle" ? IDLE_TEXT : state === "ready" ? LIVE_TEXT : text;
    if (state !== "failed") return;
    clearTimeout(this.#late);
    if (this.#asked) this.#note(this.#answer.hidden ? UNANSWERED_TEXT : KEPT_TEXT);
    this.#say(text);
    const retry = document.createElement("button");
    retry.type = "button";
    retry.textContent = "Retry";
    retry.addEventListener("click", () => { runtime.retry(); if (this.#asked) this.#ask(); });
    this.#line.append(" ", retry);
  }
}

// Python is not fetched unasked where data is saved, nor on a phone.
function spared() {
  return navigator.connection?.saveData || matchMedia("(hover: none)").matches;
}

// Tables of an answer that are filtered and sorted bring the script for it.
function bringTables(answer) {
  if (answer.querySelector("gpu-table")) import("../table/table.mjs");
}

// Whether a control can hold a value: a list must have it.
function takes(control, value) {
  return control.tagName !== "SELECT" || Boolean(control.dataset.list) || [...control.options].some((option) => option.value === value);
}

// A control's value as the page was built.
function initial(control) {
  if (control.tagName !== "SELECT") return control.defaultValue;
  return [...control.options].find((option) => option.defaultSelected)?.value ?? control.options[0]?.value ?? "";
}

customElements.define("gpu-calculator", Calculator);
