// A calculator in someone else's page: light or dark as the reader's system is, or as the address says with ?scheme=dark.

const dark = matchMedia("(prefers-color-scheme: dark)");

function paint() {
  const asked = new URLSearchParams(location.search).get("scheme");
  const scheme = (asked ? asked === "dark" : dark.matches) ? "slate" : "default";
  document.body.setAttribute("data-md-color-scheme", scheme);
}

dark.addEventListener("change", paint);
paint();
