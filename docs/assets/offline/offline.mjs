// Have the service worker keep what this tab loads: pages, what they are made of, and Python once it has started.

const LATER_MS = 2000; // a page has loaded what it is made of
const told = new Set();
const scope = new URL("../../", import.meta.url).href;

function tell(addresses) {
  const clean = addresses.map((address) => address.split("#")[0]);
  const fresh = clean.filter((address) => address.startsWith(scope) && !told.has(address));
  for (const address of fresh) told.add(address);
  if (fresh.length) navigator.serviceWorker.ready.then(({ active }) => active.postMessage({ keep: fresh }));
}

function tellLoaded() {
  tell([location.href.split("?")[0], ...performance.getEntriesByType("resource").map(({ name }) => name)]);
}

// A page that a maintainer is writing, which loads itself again, is never kept.
if ("serviceWorker" in navigator && !("livereload" in window)) {
  navigator.serviceWorker.register(new URL("offline.js", scope)).then(() => {
    const { document$ } = /** @type {any} */ (window); // the theme's: each page that it shows
    document$.subscribe(() => setTimeout(tellLoaded, LATER_MS));
    // Python's files are large, and the first answer comes before them; the script that starts it is the page's.
    document.addEventListener("gpu-python", (event) => setTimeout(() => {
      tellLoaded();
      tell(/** @type {CustomEvent} */ (event).detail);
    }, LATER_MS));
  }, () => {}); // a browser that forbids it has the guide without
}
