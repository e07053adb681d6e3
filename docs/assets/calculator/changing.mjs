// Changes that would make it fit: each becomes a button that puts it into the form.

// Make the buttons of an answer; `controls` are the form's, and a change of what it does not ask for stays words.
export function offerChanges(answer, controls) {
  const asked = new Set(controls.map(({ name }) => name));
  for (const said of answer.querySelectorAll("[data-change]")) {
    if (!Object.keys(JSON.parse(said.dataset.change)).every((name) => asked.has(name)) || said.querySelector("button")) continue;
    const button = Object.assign(document.createElement("button"), { type: "button" });
    button.append(...said.childNodes);
    said.append(button);
  }
}
