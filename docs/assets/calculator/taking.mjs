// Taking an answer along: its address, with what it answered when it was copied, and what Python writes of it.

import { runtime } from "./runtime.mjs";

// Offer it for a calculator. `fields` gives the form's values, `address` the page's with them, `say` tells of success.
export function offerTaking(calculator, listen, { fields, address, status, say }) {
  const place = calculator.querySelector(".calc-take");
  const said = Object.assign(document.createElement("span"), { className: "calc-taken" });
  place.querySelector(".calc-taken")?.remove();
  place.append(" ", said);
  place.hidden = false;

  function tell(text) {
    said.textContent = text;
    say(text);
  }

  async function copy(text, told) {
    try {
      await navigator.clipboard.writeText(text);
      tell(told);
    } catch {
      tell("The browser does not let this page copy.");
    }
  }

  // A link carries the day of the facts and the answer that they gave.
  function link() {
    const target = new URL(address());
    target.searchParams.set("catalog", calculator.dataset.catalog);
    target.searchParams.set("was", status());
    return target.href;
  }

  listen(place, "click", (event) => {
    const way = event.target.closest("button")?.dataset.take;
    if (!way) return;
    if (way === "print") print();
    else if (way === "link") copy(link(), "Link copied.");
    else {
      const request = { calculator: calculator.dataset.calculator, fields: fields(), take: way, address: address() };
      runtime.ask(place, request, (answer) => (answer.ok ? copy(answer.text, answer.status) : tell(answer.status)));
    }
  });
}

// What an older link answered, where the facts have changed since; empty for all others.
export function before(calculator) {
  const query = new URLSearchParams(location.search);
  const [catalog, was] = [query.get("catalog"), query.get("was")];
  if (!catalog || catalog === calculator.dataset.catalog) return "";
  return `This link was made with the facts of ${catalog}, and answered then: ${was ?? "nothing that it kept."} Now it answers with those of ${calculator.dataset.catalog}.`;
}

// A report is opened as an issue of the guide's repository, which the theme links to; without one its text can be copied.
export function offerReport(answer) {
  const link = answer.querySelector("[data-send]");
  const repository = /** @type {HTMLAnchorElement} */ (document.querySelector("a.md-source"))?.href;
  if (!link || !repository) return;
  const asked = new URLSearchParams({ title: link.dataset.send, body: link.closest("details").querySelector("pre").textContent });
  link.href = `${repository.replace(/\/$/, "")}/issues/new?${asked}`;
  link.hidden = false;
}
