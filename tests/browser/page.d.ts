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
