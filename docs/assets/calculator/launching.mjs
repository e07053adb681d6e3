// From an answer to a running program: a button asks Python for the command, which opens beside it and can be copied.

import { runtime } from "./runtime.mjs";

// `fields` gives the form's values, for the answer's own command; a button of an option has its scenario written in it.
export function offerLaunching(calculator, listen, { fields, say }) {
  listen(calculator, "click", ({ target }) => {
    const copy = target.closest("[data-copy]");
    if (copy) return void copied(copy, say);
    const button = target.closest("[data-launch]");
    if (!button) return;
    const option = button.dataset.launch;
    const launch = option ? JSON.parse(option) : {};
    runtime.ask(button, { calculator: calculator.dataset.calculator, fields: fields(), launch }, (answer) => open(button, answer, say));
  });
}

function open(button, answer, say) {
  if (!button.isConnected) return;
  button.parentElement.querySelector(".calc-launched")?.remove();
  const place = document.createElement("div");
  Object.assign(place, { className: "calc-opened calc-launched", popover: "auto" });
  place.setAttribute("role", "dialog");
  place.setAttribute("aria-label", button.textContent);
  if (answer.ok) place.innerHTML = answer.html;
  else place.textContent = answer.status;
  button.after(place);
  place.showPopover();
  (place.querySelector("button") ?? place).focus();
  say(answer.status);
}

async function copied(button, say) {
  try {
    await navigator.clipboard.writeText(button.previousElementSibling.textContent);
    button.textContent = "Copied";
    say("Copied.");
  } catch {
    say("The browser does not let this page copy.");
  }
}
