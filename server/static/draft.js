// Beside each draft of an order, what it would do: the preview that its button asks for.
"use strict";
(() => {
  const PAUSE = 400; // milliseconds after the last change

  const preview = async (form) => {
    const fields = new FormData(form);
    fields.append("do", "preview");
    const answer = await fetch(location.pathname, { method: "POST", body: new URLSearchParams(fields) });
    if (new URL(answer.url).origin !== location.origin) throw new Error("not a page");
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    return page.querySelector(answer.status === 422 ? '[role="alert"]' : "#outcome");
  };

  const drafting = (form) => {
    const told = form.nextElementSibling;
    const sheet = form.closest("details");
    let timer = 0;
    let latest = 0;
    const ask = async () => {
      const mine = ++latest;
      const found = await preview(form).catch(() => null); // the button still asks
      if (mine !== latest) return;
      if (found) for (const name of ["id", "role"]) found.removeAttribute(name);
      told.replaceChildren(...(found ? [found] : []));
      told.hidden = !found;
    };
    form.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(ask, PAUSE);
    });
    sheet.addEventListener("toggle", () => sheet.open && told.hidden && ask());
    told.hidden = !told.firstElementChild;
  };

  const start = () => document.querySelectorAll("form[data-draft]").forEach(drafting);
  document.addEventListener("swapped", start);
  start();
})();
