// The page's address, which keeps the values of a calculator's form: read when the page opens, written when they settle.
// What else waits for that is done then: `settled`.

import { initial } from "./values.mjs";

const SETTLED_MS = 200; // after the last change: browsers take milliseconds to change an address, and limit how often

export class Address {
  #values; #prefix; #settled;
  #push = false; #writing = 0; // whether the address that waits to be written is a new one to go back from

  constructor(values, prefix, settled) {
    this.#values = values;
    this.#prefix = prefix;
    this.#settled = settled;
  }

  #key(name) {
    return this.#prefix ? `${this.#prefix}.${name}` : name;
  }

  // Put the address's values into the form, but leave what was typed; say whether the form differs from the defaults.
  read(typed = []) {
    const query = new URLSearchParams(location.search);
    let differs = false;
    for (const control of this.#values.controls) {
      const value = typed.includes(control) ? control.value : (query.get(this.#key(control.name)) ?? initial(control));
      this.#values.set(control, value);
      if (value !== initial(control)) differs = true;
    }
    return differs;
  }

  later(push) {
    this.#push ||= push;
    clearTimeout(this.#writing);
    this.#writing = setTimeout(() => this.write(), SETTLED_MS);
  }

  write() {
    if (!this.#writing) return;
    const push = this.#push;
    this.drop();
    this.#settled();
    const address = this.now;
    if (address.href === location.href) return;
    if (push) history.pushState(history.state, "", address);
    else history.replaceState(history.state, "", address);
  }

  // What waits to be written is not written any more.
  drop() {
    clearTimeout(this.#writing);
    [this.#writing, this.#push] = [0, false];
  }

  // The page's address with the form's values; what another link said of its own answer does not belong to these.
  get now() {
    const address = new URL(location.href);
    for (const key of ["catalog", "was"]) address.searchParams.delete(key);
    for (const control of this.#values.controls) {
      const value = this.#values.of(control);
      if (value === initial(control)) address.searchParams.delete(this.#key(control.name));
      else address.searchParams.set(this.#key(control.name), value);
    }
    return address;
  }
}
