// Worked examples fill in the form; when a field is changed the list says that the values are the reader's own.

import { initial } from "./values.mjs";

const OWN = "own"; // values that are no worked example

export class Examples {
  #list; #values;
  #known = []; // each example with its fields

  constructor(calculator, values) {
    this.#list = /** @type {HTMLSelectElement} */ (calculator.querySelector(".calc-example select"));
    this.#values = values;
    for (const { value } of this.#list.options) if (value !== OWN) this.#known.push([value, this.#fields(value)]);
  }

  offer(listen, use) {
    this.#list.parentElement.hidden = false;
    listen(this.#list, "input", (event) => event.stopPropagation());
    listen(this.#list, "change", (event) => {
      event.stopPropagation();
      if (this.#list.value !== OWN) use(this.#fields(this.#list.value));
    });
  }

  // Show the example whose values the form has.
  name() {
    const { controls } = this.#values;
    const [known = OWN] = this.#known.find(([, fields]) => controls.every((control) => fields[control.name] === this.#values.of(control))) ?? [];
    if (this.#list.value !== known) this.#list.value = known;
  }

  #fields(written) {
    const values = JSON.parse(written);
    return Object.fromEntries(this.#values.controls.map((control) => [control.name, values[control.name] ?? initial(control)]));
  }
}
