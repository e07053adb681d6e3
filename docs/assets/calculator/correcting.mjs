// What a reader has measured corrects the guide's answers in this browser. Loaded when a button of an
// answer is pressed; Python writes what is kept, and computes with it.

import { corrections, keepCorrections } from "./carrying.mjs";

// Do what a button of an answer says: keep its correction, or take one back. Return what to tell.
export function press(button) {
  const { correct, uncorrect } = button.dataset;
  if (correct) {
    const entry = JSON.parse(correct);
    keepCorrections([entry, ...corrections().filter((other) => !alike(entry, other))]);
    return "Kept in this browser: from now on answers for this device under this engine are corrected.";
  }
  const entry = JSON.parse(uncorrect);
  keepCorrections(corrections().filter((other) => !alike(entry, other)));
  return "Taken back: the answers are the guide's own again.";
}

function alike(one, other) {
  return one.accelerator === other.accelerator && one.engine === other.engine;
}
