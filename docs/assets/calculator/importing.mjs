// A reader's own model: files that are chosen or dropped, or a text that is pasted, become values of the form. Python
// reads them in the worker; this module only hands them over and says what came of it.

import { runtime } from "./runtime.mjs";

const READING_TEXT = "Reading …";

// Offer the import of a calculator. `fields` gives the form's values, `use` takes new ones, `say` tells a screen reader.
export function offerImport(calculator, listen, { fields, use, say }) {
  const place = calculator.querySelector(".calc-import");
  if (!place) return;
  const [chosen, text, button] = ["input", "textarea", "button"].map((name) => place.querySelector(name));
  const said = place.querySelector(".calc-said");
  let kept = []; // files that can be used together with further ones
  place.hidden = false;

  function read(files) {
    const brought = [...kept, ...files];
    if (brought.length === 0 && !text.value.trim()) return;
    place.open = true;
    show(READING_TEXT, false);
    const named = brought.map(({ name, size }) => ({ name, size }));
    const request = { calculator: calculator.dataset.calculator, fields: fields(), files: named, text: text.value };
    runtime.ask(place, request, (reply) => answer(reply, brought), { files: brought });
  }

  function answer(reply, brought) {
    if (!calculator.isConnected) return;
    kept = reply.more ? brought : [];
    chosen.value = "";
    if (reply.ok) text.value = "";
    show(reply.status, !reply.ok);
    if (reply.ok) use(reply.fields, reply.status);
    else say(reply.status);
  }

  function show(message, wrong) {
    said.textContent = message;
    said.toggleAttribute("data-wrong", wrong);
    for (const control of [chosen, text]) control.setAttribute("aria-invalid", wrong);
  }

  function drag(event, over) {
    if (!event.dataTransfer?.types.includes("Files")) return; // a text is dragged, which the text field takes by itself
    event.preventDefault();
    calculator.toggleAttribute("data-dropping", over);
    if (event.type === "drop") read(event.dataTransfer.files);
  }

  listen(chosen, "change", () => read(chosen.files));
  listen(button, "click", () => read([]));
  listen(text, "input", (event) => { if (event.inputType === "insertFromPaste") read([]); });
  listen(calculator, "dragover", (event) => drag(event, true));
  listen(calculator, "dragleave", (event) => drag(event, calculator.contains(event.relatedTarget)));
  listen(calculator, "drop", (event) => drag(event, false));
}
