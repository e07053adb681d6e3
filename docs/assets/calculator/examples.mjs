// Worked examples fill in the form; when a field is changed the list says that the values are the reader's own.

import { initial } from "./values.mjs";

const OWN = "own"; // values that are no worked example

export class Examples {
  #list; #values;
  #known = []; // each example with the fields that it changes
  #own = null; // the reader's own values, to come back to from an example

  constructor(calculator, values) {
    this.#list = /** @type {HTMLSelectElement} */ (calculator.querySelector(".calc-example select"));
    this.#values = values;
    for (const { value } of this.#list.options) if (value !== OWN) this.#known.push([value, JSON.parse(value)]);
  }

  offer(listen, use) {
    this.#list.parentElement.hidden = false;
    listen(this.#list, "input", (event) => event.stopPropagation());
    listen(this.#list, "change", (event) => {
      event.stopPropagation();
      const [, changed] = this.#known.find(([value]) => value === this.#list.value) ?? [];
      const taken = changed ? (control) => of(changed, control) : (control) => this.#own[control.name];
      use(Object.fromEntries(this.#values.controls.map((control) => [control.name, taken(control)])));
    });
  }

  // Show the example whose values the form has; values of the reader's own can be chosen once there are any.
  name() {
    const { controls } = this.#values;
    const [known = OWN] = this.#known.find(([, changed]) => controls.every((control) => of(changed, control) === this.#values.of(control))) ?? [];
    if (known === OWN) this.#own = Object.fromEntries(controls.map((control) => [control.name, this.#values.of(control)]));
    this.#list.options[0].disabled = !this.#own;
    if (this.#list.value !== known) this.#list.value = known;
  }
}

// What a control has in an example.
function of(changed, control) {
  return changed[control.name] ?? initial(control);
}
