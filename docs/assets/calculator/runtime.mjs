// The one Python of a tab: started on first intent, shared by all calculators, kept by instant navigation.

const SCRIPT_MS = 20_000; // for the worker's own script; from then on the worker says how long it may be silent
const HANGING_MS = 15_000; // no calculation takes as long, even on a phone
const READING_MS = 120_000; // of files
const SLOWER = 3; // a machine that was too busy the first time is given this many times as long the second time

class Runtime extends EventTarget {
  state = "idle"; // idle, loading, ready or failed
  text = "";
  #worker = null;
  #timer = 0;
  #tries = 0;
  #asked = new Map(); // by calculator: the newest request, and whether it is on its way; older ones are forgotten
  #numbered = new Map(); // requests on their way
  #count = 0;

  get started() {
    return this.state !== "idle";
  }

  start() {
    if (this.started) return;
    this.#tries += 1;
    const script = new URL(this.#tries > 1 ? "./worker.mjs#anew" : "./worker.mjs", import.meta.url);
    this.#worker = new Worker(script, { type: "module", name: "python" });
    this.#worker.addEventListener("message", ({ data }) => this.#hear(data));
    this.#worker.addEventListener("error", (event) => this.#fail(event.message || "its script could not be loaded"));
    this.#become("loading", "Downloading Python …", SCRIPT_MS);
  }

  retry() {
    this.#worker?.terminate();
    for (const { watch } of this.#numbered.values()) clearTimeout(watch);
    this.#numbered.clear();
    this.state = "idle";
    this.start();
  }

  // Ask for an answer; of requests that wait, only the newest of each calculator is sent.
  // With `files` the request is about them; the worker gets the files themselves, of which nothing is read before.
  // With `told` it is answered in steps, and `told` hears how far it is; a newer request ends it.
  ask(owner, request, answered, { files = undefined, told = undefined } = {}) {
    this.drop(owner);
    this.#asked.set(owner, { request, answered, files, told });
    this.start();
    this.#send(owner);
  }

  // Nobody waits for the answer any more: work in steps ends, all other work is done in a moment.
  drop(owner) {
    this.#asked.delete(owner);
    for (const [number, sent] of this.#numbered) {
      if (sent.owner !== owner || !sent.told) continue;
      sent.told = () => {}; // what is still on its way is not heard
      this.#worker.postMessage({ drop: number });
    }
  }

  #send(owner) {
    const waiting = this.#asked.get(owner);
    if (this.state !== "ready" || !waiting || [...this.#numbered.values()].some((sent) => sent.owner === owner)) return;
    this.#asked.delete(owner);
    this.#count += 1;
    const { request, files, answered, told } = waiting;
    const watch = setTimeout(() => this.#giveUp(answered), files ? READING_MS : HANGING_MS);
    this.#numbered.set(this.#count, { owner, answered, watch, told });
    const part = "plot" in request ? "calc.plots" : "calc.calculators";
    const { unit } = document.documentElement.dataset; // of sizes, where the reader chose one
    this.#worker.postMessage({ number: this.#count, request: JSON.stringify({ ...request, unit }), files, part, steps: Boolean(told) });
  }

  #hear(message) {
    if (message.kind === "progress") this.#become("loading", message.text, message.limit);
    else if (message.kind === "failed") this.#fail(message.reason);
    else if (message.kind === "again") this.retry();
    else if (message.kind === "ready") {
      this.#become("ready", "", 0);
      this.#keep(message.loaded);
      for (const owner of [...this.#asked.keys()]) this.#send(owner);
    } else if (message.kind === "loaded") this.#keep(message.loaded);
    else if (message.kind === "told") {
      const sent = this.#numbered.get(message.number);
      clearTimeout(sent.watch);
      sent.watch = setTimeout(() => this.#giveUp(sent.answered), HANGING_MS);
      sent.told(message.told);
    } else if (message.kind === "answer") {
      const { owner, answered, watch } = this.#numbered.get(message.number);
      clearTimeout(watch);
      this.#numbered.delete(message.number);
      if (this.#asked.has(owner)) this.#send(owner); // it is out of date already
      else if (message.answer !== null) answered(JSON.parse(message.answer));
      if (message.dead) this.retry();
    }
  }

  #keep(addresses) {
    document.dispatchEvent(new CustomEvent("gpu-python", { detail: addresses })); // for a time without a network
  }

  #become(state, text, limit) {
    clearTimeout(this.#timer);
    const patience = this.#tries > 1 ? SLOWER * limit : limit;
    if (patience) this.#timer = setTimeout(() => this.#stall(patience), patience);
    this.state = state;
    this.text = text;
    this.dispatchEvent(new Event("change"));
  }

  // The machine may only be busy: once, a start that fell silent is repeated without asking.
  #stall(patience) {
    if (this.#tries === 1) this.retry();
    else this.#fail(`nothing happened for ${patience / 1000} seconds`);
  }

  // A calculation that does not end holds up all others: Python starts anew without it.
  #giveUp(answered) {
    const message = "The calculation did not end, and was stopped. Python starts again.";
    this.retry();
    answered({ ok: false, errors: [{ field: "", message }], status: message });
  }

  #fail(reason) {
    this.#worker.terminate();
    this.#become("failed", `Python could not be started: ${reason}.`, 0);
  }
}

export const runtime = new Runtime();
