// Answers side by side: up to four that a reader has pinned in any calculator. The address of the page carries them, so
// that it can be shared; in the tab they are kept until then. Python writes the table.

import { keepInTab, keptList } from "./carrying.mjs";
import { runtime } from "./runtime.mjs";

const KEY = "gpu-pinned";
const MOST = 4;
const PAGE = new URL("../../calculators/side-by-side/", import.meta.url);

function pinned() {
  return keptList("sessionStorage", KEY);
}

// Pin an answer: the calculator, and the fields that were changed. Return what to tell, and where they stand.
export function pin(calculator, fields) {
  const entry = { calculator, fields };
  const others = pinned().filter((known) => JSON.stringify(known) !== JSON.stringify(entry));
  const entries = [...others, entry].slice(-MOST);
  keepInTab(KEY, entries);
  return { told: `${entries.length} of ${MOST} pinned.`, href: address(entries) };
}

// An answer in the address: the calculator's id and its fields, as its own address has them.
function address(entries) {
  const page = new URL(PAGE);
  for (const { calculator, fields } of entries) page.searchParams.append("with", `${calculator}?${new URLSearchParams(fields)}`);
  return page.href;
}

function addressed() {
  return new URLSearchParams(location.search).getAll("with").slice(0, MOST).map((text) => {
    const [calculator, query] = [text.split("?", 1)[0], text.slice(text.indexOf("?") + 1)];
    return { calculator, fields: text.includes("?") ? Object.fromEntries(new URLSearchParams(query)) : {} };
  });
}

class Comparison extends HTMLElement {
  connectedCallback() {
    const place = this.querySelector(".calc-answer");
    const said = this.querySelector(".calc-status");
    let entries = addressed();
    if (!entries.length) entries = pinned();
    this.addEventListener("click", ({ target }) => {
      const button = target instanceof Element && target.closest("[data-remove]");
      if (!(button instanceof HTMLElement)) return;
      entries = (entries.length ? entries : this.#first()).filter((_, index) => index !== Number(button.dataset.remove));
      keepInTab(KEY, entries);
      history.pushState(history.state, "", entries.length ? address(entries) : PAGE);
      ask();
    });
    const ask = () => {
      if (!entries.length) return;
      place.setAttribute("data-stale", "");
      runtime.ask(this, { pinned: entries }, (answer) => {
        place.removeAttribute("data-stale");
        if (answer.ok) place.innerHTML = answer.html;
        said.textContent = answer.status;
      });
    };
    if (entries.length) {
      history.replaceState(history.state, "", address(entries));
      ask();
    }
  }

  // What the page was built with.
  #first() {
    return JSON.parse(this.dataset.first ?? "[]");
  }
}

if (!customElements.get("gpu-comparison")) customElements.define("gpu-comparison", Comparison);
