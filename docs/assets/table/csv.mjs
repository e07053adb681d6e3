// Every table can be taken along as CSV, as it is shown: rows that a filter hides stay behind. The button appears where a
// table is pointed at or entered by keyboard, so that answers which Python has just written have it too.

const TABLE = ".md-typeset table:not(.highlighttable)";
const LABEL = "CSV";

for (const way of ["pointerover", "focusin"]) document.addEventListener(way, offer, { passive: true });

function offer({ target }) {
  if (!(target instanceof Element)) return;
  const table = target.closest(TABLE) ?? target.closest(".calc-scroll")?.querySelector("table");
  if (!(table instanceof HTMLTableElement) || table.querySelector(".table-csv")) return;
  const place = table.caption ?? table.tHead?.rows[0]?.cells[0];
  if (!place) return;
  const button = document.createElement("button");
  Object.assign(button, { type: "button", className: "table-csv", textContent: LABEL, title: "Save this table as CSV" });
  button.addEventListener("click", (event) => { event.stopPropagation(); save(table); });
  place.append(" ", button);
}

function save(table) {
  const rows = [...table.rows].filter((row) => !row.hidden);
  const text = rows.map((row) => [...row.cells].map((cell) => quoted(written(cell))).join(",")).join("\r\n");
  const address = URL.createObjectURL(new Blob([`\uFEFF${text}\r\n`], { type: "text/csv" })); // spreadsheets know it by the mark
  const link = Object.assign(document.createElement("a"), { href: address, download: `${name(table)}.csv` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address));
}

// A cell's text, a space where its parts stand on lines of their own.
function written(cell) {
  const copy = cell.cloneNode(true);
  for (const button of copy.querySelectorAll(".table-csv, [data-remove]")) button.remove();
  for (const part of copy.querySelectorAll("small, br")) part.before(" ");
  return copy.textContent.replace(/\s+/g, " ").trim();
}

function quoted(text) {
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function name(table) {
  const title = (table.caption ? written(table.caption) : document.title).toLowerCase();
  return title.replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") || "table";
}
