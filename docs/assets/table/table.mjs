// Tables that a reader filters and sorts. The table is whole without this module; it adds buttons to the headers, listens
// to the search field and says how many rows are shown. It holds no fact: what cells are worth is written in the page.

const SETTLE_MS = 250; // typing has settled, and a screen reader is told
const NONE = "–"; // a cell without a value; it stands last in either order

const kept = new Map(); // by caption: how a reader left a table that an answer has replaced

class Table extends HTMLElement {
  #table; #rows; #words; #status; #settling = 0;
  #fields; // the first for words, the others each for what a column's numbers are at least or at most
  #sorted = { heading: "", order: "" };

  connectedCallback() {
    if (this.#table) return; // moved within the page, not new
    this.#table = this.querySelector("table");
    this.#rows = [...this.#table.tBodies[0].rows];
    this.#fields = [...this.querySelectorAll(".filtered-search input")];
    this.#status = this.querySelector("[role=status]");
    for (const field of this.#fields) field.addEventListener("input", () => this.#filter());
    for (const heading of this.#headings) this.#addButton(heading);
    this.#restore();
    this.#say();
  }

  disconnectedCallback() {
    clearTimeout(this.#settling);
    kept.set(this.#caption, { typed: this.#fields.map(({ value }) => value), ...this.#sorted });
  }

  get #headings() {
    return [...this.#table.tHead.rows[0].cells];
  }

  get #caption() {
    return `${location.pathname} ${this.#table.caption?.textContent}`;
  }

  // A table in an answer is written anew with each answer: it stays sorted and filtered as it was.
  #restore() {
    const { typed = [], heading, order } = kept.get(this.#caption) ?? {};
    if (typed.some(Boolean)) {
      this.#fields.forEach((field, i) => { field.value = typed[i] ?? ""; });
      this.#filter();
    }
    const cell = order && this.#headings.find(({ textContent }) => textContent === heading);
    if (cell) this.#sort(cell, order);
  }

  get #things() {
    return this.dataset.things ?? "rows";
  }

  #addButton(heading) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => this.#sort(heading, this.#next(heading)));
  }

  // A row is shown if it has every word, in any column and order, and numbers within the bounds.
  #filter() {
    const [typed, ...bounds] = this.#fields;
    const words = fold(typed.value).split(/\s+/).filter(Boolean);
    const asked = bounds.map((field) => this.#within(field)).filter(Boolean);
    this.#words ??= new Map(this.#rows.map((row) => [row, fold(row.textContent)]));
    for (const [row, text] of this.#words) row.hidden = !words.every((word) => text.includes(word)) || !asked.every((within) => within(row));
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => this.#say(), SETTLE_MS);
  }

  // Whether a row's number is within a bound, and known; nothing where no number is asked for.
  #within({ value, dataset: { column, scale, most } }) {
    const limit = parseFloat(value.replaceAll(",", "")) * Number(scale);
    if (Number.isNaN(limit)) return null;
    const { cellIndex } = this.#headings.find(({ textContent }) => textContent === column);
    return (row) => {
      const found = valueOf(row.cells[cellIndex]);
      return typeof found === "number" && (most === undefined ? found >= limit : found <= limit);
    };
  }

  // First the order that a reader looks for: words from A, numbers from the largest. Then the other one.
  #next(heading) {
    const before = heading.getAttribute("aria-sort");
    if (before) return before === "ascending" ? "descending" : "ascending";
    return this.#isNumeric(heading) ? "descending" : "ascending";
  }

  #isNumeric(heading) {
    const keys = this.#rows.map((row) => valueOf(row.cells[heading.cellIndex]));
    return keys.every((key) => key === null || typeof key === "number");
  }

  #sort(heading, order) {
    const keys = new Map(this.#rows.map((row) => [row, valueOf(row.cells[heading.cellIndex])]));
    const numeric = this.#isNumeric(heading);
    this.#sorted = { heading: heading.textContent, order };
    const sign = order === "ascending" ? 1 : -1;
    const compare = numeric ? (a, b) => a - b : (a, b) => String(a).localeCompare(String(b), "en", { numeric: true });
    this.#rows.sort((one, other) => {
      const [a, b] = [keys.get(one), keys.get(other)];
      if (a === null || b === null) return Number(a === null) - Number(b === null);
      return sign * compare(a, b);
    });
    for (const cell of this.#headings) cell.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", order);
    this.#table.tBodies[0].append(...this.#rows);
    this.#say(`, sorted by ${heading.textContent}, ${order}`);
  }

  #say(more = "") {
    const shown = this.#rows.filter((row) => !row.hidden).length;
    this.#status.textContent = `${shown} of ${this.#rows.length} ${this.#things}${more}`;
  }
}

// What a cell is ordered by: the value written beside its words, else the words.
function valueOf(cell) {
  const text = cell.textContent.trim();
  if (text === NONE || text === "") return null;
  const value = cell.querySelector("data")?.value ?? text;
  return value !== "" && Number.isFinite(Number(value)) ? Number(value) : value;
}

function fold(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

customElements.define("gpu-table", Table);
