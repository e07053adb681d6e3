// What the benchmark runs in a page. Times are in milliseconds.

window.probes = (() => {
  // After the next frame is painted: the frame's callback runs before it, the message after it.
  const painted = () =>
    new Promise((resolve) => {
      requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => resolve(performance.now());
        port2.postMessage(0);
      });
    });

  const PATIENCE = 120000;

  // What is waited for, or an error that names it: a run that hangs says nothing for ever.
  const within = (name, awaited) =>
    Promise.race([
      awaited,
      new Promise((_, reject) => setTimeout(() => reject(new Error(`no ${name} within ${PATIENCE} ms`)), PATIENCE)),
    ]);

  // The note that an answer is of the values before the change is put into it too, and is no answer.
  const replaced = (answer) =>
    within("answer", new Promise((resolve) => {
      const observer = new MutationObserver(() => {
        if (answer.querySelector(".calc-stale")) return;
        observer.disconnect();
        resolve(performance.now());
      });
      observer.observe(answer, { childList: true });
    }));

  const enter = (field, value) => {
    field.value = value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  };

  // From a question on the first page to its answer on screen.
  async function ask(line) {
    const form = document.querySelector("gpu-question form");
    const result = document.querySelector(".ask-result");
    const answered = within("answer", new Promise((resolve) => {
      const observer = new MutationObserver(() => {
        if (!result.querySelector(".calc-verdict")) return;
        observer.disconnect();
        resolve();
      });
      observer.observe(result, { childList: true, subtree: true });
    }));
    const start = performance.now();
    form.querySelector("input").value = line;
    form.requestSubmit();
    await answered;
    return (await painted()) - start;
  }

  // From the first intent, which is an edit too, to the answer to that edit on screen.
  async function boot(value) {
    const calculator = document.querySelector("gpu-calculator");
    const answer = calculator.querySelector(".calc-answer");
    const answered = replaced(answer);
    const start = performance.now();
    calculator.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
    enter(calculator.querySelector("[name=context_tokens]"), value);
    await answered;
    return { ms: (await painted()) - start, text: answer.textContent };
  }

  // A link in the text of the page: the navigation lists the open section alone.
  function linked(href) {
    const link = Object.assign(document.createElement("a"), { href });
    document.querySelector("article").append(link);
    return link;
  }

  // From the click on a link to the next page's calculator on screen and live, and from its first edit to the answer.
  async function nextPage(href, value) {
    const link = linked(href);
    const before = document.querySelector("gpu-calculator");
    const arrived = within("live calculator", new Promise((resolve) => {
      const observer = new MutationObserver(() => {
        const calculator = document.querySelector("gpu-calculator[data-state=ready]");
        if (calculator === null || calculator === before) return;
        observer.disconnect();
        resolve(calculator);
      });
      observer.observe(document.body, { childList: true, subtree: true });
    }));
    const start = performance.now();
    link.click();
    const calculator = await arrived;
    const live = await painted();
    const answered = replaced(calculator.querySelector(".calc-answer"));
    enter(calculator.querySelector("[name=context_tokens]"), value);
    await answered;
    return { live: live - start, answered: (await painted()) - live };
  }

  // The same click to a page whose script is blocked: what the theme itself takes.
  async function nextShown(href) {
    const link = linked(href);
    const before = document.querySelector("article");
    const arrived = within("page", new Promise((resolve) => {
      const observer = new MutationObserver(() => {
        if (before.isConnected) return;
        observer.disconnect();
        resolve();
      });
      observer.observe(document.body, { childList: true, subtree: true });
    }));
    const start = performance.now();
    link.click();
    await arrived;
    return (await painted()) - start;
  }

  // From each keystroke to its answer in the document, and on screen.
  function watchKeys() {
    const times = [];
    document.addEventListener("input", async ({ timeStamp }) => {
      const answered = replaced(document.querySelector(".calc-answer"));
      const entry = { answered: (await answered) - timeStamp };
      entry.painted = (await painted()) - timeStamp;
      times.push(entry);
    }, { capture: true });
    return times;
  }

  return { ask, boot, nextPage, nextShown, watchKeys };
})();
