// What a reader has measured corrects the guide's answers in this browser. Loaded when a button of an
// answer is pressed; Python writes what is kept, and computes with it.

import { corrections, keepCorrections } from "./carrying.mjs";
import { runtime } from "./runtime.mjs";

// Do what a button of an answer says: keep the correction that follows from the form, `asked`, or take one back. Return
// what to tell.
export async function press(button, asked) {
  const { correct, uncorrect } = button.dataset;
  if (correct !== undefined) {
    const { kept, status } = await new Promise((resolve) => runtime.ask(button, { ...asked, correct: true }, resolve));
    if (kept) keepCorrections([kept, ...corrections().filter((other) => !alike(kept, other))]);
    return status;
  }
  const entry = JSON.parse(uncorrect);
  keepCorrections(corrections().filter((other) => !alike(entry, other)));
  return "Taken back: the answers are the guide's own again.";
}

function alike(one, other) {
  return one.accelerator === other.accelerator && one.engine === other.engine;
}
