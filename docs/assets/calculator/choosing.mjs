// Long lists are chosen from by typing: a combobox with a list below it, as the ARIA Authoring Practices describe it
// (editable, list autocomplete, the focus stays in the field). The form's own control stays a select, which holds what is
// chosen; the longest lists are one file for all forms, fetched when it is first wanted. Without scripts the select is shown.

const MOST_FOUND = 40; // lines of a search
const AT_A_GLANCE = 12; // options that a plain list is good for
const lists = new Map(); // by kind: the file's content, fetched once in a tab

// Give each long list of a form, or of a part of it that was opened, its combobox. `say` tells a screen reader.
export function offerChoosing(part, listen, say) {
  for (const select of part.querySelectorAll("select[name]")) {
    if (select.closest("details:not([open])")) continue; // until that is opened
    if (select.dataset.list || select.options.length > AT_A_GLANCE) new Combobox(select, listen, say);
  }
}

// Set a long list's value, which may be any: a name that is in no list is refused by Python.
export function choose(select, value) {
  let option = [...select.options].find((known) => known.value === value);
  if (!option) select.append((option = new Option(value.startsWith("{") ? "Your own model" : value, value)));
  select.value = value;
  name(option, select.dataset.list);
  show(select);
}

// Show in the field what the select holds.
export function show(select) {
  const field = /** @type {HTMLInputElement} */ (document.getElementById(`${select.id}-field`));
  if (field && field !== document.activeElement) field.value = select.selectedOptions[0]?.text ?? "";
}

// An option that came by an address has no name but its value until the list is there.
async function name(option, kind) {
  if (option.text !== option.value) return;
  const known = (await fetched(kind)).find(({ value }) => value === option.value);
  if (!known) return;
  option.text = known.label;
  show(option.parentElement);
}

// The entries of a select: its own options, or those of the file that all forms share.
function listed(select) {
  return select.dataset.list ? fetched(select.dataset.list) : Promise.resolve([...select.options].map((option) => {
    const key = fold(option.text);
    return { group: option.parentElement.label ?? "", value: option.value, label: option.text, note: "", released: "", key, names: key, called: [key] };
  }));
}

function fetched(kind) {
  if (!lists.has(kind)) {
    const address = new URL(`../lists/${kind}.json`, import.meta.url);
    const got = fetch(address).then((response) => response.json()).then((groups) => groups.flatMap(([group, entries]) =>
      entries.map(([value, label, note, names, released]) => ({
        group, value, label, note, released, key: fold(label), names: fold(`${label} ${names}`), called: names.split("|").map(fold),
      }))));
    got.catch(() => lists.delete(kind)); // another try may get it
    lists.set(kind, got);
  }
  return lists.get(kind);
}

class Combobox {
  #select; #field; #list; #say; #shown = []; #active = -1; #asked = 0;

  constructor(select, listen, say) {
    this.#select = select;
    this.#say = say;
    const known = document.getElementById(`${select.id}-field`);
    this.#field = known ?? this.#makeField();
    this.#list = document.getElementById(`${select.id}-list`) ?? this.#makeList();
    show(select);
    listen(this.#field, "focus", () => this.#field.select());
    listen(this.#field, "pointerdown", () => { if (this.#list.hidden) this.#open(""); });
    listen(this.#field, "input", (event) => { event.stopPropagation(); this.#open(this.#field.value); });
    listen(this.#field, "change", (event) => event.stopPropagation());
    listen(this.#field, "keydown", (event) => this.#press(event));
    listen(this.#field, "blur", () => this.#close());
    listen(this.#list, "pointerdown", (event) => event.preventDefault()); // the focus stays in the field
    listen(this.#list, "click", (event) => this.#take(this.#shown[[...this.#options].indexOf(event.target.closest("[role=option]"))]));
    listen(select, "input", () => show(select));
    listen(select.form, "reset", () => setTimeout(() => show(select)));
  }

  // Where nothing may be chosen, that is the first line.
  get #none() {
    const empty = this.#select.querySelector("option[value='']");
    return empty && this.#select.dataset.list ? [{ group: "", value: "", label: empty.text, note: "" }] : [];
  }

  get #options() {
    return this.#list.querySelectorAll("[role=option]:not([aria-disabled])");
  }

  #makeField() {
    const select = this.#select;
    const field = document.createElement("input");
    Object.assign(field, { type: "text", id: `${select.id}-field`, className: "calc-combobox", autocomplete: "off", spellcheck: false });
    const states = { role: "combobox", "aria-expanded": "false", "aria-autocomplete": "list", "aria-controls": `${select.id}-list` };
    for (const [key, value] of Object.entries(states)) field.setAttribute(key, value);
    for (const key of ["aria-describedby", "aria-invalid"]) if (select.hasAttribute(key)) field.setAttribute(key, select.getAttribute(key));
    for (const label of select.labels) label.htmlFor = field.id;
    select.before(field);
    select.hidden = true;
    return field;
  }

  #makeList() {
    const list = document.createElement("ul");
    Object.assign(list, { id: `${this.#select.id}-list`, className: "calc-list", hidden: true });
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", this.#field.labels[0]?.textContent ?? "");
    this.#field.after(list);
    return list;
  }

  // Show the entries that have every word in any of their names; all of them, by group, where nothing was typed.
  async #open(typed) {
    const asked = ++this.#asked;
    const entries = await listed(this.#select).catch(() => null);
    if (asked !== this.#asked) return; // closed, or typed on
    if (!entries) { this.#say("The list could not be loaded."); return; }
    const words = typed.split(/\s+/).map(fold).filter(Boolean);
    this.#shown = words.length ? found(entries, words) : [...this.#none, ...entries];
    this.#draw(words.length === 0);
    this.#list.hidden = false;
    this.#field.setAttribute("aria-expanded", "true");
    const current = this.#shown.findIndex(({ value }) => value === this.#select.value);
    this.#point(words.length ? (this.#shown.length ? 0 : -1) : current);
    if (words.length) this.#say(this.#shown.length === 1 ? "One entry found." : `${this.#shown.length || "No"} entries found.`);
  }

  #draw(byGroup) {
    const lines = [];
    let group = "";
    for (const [index, entry] of this.#shown.entries()) {
      if (byGroup && entry.group !== group) lines.push(line("calc-group", (group = entry.group), "", "presentation"));
      const item = line("", entry.label, byGroup ? entry.note : [entry.group, entry.note].filter(Boolean).join(", "), "option");
      item.id = `${this.#list.id}-${index}`;
      item.setAttribute("aria-selected", String(entry.value === this.#select.value));
      lines.push(item);
    }
    if (lines.length === 0) {
      const none = line("calc-none", "No match", "try a part of the name, or the repository", "option");
      none.setAttribute("aria-disabled", "true");
      lines.push(none);
    }
    this.#list.replaceChildren(...lines);
  }

  #point(index) {
    const options = this.#options;
    options[this.#active]?.classList.remove("calc-active");
    this.#active = index;
    const active = options[index];
    if (!active) { this.#field.removeAttribute("aria-activedescendant"); return; }
    active.classList.add("calc-active");
    active.scrollIntoView({ block: "nearest" });
    this.#field.setAttribute("aria-activedescendant", active.id);
  }

  #press(event) {
    const { key } = event;
    const open = !this.#list.hidden;
    if (key === "ArrowDown" || key === "ArrowUp") {
      event.preventDefault();
      if (!open) this.#open("");
      else this.#point((this.#active + (key === "ArrowDown" ? 1 : -1) + this.#shown.length) % this.#shown.length);
    } else if (key === "Enter") {
      event.preventDefault();
      if (open) this.#take(this.#shown[this.#active]);
    } else if (key === "Escape" && open) {
      event.preventDefault();
      this.#close();
    }
  }

  #take(entry) {
    if (!entry) return;
    this.#close();
    const { value, label } = entry;
    if (![...this.#select.options].some((known) => known.value === value)) this.#select.append(new Option(label, value));
    this.#select.value = value;
    this.#field.value = label;
    for (const type of ["input", "change"]) this.#select.dispatchEvent(new Event(type, { bubbles: true }));
  }

  #close() {
    this.#asked += 1;
    this.#list.hidden = true;
    this.#shown = [];
    this.#active = -1;
    this.#field.setAttribute("aria-expanded", "false");
    this.#field.removeAttribute("aria-activedescendant");
    this.#field.value = this.#select.selectedOptions[0]?.text ?? "";
  }
}

function line(className, label, note, role) {
  const item = document.createElement("li");
  item.className = className;
  item.setAttribute("role", role);
  item.append(label);
  if (note) item.append(" ", Object.assign(document.createElement("small"), { textContent: note }));
  return item;
}

// The best first: what is called just so, names that begin with the words as typed, then those that hold them together,
// then all others. Of those that only hold them the newest is meant, of the rest the shortest.
function found(entries, words) {
  const whole = words.join("");
  const rank = ({ key, called }) => key === whole || called.includes(whole) ? 0
    : key.startsWith(whole) ? 1 : key.includes(whole) ? 2 : key.includes(words[0]) ? 3 : 4;
  const matching = entries.filter(({ names }) => words.every((word) => names.includes(word)));
  const ranked = matching.map((entry, place) => ({ entry, place, rank: rank(entry) }));
  const newer = (one, other) => one.rank > 1 ? other.entry.released.localeCompare(one.entry.released) : 0;
  ranked.sort((one, other) => one.rank - other.rank || newer(one, other)
    || one.entry.key.length - other.entry.key.length || one.place - other.place);
  return ranked.slice(0, MOST_FOUND).map(({ entry }) => entry);
}

// As Python folds names: case, spaces and punctuation do not count.
function fold(text) {
  return text.toLowerCase().replace(/[^a-z0-9.+]/g, "");
}
