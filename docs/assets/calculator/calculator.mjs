// The calculators of a page. What a reader enters goes to Python in a worker; the HTML that comes back replaces the answer.
// This module holds no fact and no formula. It runs once in a tab: instant navigation keeps it, and with it the worker.

import { Address } from "./address.mjs";
import { carried, carry, corrections, forget } from "./carrying.mjs";
import { offerChanges } from "./changing.mjs";
import { offerChoosing } from "./choosing.mjs";
import { Examples } from "./examples.mjs";
import { offerImport } from "./importing.mjs";
import { offerLaunching } from "./launching.mjs";
import { runtime } from "./runtime.mjs";
import { Saying } from "./saying.mjs";
import { follow, offerSliding } from "./sliding.mjs";
import { before, offerReport, offerTaking } from "./taking.mjs";
import { Values, initial, takes } from "./values.mjs";

const LOOK_MS = 1000; // a calculator that is looked at this long will probably be used
const CARRIED_TEXT = "Your values came along from another calculator. Reset takes the first ones.";
const UNKEPT_TEXT = "The browser does not let this page keep it.";

// Whether the browser's history brought the page last, not a link. Instant navigation takes a step back for a new page too,
// and after a reload even one within the page.
const [arrival] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType("navigation"));
let returned = arrival?.type === "back_forward";
addEventListener("popstate", () => { returned = true; }, { capture: true });
addEventListener("click", () => { returned = false; }, { capture: true });

class Calculator extends HTMLElement {
  #form; #answer; #values; #address; #examples; #saying;
  #listening = new AbortController();
  #asked = false; // the reader, or the address, has asked for another answer than the one in the page
  #editing = null; // the field that is being typed in: until it is left, the address is replaced, not pushed
  #shown = ""; #told = "";

  connectedCallback() {
    this.#form = this.querySelector("form");
    this.#answer = this.querySelector(".calc-answer");
    this.#values = new Values(this.#form);
    this.#address = new Address(this.#values, this.dataset.prefix, () => carry(this.#values.changed, this.#values.unchanged));
    this.#examples = new Examples(this, this.#values);
    this.#saying = new Saying(this);
    this.#listen();
    bringTables(this.#answer);
    offerChanges(this.#answer, this.#values.controls);
    this.#startWhenLookedAt();
    this.#saying.origin(...before(this));
    this.#begin();
  }

  disconnectedCallback() {
    this.#listening.abort();
    this.#address.drop();
    this.#saying.silence();
  }

  #listen() {
    this.#listening = new AbortController();
    const listen = (target, type, action, more) =>
      target.addEventListener(type, action, { signal: this.#listening.signal, ...more });
    const [fields, say] = [() => this.#values.fields, (text) => this.#saying.say(text)];
    const offerControls = (part) => { offerChoosing(part, listen, say); offerSliding(part, listen); };
    offerControls(this);
    for (const topic of this.querySelectorAll(".calc-topic:not([open])")) {
      listen(topic, "toggle", () => { offerControls(topic); follow(topic); }, { once: true });
    }
    listen(this.#form, "input", (event) => this.#edit(event));
    listen(this.#form, "change", () => { this.#editing = null; });
    listen(this.#form, "submit", (event) => event.preventDefault());
    listen(this.#form, "reset", () => { forget(); setTimeout(() => this.#reset()); }); // who leaves at once has forgotten, too
    listen(window, "popstate", () => this.#restore());
    for (const leaving of ["focusin", "click", "pagehide"]) listen(window, leaving, () => this.#address.write(), { capture: true });
    const intents = spared() ? ["focusin"] : ["pointerover", "pointerdown", "focusin"];
    for (const intent of intents) listen(this, intent, () => runtime.start(), { once: true });
    listen(this.#answer, "click", (event) => this.#open(event));
    listen(runtime, "change", () => this.#sayState());
    offerImport(this, listen, { fields, use: (values, told) => this.#use(values, told), say });
    offerTaking(this, listen, {
      fields,
      changed: () => this.#values.changed,
      address: () => this.#address.now.href,
      status: () => this.#verdict,
      say,
    });
    offerLaunching(this, listen, { fields, say });
    this.#examples.offer(listen, (values) => this.#use(values, ""));
  }

  // The form begins with what was typed before this script was there, what the address has, and what came along.
  #begin() {
    const { typed } = this.#values;
    const [linked, taken] = [this.#address.read(typed), this.#takeCarried(typed)];
    if (typed.length) this.#address.later(true);
    if (linked || taken || corrections().length) {
      this.#answer.hidden = true; // the page's own answer is to other values than the address has
      this.#ask();
      return;
    }
    this.#saying.now(this.#verdict);
    this.#count();
    this.#sayState();
  }

  get #verdict() {
    return this.#answer.querySelector(".calc-verdict")?.textContent ?? "";
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

  // Values of another calculator in this tab that this one asks for too; an address with values of its own comes first,
  // and who goes back finds what was there.
  #takeCarried(typed) {
    if (location.search || this.dataset.prefix || (spared() && !runtime.started)) return false;
    if (returned) return false;
    const values = carried();
    const known = this.#values.controls.filter((control) => !typed.includes(control) && control.name in values && values[control.name] !== initial(control) && takes(control, values[control.name]));
    for (const control of known) this.#values.set(control, values[control.name]);
    if (known.length) {
      this.#saying.origin(CARRIED_TEXT);
      this.#address.later(false);
    }
    return known.length > 0;
  }

  #edit(event) {
    this.#values.edit(event.target);
    this.#ask();
    this.#address.later(this.#editing !== event.target);
    this.#editing = event.target;
  }

  // Take values that an example or an import gave; what it told is said together with the answer.
  #use(fields, told) {
    this.#told = told;
    this.#values.put(fields);
    this.#editing = null;
    this.#ask();
    this.#address.later(true);
  }

  #reset() {
    this.#saying.origin();
    this.#values.reset();
    this.#editing = null;
    this.#ask();
    this.#address.later(true);
  }

  #restore() {
    this.#address.drop();
    if (this.#address.read() || this.#asked) this.#ask();
  }

  // Python works while the form says what was changed.
  #ask() {
    this.#asked = true;
    this.#saying.asked(runtime);
    const kept = corrections();
    const request = { calculator: this.dataset.calculator, fields: this.#values.fields, ...(kept.length && { corrections: kept }) };
    const stop = () => { runtime.drop(this); this.#saying.stopped(); };
    const told = "steps" in this.dataset ? (text) => this.#saying.steps(text, stop) : undefined;
    runtime.ask(this, request, (answer) => { this.#show(answer); if (answer.ok) this.#announce(request.fields); }, { told });
    this.#count();
    this.#sayState();
  }

  #show(answer) {
    if (!this.isConnected) return;
    this.#saying.ended();
    this.#saying.errors(answer.errors ?? [], this.#values.controls);
    this.#values.offer(answer.options ?? []);
    if (answer.ok) this.#answer.hidden = false;
    if (answer.ok && answer.html !== this.#shown) this.#replace(answer);
    if (answer.ok) this.#saying.now(answer.status);
    this.#saying.say(`${this.#told} ${answer.status}`.trim());
    this.#told = "";
    this.#sayState();
  }

  // Parts that were open stay open, and the focus stays where it was.
  #replace(answer) {
    this.#shown = answer.html;
    const open = new Set([...this.#answer.querySelectorAll("details[open]")].map((part) => part.dataset.key));
    const focused = this.#answer.contains(document.activeElement) && document.activeElement.closest("details")?.dataset.key;
    this.#answer.innerHTML = answer.html;
    bringTables(this.#answer);
    offerReport(this.#answer);
    offerChanges(this.#answer, this.#values.controls);
    for (const part of this.#answer.querySelectorAll("details")) part.open = open.has(part.dataset.key);
    if (focused) this.#answer.querySelector(`details[data-key="${focused}"] > summary`)?.focus({ preventScroll: true });
  }

  // Plots of the page follow: they hear of each answer, and those that come later find the fields of the last one.
  #announce(fields) {
    this.answered = fields;
    this.dispatchEvent(new Event("gpu-answer", { bubbles: true }));
  }

  #count() {
    this.#examples.name();
    this.#values.count(this);
  }

  // Buttons of an answer, and the verdict: where it stays at the lower edge of a narrow page, pressing it opens it and
  // shows the rest, and once more closes it.
  #open(event) {
    const button = event.target.closest("[data-correct], [data-uncorrect]");
    if (button) {
      const asked = { calculator: this.dataset.calculator, fields: this.#values.fields };
      import("./correcting.mjs").then(({ press }) => press(button, asked)).then((told) => { this.#told = told; this.#ask(); }, () => this.#saying.say(UNKEPT_TEXT));
      return;
    }
    const change = event.target.closest("[data-change]");
    if (change && event.target.closest("button")) return void this.#use(JSON.parse(change.dataset.change), "");
    const verdict = event.target.closest(".calc-verdict");
    if (!verdict || getComputedStyle(verdict).position !== "sticky") return;
    if (verdict.toggleAttribute("data-open")) verdict.nextElementSibling?.scrollIntoView({ block: "center" });
  }

  #sayState() {
    this.#saying.state(runtime, this.#asked, () => { runtime.retry(); if (this.#asked) this.#ask(); });
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

customElements.define("gpu-calculator", Calculator);
