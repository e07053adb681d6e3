// The name of a device leads to a small page of its facts. Where scripts run they open in place, beside the name.
// The page holds no other module's state: a press anywhere finds the link that it was on.

document.addEventListener("click", async (event) => {
  const link = event.target instanceof Element ? event.target.closest("a[data-facts]") : null;
  if (!(link instanceof HTMLAnchorElement) || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  event.stopImmediatePropagation(); // the theme would follow the link
  const beside = link.nextElementSibling;
  if (beside instanceof HTMLElement && beside.matches(".calc-opened")) return void beside.showPopover();
  const answer = await fetch(link.href);
  if (!answer.ok) return void location.assign(link.href);
  const facts = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main > div");
  const opened = document.createElement("div");
  opened.className = "calc-opened";
  opened.setAttribute("popover", "");
  opened.setAttribute("role", "group");
  opened.setAttribute("aria-label", `Facts of ${link.textContent}`);
  opened.append(...(facts?.childNodes ?? []));
  link.after(opened);
  opened.showPopover();
}, { capture: true });
