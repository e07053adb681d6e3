// Beside the results of the site's search stands a way to ask the same words of the guide's first page.

const root = new URL("../../", import.meta.url);
const FEWEST_WORDS = 2; // a single word looks for a page

document.addEventListener("input", ({ target }) => {
  if (!(target instanceof HTMLInputElement) || target.dataset.mdComponent !== "search-query") return;
  const words = target.value.trim();
  const results = document.querySelector(".md-search__output");
  if (!results) return;
  /** @type {HTMLAnchorElement} */
  let link = results.querySelector(".ask-search");
  if (!link) results.prepend((link = Object.assign(document.createElement("a"), { className: "ask-search" })));
  link.hidden = words.split(/\s+/).length < FEWEST_WORDS;
  link.textContent = `Ask the guide: “${words}”`;
  link.href = `${root}?${new URLSearchParams({ ask: words })}`;
});
