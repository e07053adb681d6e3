// Plots that answer: under the pointer, in the legend, and to the calculator beside them. The drawing in the page is whole
// without this module; Vega is fetched when a reader reaches for a plot or looks at one, and draws it from the same
// specification. What a calculator's fields mean for a plot is asked of the same Python that answers the calculator.

const LOOK_MS = 1000; // a plot that is looked at this long may be reached for
const SETTLE_MS = 150; // a reader who types is answered first, and the plot follows
const GAP = 14; // pixels between the pointer and what is said

let library = null;
const vega = () => (library ??= import("../vega/vega.mjs").catch((error) => { library = null; throw error; }));

class Plot extends HTMLElement {
  #view = null; #starting = null; #said = null;
  #listening = new AbortController();
  #wanted = null; // the fields of the calculator that the plot does not show yet
  #settling = 0; #seen = false;
  #scale = 0; #least = 0; // pixels of a unit of the drawing, and the units that it is wide in a narrow column

  connectedCallback() {
    this.#listening = new AbortController();
    const listen = (target, type, action, more) =>
      target.addEventListener(type, action, { signal: this.#listening.signal, ...more });
    for (const intent of ["pointerover", "pointerdown"]) listen(this, intent, () => this.#start());
    listen(document, "gpu-answer", ({ target }) => this.#follow(target));
    const { calculator } = this;
    listen(document, "gpu-unit", () => this.#redraw());
    const sized = new ResizeObserver(() => this.#fit());
    sized.observe(this.querySelector(".plot-drawing"));
    this.#listening.signal.addEventListener("abort", () => sized.disconnect());
    if (calculator?.answered) this.#follow(calculator);
    this.#startWhenLookedAt();
  }

  disconnectedCallback() {
    this.#listening.abort();
    clearTimeout(this.#settling);
    this.#view?.finalize();
    this.#said?.remove();
    this.#view = this.#starting = this.#said = null;
  }

  // The calculator of the page that the plot belongs to.
  get calculator() {
    const { calculator: id, prefix = "" } = this.dataset;
    /** @type {NodeListOf<Calculator>} */
    const all = document.querySelectorAll(`gpu-calculator[data-calculator="${id}"]`);
    return [...all].find(({ dataset }) => (dataset.prefix ?? "") === prefix);
  }

  // The address of what is drawn: of most plots with sizes there are two, for those who read them in GB.
  get #source() {
    const { source, sourceGb } = this.dataset;
    return document.documentElement.dataset.unit === "GB" ? (sourceGb ?? source) : source;
  }

  // In another unit the plot is another drawing.
  #redraw() {
    if (!this.dataset.sourceGb) return;
    this.#view?.finalize();
    this.#view = this.#starting = null;
    this.#wanted = this.calculator?.answered ?? null;
    if (this.#seen) this.#start();
  }

  // Beside a calculator the line is left to Python, which a look starts too; the plot follows the first answer.
  #startWhenLookedAt() {
    const { calculator: id } = this.dataset;
    const spared = navigator.connection?.saveData || matchMedia("(hover: none)").matches; // a touch asks for it there
    let timer = 0;
    const idle = window.requestIdleCallback ?? setTimeout;
    const observer = new IntersectionObserver(([entry]) => {
      clearTimeout(timer);
      this.#seen = entry.isIntersecting;
      if (!this.#seen) return;
      if (this.#wanted || this.#source !== this.dataset.source) this.#start();
      else if (!id && !spared) timer = setTimeout(() => idle(() => this.#start()), LOOK_MS);
    });
    observer.observe(this);
    this.#listening.signal.addEventListener("abort", () => { observer.disconnect(); clearTimeout(timer); });
  }

  // Where Vega cannot be fetched the drawing of the page stays, and the next reach for it tries again.
  #start() {
    this.#starting ??= this.#draw().catch((error) => {
      this.#starting = null;
      console.warn(`The plot stays as it is: ${error.message}`);
    });
    return this.#starting;
  }

  async #draw() {
    const [{ View, parse, expressionInterpreter }, specification] = await Promise.all([
      vega(),
      fetch(this.#source).then((reply) => (reply.ok ? reply.json() : Promise.reject(new Error(reply.statusText)))),
    ]);
    if (!this.isConnected) return;
    const place = document.createElement("div");
    const view = new View(parse(specification, undefined, { ast: true }), { expr: expressionInterpreter, renderer: "svg" });
    view.tooltip((_, event, item, value) => this.#tell(event, value)).hover();
    this.#least ||= view.width();
    this.#scale ||= this.querySelector(".plot-drawing svg").clientWidth / this.#least;
    await view.width(this.#wide).initialize(place).runAsync();
    if (!this.isConnected) { view.finalize(); return; }
    this.#view = view;
    for (const name of [...place.attributes].map((attribute) => attribute.name)) place.removeAttribute(name);
    this.querySelector(".plot-drawing").replaceChildren(place);
    this.#name(this.querySelector("figcaption").textContent, specification.description);
    this.toggleAttribute("data-live", true);
    if (this.#wanted) this.#ask();
  }

  // As wide as the column, with letters and a height as before: nothing below it moves. What is not shown has no width.
  get #wide() {
    const { clientWidth } = this.querySelector(".plot-drawing");
    return clientWidth && this.#scale ? Math.max(this.#least, clientWidth / this.#scale) : this.#least;
  }

  #fit() {
    if (this.#view && this.#view.width() !== this.#wide) this.#view.width(this.#wide).runAsync();
  }

  // What the drawing is called and says; Vega's own words for its parts are not read.
  #name(caption, summary) {
    const drawing = this.querySelector(".plot-drawing svg");
    drawing.setAttribute("role", "img");
    drawing.setAttribute("aria-label", summary);
    this.querySelector("figcaption").textContent = caption;
  }

  #follow(calculator) {
    if (calculator !== this.calculator) return;
    this.#wanted = calculator.answered;
    if (!this.#view) { if (this.#seen) this.#start(); return; }
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => this.#ask(), SETTLE_MS);
  }

  async #ask() {
    const fields = this.#wanted;
    this.#wanted = null;
    const { runtime } = await import("../calculator/runtime.mjs");
    const request = { plot: this.dataset.plot, calculator: this.dataset.calculator, fields };
    runtime.ask(this, request, (answer) => this.#show(answer));
  }

  // Where there is no plot of these values, as of a device without a known rate, the last one stays, faint, and says why.
  async #show(answer) {
    this.toggleAttribute("data-stale", !answer.ok);
    if (!answer.ok) this.querySelector("figcaption").textContent = `No plot of these values: ${answer.status}`;
    if (!answer.ok || !this.#view) return;
    for (const [name, rows] of Object.entries(answer.data)) this.#view.data(name, rows);
    await this.#view.resize().runAsync();
    this.#name(answer.caption, answer.summary);
    this.querySelector(".plot-table").innerHTML = answer.table;
    this.toggleAttribute("data-answered", true);
  }

  #tell(event, value) {
    if (!this.#said) {
      this.#said = document.createElement("div");
      this.#said.className = "plot-tooltip";
      document.body.append(this.#said);
    }
    const box = this.#said;
    box.hidden = !value;
    if (!value) return;
    box.replaceChildren(...Object.entries(value).map(([title, words]) => {
      const line = document.createElement("div");
      const named = document.createElement("span");
      named.textContent = `${title}: `;
      line.append(named, String(words));
      return line;
    }));
    const { width, height } = box.getBoundingClientRect();
    const right = event.clientX + GAP + width > innerWidth;
    box.style.left = `${Math.max(0, right ? event.clientX - GAP - width : event.clientX + GAP)}px`;
    box.style.top = `${Math.max(0, Math.min(event.clientY + GAP, innerHeight - height))}px`;
  }
}

customElements.define("gpu-plot", Plot);
