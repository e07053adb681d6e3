// What is decided before anything is painted, so this is no module. Sizes in the unit that a reader chose, kept in this
// browser: as they are written, all in GB, or all in GiB. Each size brings both, written by Python; this exchanges them.

(() => {
  const KEY = "gpu-unit";
  const NEXT = { "": "GB", GB: "GiB", GiB: "" };
  const SIZE = "[data-or]";
  const TOUCHES = ["focusin", "keydown", "pointerdown", "pointermove", "scroll", "touchstart", "wheel"];
  const page = document.documentElement;
  let open = null; // the size that the parser may still be writing

  function kept() {
    try {
      return localStorage.getItem(KEY) ?? "";
    } catch {
      return ""; // no storage
    }
  }

  function keep(unit) {
    try {
      localStorage.setItem(KEY, unit);
    } catch {
      // the choice holds for this page
    }
  }

  function exchange(size) {
    if (size.closest(".as-written")) return; // it is about the units
    const { unit } = page.dataset;
    const binary = !size.dataset.or.endsWith("iB"); // what is shown is not the other
    const turn = unit ? binary !== (unit === "GiB") : size.hasAttribute("data-turned");
    if (!turn) return;
    [size.dataset.or, size.textContent] = [size.textContent, size.dataset.or];
    size.toggleAttribute("data-turned");
  }

  function last(node) {
    while (node.lastChild) node = node.lastChild;
    return node;
  }

  function arrive(node) {
    if (!(node instanceof Element)) return;
    const sizes = node.matches(SIZE) ? [node] : node.querySelectorAll(SIZE);
    const end = document.readyState === "loading" ? last(page) : null;
    for (const size of sizes) {
      if (end && size.contains(end)) open = size;
      else exchange(size);
    }
  }

  const arrivals = new MutationObserver((records) => {
    for (const { addedNodes } of records) for (const node of addedNodes) arrive(node);
    if (open && !open.contains(last(page))) { exchange(open); open = null; }
  });

  function use(unit) {
    if (unit) page.dataset.unit = unit;
    else delete page.dataset.unit;
    arrivals.disconnect();
    document.querySelectorAll(SIZE).forEach(exchange);
    if (unit) arrivals.observe(page, { childList: true, subtree: true });
    document.querySelectorAll(".guide-unit").forEach(name);
    document.dispatchEvent(new Event("gpu-unit"));
  }

  function name(button) {
    const { unit } = page.dataset;
    button.textContent = unit ?? "GiB/GB";
    button.setAttribute("aria-label", unit ? `Sizes in ${unit}` : "Sizes in GiB/GB, as they are written");
    button.title = unit ? `Sizes: all in ${unit}` : "Sizes: as they are written";
  }

  document.addEventListener("click", ({ target }) => {
    if (!(target instanceof Element) || !target.closest(".guide-unit")) return;
    const unit = NEXT[page.dataset.unit ?? ""];
    keep(unit);
    use(unit);
  });
  document.addEventListener("DOMContentLoaded", () => document.querySelectorAll(".guide-unit").forEach(name));
  // Until a reader does anything, long pages and tables of hundreds of rows are laid out only as far as they can be seen:
  // not where a browser goes back to a place on the page, which needs its height.
  function touched({ target }) {
    if (target instanceof Element && target.matches(".md-sidebar__scrollwrap")) return; // the theme scrolls it
    delete page.dataset.untouched;
    for (const kind of TOUCHES) document.removeEventListener(kind, touched, true);
  }

  const [arrival] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType("navigation"));
  if (!location.hash && arrival?.type === "navigate") {
    page.dataset.untouched = "";
    for (const kind of TOUCHES) document.addEventListener(kind, touched, { capture: true, passive: true });
  }
  // As the theme's script says it later, when each element's style would be worked out anew for it.
  page.classList.replace("no-js", "js");
  page.classList.add("js-focus-visible");
  if (kept() in NEXT && kept()) use(kept());
})();
