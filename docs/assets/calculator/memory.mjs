// Python as it stood after its first answers, kept in this browser: the next visit goes on from there, and starts nothing.
// It is the whole memory of the program, so it holds what was asked before it was kept; nothing of it is sent anywhere.

const KEPT = "python";

// Which build of the guide, and which browser: the compiled program of another may lie otherwise in its memory.
const address = (build) => new URL(`../runtime/memory-${build}?${encodeURIComponent(navigator.userAgent)}`, import.meta.url).href;

export async function recalled(build) {
  const kept = await caches.open(KEPT);
  return (await kept.match(address(build)))?.arrayBuffer();
}

export async function remember(build, memory) {
  await forget(); // of an older build
  const kept = await caches.open(KEPT);
  await kept.put(address(build), new Response(memory));
}

export function forget() {
  return caches.delete(KEPT);
}
