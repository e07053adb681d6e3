// The values of a calculator's form, and what its controls show of them.

import { choose, show } from "./choosing.mjs";
import { follow } from "./sliding.mjs";

export class Values {
  #form;
  #linked = {}; // values from the address that a control cannot show, such as an option that is not there

  constructor(form) {
    this.#form = form;
    this.controls = [...form.elements].filter((control) => control.name);
  }

  // What a control stands for: what the address gave where it cannot show that.
  of(control) {
    return this.#linked[control.name] ?? control.value;
  }

  get fields() {
    return { ...Object.fromEntries(new FormData(this.#form)), ...this.#linked };
  }

  get changed() {
    const changed = this.controls.filter((control) => this.of(control) !== initial(control));
    return Object.fromEntries(changed.map((control) => [control.name, this.of(control)]));
  }

  get unchanged() {
    return this.controls.filter((control) => this.of(control) === initial(control)).map(({ name }) => name);
  }

  // Values that the form had before this script was there.
  get typed() {
    return this.controls.filter((control) => control.value !== initial(control));
  }

  set(control, value) {
    if (control.dataset.list) choose(control, value);
    else control.value = value;
    show(control);
    if (control.value === value) delete this.#linked[control.name];
    else this.#linked[control.name] = value;
  }

  put(fields) {
    for (const control of this.controls) if (control.name in fields) this.set(control, fields[control.name]);
  }

  // The reader changed a control: where another model is chosen than the imported one, what belongs to the imported one
  // is no choice any more.
  edit(changed) {
    delete this.#linked[changed.name];
    if (changed.tagName !== "SELECT" || changed.selectedOptions[0]?.dataset.of) return;
    for (const control of this.controls) {
      if (control === changed || control.tagName !== "SELECT") continue;
      const belongs = control.selectedOptions[0]?.dataset.of === changed.name;
      if (belongs) this.set(control, initial(control));
    }
  }

  // The form was reset: nothing of the address is left, and its controls show what they have.
  reset() {
    this.#linked = {};
    for (const control of this.controls) show(control);
  }

  // Options that Python names beside those of the page: a model that was imported, and the sizes of its file.
  offer(options) {
    for (const { field, value, label, of } of options) {
      const control = this.controls.find(({ name }) => name === field);
      let option = [...control.options].find((known) => known.value === value);
      if (!option) control.append((option = new Option(label, value)));
      option.label = option.text = label;
      option.dataset.of = of;
      if (this.#linked[field] === value) this.set(control, value);
      show(control);
    }
  }

  // The heading of each folded part of a calculator says how many of its fields were changed, and sliders stand where
  // numbers do.
  count(calculator) {
    follow(calculator);
    const changed = this.controls.filter((control) => this.of(control) !== initial(control));
    for (const topic of calculator.querySelectorAll(".calc-topic")) {
      const within = changed.filter((control) => topic.contains(control)).length;
      write(topic.querySelector(".calc-changed"), within ? `${within} changed` : "");
    }
  }
}

// Say a text in an element; what says it already is left alone, and nothing is laid out anew.
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// Whether a control can hold a value: a list must have it.
export function takes(control, value) {
  return control.tagName !== "SELECT" || Boolean(control.dataset.list) || [...control.options].some((option) => option.value === value);
}

// A control's value as the page was built.
export function initial(control) {
  if (control.tagName !== "SELECT") return control.defaultValue;
  return (control.querySelector("option[selected]") ?? control.options[0])?.value ?? "";
}
