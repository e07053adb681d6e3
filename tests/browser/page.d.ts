// What the page's scripts use beside TypeScript's own list of what browsers have.

interface Navigator {
  readonly connection?: { readonly saveData: boolean }; // not in every browser
}

interface Calculator extends HTMLElement {
  answered?: Record<string, string>; // the fields of the last answer
}

interface HTMLElementTagNameMap {
  "gpu-calculator": Calculator;
}

// What docs/offline.js has, a service worker: TypeScript's list for workers cannot stand beside that for pages.
interface Window {
  readonly clients: { claim(): Promise<void> };
  readonly registration: { readonly scope: string };
  skipWaiting(): Promise<void>;
}

interface Waiting extends Event {
  waitUntil(done: Promise<unknown>): void;
}

interface Fetching extends Waiting {
  readonly request: Request;
  respondWith(answer: Response | Promise<Response>): void;
}

interface MessageEvent extends Waiting {}

interface WindowEventMap {
  install: Waiting;
  activate: Waiting;
  fetch: Fetching;
}
