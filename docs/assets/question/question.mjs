// A question in one line. What is typed goes to the page's Python, which answers with finished HTML: what was understood as
// lists, each of whose entries are words to put in the line, and below them the answer. No fact and no rule is here.

import { offerLaunching } from "../calculator/launching.mjs";
import { runtime } from "../calculator/runtime.mjs";

const SETTLE_MS = 400; // typing has settled, and a screen reader is told
const LOOK_MS = 200; // who opens this page has a question; what the page itself needs is in by then
const LIVE_TEXT = "Computed in your browser.";
const LATE_TEXT = "Being computed …";
const STOPPED_TEXT = "Stopped. Press Enter to ask again.";

class Question extends HTMLElement {
  #form; #line; #result; #status; #state;
  #listening = new AbortController();
  #asked = ""; #settling = 0; #warmed = false; #idle = "";

  connectedCallback() {
    this.#form = this.querySelector("form");
    this.#line = this.querySelector("input");
    this.#result = this.querySelector(".ask-result");
    this.#status = this.querySelector(".calc-status");
    this.#state = this.querySelector(".calc-runtime");
    this.#idle ||= this.#state.textContent;
    this.#listening = new AbortController();
    const listen = (target, type, action, more) => target.addEventListener(type, action, { signal: this.#listening.signal, ...more });
    listen(this.#form, "submit", (event) => this.#submit(event));
    listen(this.#result, "change", ({ target }) => this.#replace(target));
    listen(this, "click", (event) => this.#follow(event));
    offerLaunching(this, listen, { fields: () => ({}), say: (text) => { this.#status.textContent = text; } });
    listen(window, "popstate", () => this.#restore());
    listen(runtime, "change", () => { this.#warm(); this.#sayState(); });
    for (const intent of ["focusin", "pointerdown"]) listen(this, intent, () => runtime.start(), { once: true });
    this.#startWhenIdle();
    this.#restore();
    this.#warm();
    this.#sayState();
  }

  disconnectedCallback() {
    this.#listening.abort();
    clearTimeout(this.#settling);
  }

  // Who comes here will probably type; where data is saved, and on a phone, Python waits for the first touch of the line.
  #startWhenIdle() {
    if (navigator.connection?.saveData || matchMedia("(hover: none)").matches || runtime.started) return;
    const timer = setTimeout(() => (window.requestIdleCallback ?? setTimeout)(() => this.isConnected && runtime.start()), LOOK_MS);
    this.#listening.signal.addEventListener("abort", () => clearTimeout(timer));
  }

  // The first answer loads and indexes what all others need: an example is asked while the reader still types.
  #warm() {
    if (runtime.state !== "ready" || this.#asked || this.#warmed) return;
    this.#warmed = true;
    runtime.ask(this.#form, { line: this.#line.placeholder }, () => {});
  }

  // On a phone the keyboard makes room for the answer.
  #submit(event) {
    event.preventDefault();
    if (matchMedia("(hover: none)").matches) this.#line.blur();
    this.#ask(this.#line.value, true);
  }

  // The address says what was asked, so that a link or the site's search can ask it; ?q= is the theme's own search.
  #restore() {
    const asked = new URLSearchParams(location.search).get("ask") ?? "";
    if (asked === this.#asked) return;
    this.#line.value = asked;
    this.#ask(asked, false);
  }

  #ask(text, push) {
    const line = text.trim();
    this.#asked = line;
    if (push) this.#write(line);
    this.#result.hidden = !line;
    if (!line) return;
    this.#result.setAttribute("data-stale", "");
    this.#result.setAttribute("aria-busy", "true");
    runtime.ask(this, { line }, (answer) => this.#show(answer), { told: (text) => this.#tell(text) });
    this.#sayState();
  }

  // What takes long says how far it is, and can be stopped: the line then waits to be asked again.
  #tell(text) {
    const told = `${LATE_TEXT} ${text}`;
    if (this.#state.querySelector("button")) { this.#state.firstChild.nodeValue = `${told} `; return; }
    const stop = Object.assign(document.createElement("button"), { type: "button", textContent: "Stop" });
    stop.addEventListener("click", () => this.#stop());
    this.#state.replaceChildren(`${told} `, stop);
  }

  #stop() {
    runtime.drop(this);
    this.#asked = "";
    this.#result.hidden = true;
    this.#result.removeAttribute("aria-busy");
    this.#result.removeAttribute("data-stale");
    this.#sayState();
    this.#status.textContent = STOPPED_TEXT;
    this.#line.focus();
  }

  #write(line) {
    const address = new URL(location.href);
    address.search = line ? `?${new URLSearchParams({ ask: line })}` : "";
    if (address.href !== location.href) history.pushState(history.state, "", address);
  }

  #show(answer) {
    if (!this.isConnected) return;
    this.#result.removeAttribute("aria-busy");
    this.#result.removeAttribute("data-stale");
    const chosen = document.activeElement?.id;
    if (answer.ok) this.#result.innerHTML = answer.html;
    else this.#result.replaceChildren(Object.assign(document.createElement("p"), { textContent: answer.status }));
    if (this.#result.querySelector("gpu-table")) import("../table/table.mjs");
    if (chosen?.startsWith("ask-")) document.getElementById(chosen)?.focus({ preventScroll: true });
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => { this.#status.textContent = answer.status; }, SETTLE_MS);
    this.#sayState();
  }

  // Another entry of a list puts its words where the line had others, or adds them.
  #replace(list) {
    const { start, end } = list.dataset;
    if (start === undefined) return;
    const [before, after] = [this.#asked.slice(0, Number(start)), this.#asked.slice(Number(end))];
    this.#line.value = [before.trim(), list.value, after.trim()].filter(Boolean).join(" ").replaceAll(" ,", ",");
    this.#ask(this.#line.value, true);
  }

  // An example is asked in place.
  #follow(event) {
    const link = event.target.closest(".ask-examples a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.#line.value = link.textContent;
    this.#ask(link.textContent, true);
  }

  #sayState() {
    const { state, text } = runtime;
    this.dataset.state = state;
    const busy = this.#result.hasAttribute("data-stale");
    this.#state.textContent = state === "ready" ? (busy ? LATE_TEXT : LIVE_TEXT) : state === "idle" ? this.#idle : text;
    if (state !== "failed") return;
    const retry = Object.assign(document.createElement("button"), { type: "button", textContent: "Retry" });
    retry.addEventListener("click", () => { runtime.retry(); if (this.#asked) this.#ask(this.#asked, false); });
    this.#state.append(" ", retry);
  }
}

customElements.define("gpu-question", Question);
