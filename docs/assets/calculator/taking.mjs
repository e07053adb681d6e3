// Taking an answer along: its address, with what it answered when it was copied, and what Python writes of it.

import { runtime } from "./runtime.mjs";

// Offer it for a calculator. `fields` gives the form's values, `changed` those that are not its first, `address` the page's with them, `say` tells of success.
export function offerTaking(calculator, listen, { fields, changed, address, status, say }) {
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

  // A memo of this answer alone: what was asked, the answer with its working and sources, the day and the address.
  function memo() {
    const day = new Date().toLocaleDateString("en-GB", { day: "numeric", month: "long", year: "numeric" });
    const foot = Object.assign(document.createElement("p"), { className: "calc-colophon" });
    foot.textContent = `GPU Sizing Guide, facts of ${calculator.dataset.catalog}, printed on ${day}: ${address()}`;
    calculator.parentElement.append(foot);
    calculator.parentElement.toggleAttribute("data-memo", true);
    addEventListener("afterprint", () => { foot.remove(); calculator.parentElement.removeAttribute("data-memo"); }, { once: true });
    print();
  }

  // The calculator alone, in a page of someone else's.
  function frame() {
    const source = new URL(`../../embed/${calculator.dataset.calculator}/`, import.meta.url);
    source.search = new URL(address()).search;
    const title = document.querySelector("h1")?.firstChild?.textContent?.trim() ?? "GPU Sizing Guide";
    return `<iframe src="${source.href.replaceAll("&", "&amp;")}" title="${title}" width="100%" height="900" loading="lazy"></iframe>`;
  }

  async function compare() {
    const { pin } = await import("./comparing.mjs");
    const { told, href } = pin(calculator.dataset.calculator, changed());
    tell(told);
    said.append(" ", Object.assign(document.createElement("a"), { href, textContent: "Side by side" }));
  }

  listen(place, "click", (event) => {
    const way = event.target.closest("button")?.dataset.take;
    if (!way) return;
    if (way === "print") memo();
    else if (way === "embed") copy(frame(), "Code of a frame copied.");
    else if (way === "compare") compare();
    else if (way === "link") copy(link(), "Link copied.");
    else {
      const request = { calculator: calculator.dataset.calculator, fields: fields(), take: way, address: address() };
      runtime.ask(place, request, (answer) => (answer.ok ? copy(answer.text, answer.status) : tell(answer.status)));
    }
  });
}

// What an older link answered, where the facts have changed since, as two lines, the second of which waits for the answer
// of now; none for all others.
export function before(calculator) {
  const query = new URLSearchParams(location.search);
  const [catalog, was] = [query.get("catalog"), query.get("was")];
  if (!catalog || catalog === calculator.dataset.catalog) return [];
  const then = `Then, with the facts of ${catalog}: ${was ?? "the link kept no answer."}`;
  return [then, `Now, with those of ${calculator.dataset.catalog}: `];
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
