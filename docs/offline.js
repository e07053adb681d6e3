// The guide without a network: what a reader has opened stays, and only where the network fails it is taken from there.
// While there is one, everything goes its ordinary way, so that nothing is slower and nothing is old.

const KEPT = "guide";
const HASH = /-[0-9a-f]{16}(?=\.)/; // of a name that changes with its content
const MISSING = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Not kept</title></head><body><h1>There is no network, and this page was not opened before</h1>
<p><a href="./">The guide's first page</a></p></body></html>`;

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("message", (event) => event.waitUntil(keep(event.data.keep)));

// What was just loaded is in the browser's own cache: this asks no one for it again.
async function keep(addresses) {
  const kept = await caches.open(KEPT);
  for (const address of addresses) {
    const answer = await fetch(address, { cache: "force-cache" }).catch(() => null);
    if (!answer?.ok) continue;
    if (HASH.test(address)) await forget(kept, address);
    await kept.put(address, answer);
  }
}

// The file that another hash named is the same one before its last change.
async function forget(kept, address) {
  const same = address.replace(HASH, "");
  for (const request of await kept.keys()) {
    if (request.url !== address && request.url.replace(HASH, "") === same) await kept.delete(request);
  }
}

async function remembered(request) {
  const found = await caches.match(request, { ignoreSearch: true });
  if (found || request.mode !== "navigate") return found ?? Response.error();
  return new Response(MISSING.replace("./", self.registration.scope), { status: 503, headers: { "Content-Type": "text/html" } });
}

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(self.registration.scope)) return;
  if (!navigator.onLine) event.respondWith(remembered(request));
  else if (request.mode === "navigate") event.respondWith(fetch(request).catch(() => remembered(request)));
});
