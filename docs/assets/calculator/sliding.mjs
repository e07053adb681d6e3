// A slider with stops beside a number: it sets the number, which may also be typed, and shows the stop that is nearest.

// Give each number of a form, or of a part of it that was opened, that has stops its slider.
export function offerSliding(part, listen) {
  for (const field of part.querySelectorAll("input[data-stops]")) {
    if (field.closest("details:not([open])")) continue; // until that is opened
    const slider = /** @type {HTMLInputElement} */ (document.getElementById(`${field.id}-slider`) ?? make(field));
    listen(slider, "input", (event) => {
      event.stopPropagation();
      field.value = stopsOf(field)[slider.value];
      field.dispatchEvent(new Event("input", { bubbles: true }));
    });
  }
}

// Let all sliders show what their numbers are.
export function follow(calculator) {
  for (const field of calculator.querySelectorAll("input[data-stops]")) {
    const slider = /** @type {HTMLInputElement} */ (document.getElementById(`${field.id}-slider`));
    if (!slider) continue;
    const value = Number(field.value.replace(/[ ,_]/g, ""));
    const far = stopsOf(field).map((stop) => Math.abs(Math.log(stop / value)));
    if (value > 0) slider.value = String(far.indexOf(Math.min(...far)));
    slider.setAttribute("aria-valuetext", field.value);
  }
}

function make(field) {
  const slider = document.createElement("input");
  Object.assign(slider, { type: "range", id: `${field.id}-slider`, className: "calc-slider", min: 0, max: stopsOf(field).length - 1, step: 1 });
  slider.setAttribute("aria-label", `${field.labels[0].textContent}, in steps`);
  const row = Object.assign(document.createElement("div"), { className: "calc-counted" });
  field.before(row);
  row.append(field, slider);
  return slider;
}

function stopsOf(field) {
  return field.dataset.stops.split(" ");
}
