// The colours of the page, before anything is painted: those that a reader chose, kept in this browser, or the system's.
// The theme's own script for it comes after the first paint, and has every style of a page worked out anew, twice.

(() => {
  const KEY = "gpu-colours";
  const NEXT = { default: "slate", slate: "default" };
  const NAMES = { default: "Switch to dark colours", slate: "Switch to light colours" };
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const edge = Object.assign(document.createElement("meta"), { name: "theme-color" }); // of the window, on a phone
  let chosen = kept();

  function kept() {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null; // no storage
    }
  }

  function keep(scheme) {
    try {
      localStorage.setItem(KEY, scheme);
    } catch {
      // the choice holds for this page
    }
  }

  function paint() {
    const scheme = chosen in NEXT ? chosen : dark.matches ? "slate" : "default";
    document.body.dataset.mdColorScheme = scheme;
    document.documentElement.style.colorScheme = scheme === "slate" ? "dark" : "light"; // of what is around the page
    const button = document.querySelector(".guide-scheme");
    if (!button) return; // not read yet
    button.setAttribute("aria-label", NAMES[scheme]);
    button.setAttribute("title", NAMES[scheme]);
    edge.content = getComputedStyle(button.closest("header")).backgroundColor;
  }

  document.addEventListener("click", ({ target }) => {
    if (!(target instanceof Element) || !target.closest(".guide-scheme")) return;
    chosen = NEXT[document.body.dataset.mdColorScheme];
    keep(chosen);
    paint();
  });
  dark.addEventListener("change", paint);
  addEventListener("load", paint);
  document.head.append(edge);
  paint();
})();
