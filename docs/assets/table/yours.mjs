// The reader's case in every table: rows about the model, the device and the format that were chosen in a calculator are
// marked. What a row is about is read from its links, to the facts of a device or into a calculator with its fields.

import { carried } from "../calculator/carrying.mjs";

const FIELDS = ["model", "accelerator", "weights"];
const DEVICE = /([^/]+)\.html$/; // the page of its facts

function about(row) {
  const found = {};
  for (const link of row.querySelectorAll("a[data-facts], a[href*='calculators/']")) {
    const { pathname, search } = link;
    if (link.matches("[data-facts]")) found.accelerator ??= DEVICE.exec(pathname)?.[1];
    else for (const [name, value] of new URLSearchParams(search)) found[name] ??= value;
  }
  return found;
}

// A table whose rows are all of the reader's model, say, tells nothing by marking each.
function mark(table, yours) {
  const rows = [...table.tBodies].flatMap(({ rows }) => [...rows]);
  const own = rows.filter((row) => {
    const found = about(row);
    const named = FIELDS.filter((name) => yours[name] && found[name]);
    return named.length && named.every((name) => yours[name] === found[name]);
  });
  if (own.length < rows.length) for (const row of own) row.setAttribute("aria-current", "true");
}

/** @type {any} */ (window).document$.subscribe(() => {
  const yours = carried();
  if (!FIELDS.some((name) => yours[name])) return;
  for (const table of document.querySelectorAll(".md-typeset table")) mark(table, yours);
});
