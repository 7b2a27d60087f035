// A seat's page without reloads: forms are sent and their answers put in place, the time left counts down, and the page says when the
// table has moved on. Whatever does not go as expected is left to the browser, which sends the form or opens the page as ever.
"use strict";
(() => {
  const PATIENCE = 20000; // milliseconds for an answer
  const OFTEN = 15; // seconds between two questions to the server, growing while nothing happens
  const SELDOM = 30;
  const TROUBLED = 240;
  let here = location.pathname + location.search;
  let timer = 0;
  let wait = OFTEN;
  let known = ""; // the ETag of the last answer

  const ask = (address, how) => fetch(address, { ...how, signal: AbortSignal.timeout?.(PATIENCE) });
  const fill = (words, figures) => words.replace(/\{(\w+)\}/g, (_whole, name) => figures[name]);

  // The page in an answer of this server; an error if it is none.
  const pageOf = async (answer) => {
    const html = (answer.headers.get("Content-Type") || "").startsWith("text/html");
    if (!html || new URL(answer.url).origin !== location.origin) throw new Error("not a page");
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!page.getElementById("main")) throw new Error("a page without its main part");
    return page;
  };

  // Put the main part of a page in the place of ours. `kept`: it is the same page, what was chosen in it stays.
  const put = (page, kept) => {
    const [old, fresh] = [document.getElementById("main"), page.getElementById("main")];
    document.title = page.title;
    old.replaceWith(fresh);
    if (kept) keepWriting(old, fresh);
    document.dispatchEvent(new CustomEvent("swapped", { detail: kept ? old : null }));
    return fresh;
  };

  // An order half written, and what was folded open.
  const keepWriting = (old, fresh) => {
    const [were, are] = ["details, #orders :is(input, select)"].flatMap((what) => [[...old.querySelectorAll(what)], [...fresh.querySelectorAll(what)]]);
    if (were.length !== are.length) return;
    were.forEach((was, number) => {
      if (was.tagName === "DETAILS") are[number].open = was.open;
      else if (was.type !== "hidden") are[number].value = was.value;
    });
  };

  const focusOn = (element) => {
    element.tabIndex = -1;
    element.focus({ preventScroll: true });
    element.scrollIntoView({ block: "nearest" });
  };

  const plainly = (form, pressed) => {
    if (pressed?.name) {
      const field = document.createElement("input");
      [field.type, field.name, field.value] = ["hidden", pressed.name, pressed.value];
      form.append(field);
    }
    HTMLFormElement.prototype.submit.call(form);
  };

  const send = async (form, pressed) => {
    const fields = new FormData(form);
    if (pressed?.name) fields.append(pressed.name, pressed.value);
    const answer = await ask(form.action, { method: "POST", body: new URLSearchParams(fields) });
    if (!answer.ok && answer.status !== 409 && answer.status !== 422) throw new Error(`answered ${answer.status}`);
    const page = await pageOf(answer);
    if (answer.redirected) {
      history.pushState(null, "", answer.url);
      here = location.pathname + location.search;
    }
    const fresh = put(page);
    window.scrollTo(0, 0);
    const then = answer.redirected && form.dataset.then;
    focusOn((then && fresh.querySelector(then)) || fresh.querySelector('[role="alert"]') || fresh.querySelector("h1") || fresh);
  };

  document.addEventListener("submit", (event) => {
    const form = event.target;
    const pressed = event.submitter;
    if (event.defaultPrevented || form.method !== "post" || !form.closest("#main")) return;
    event.preventDefault();
    if (form.dataset.sent) return; // a double click
    form.dataset.sent = "yes";
    form.setAttribute("aria-busy", "true");
    send(form, pressed).then(begin, () => plainly(form, pressed));
  });

  // ---- what happens meanwhile ----

  const look = async () => {
    clearTimeout(timer);
    const live = document.getElementById("live");
    if (!live || document.hidden) return;
    try {
      const answer = await ask(live.dataset.head, { credentials: "omit", cache: "no-store", headers: known ? { "If-None-Match": known } : {} });
      if (answer.status === 404) return; // the link opens nothing any more: the next click will say so
      if (answer.status === 304) {
        wait = Math.min(wait * 1.25, SELDOM);
      } else if (answer.ok) {
        const news = await answer.json();
        known = answer.headers.get("ETag") || "";
        wait = OFTEN;
        if (live.isConnected) notice(live, news);
      } else {
        throw new Error(`answered ${answer.status}`);
      }
    } catch {
      wait = Math.min(wait * 2, TROUBLED);
    }
    clearTimeout(timer);
    timer = setTimeout(look, wait * 1000 * (0.9 + Math.random() / 5));
  };

  const notice = (live, { seq, awaited }) => {
    const { one, many, yours, seat } = live.dataset;
    const count = seq - Number(live.dataset.seq);
    if (count <= 0) return;
    const words = yours && awaited.includes(Number(seat)) ? yours : count === 1 ? one : many;
    live.classList.add("notice");
    live.querySelector("p").textContent = fill(words, { count });
    live.querySelector("a").hidden = false;
  };

  document.addEventListener("click", async (event) => {
    const link = event.target.closest("#live a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || !document.getElementById("play")) return;
    event.preventDefault();
    const seen = Number(document.getElementById("live").dataset.seq);
    try {
      const answer = await ask(link.href);
      if (!answer.ok) throw new Error(`answered ${answer.status}`);
      const fresh = put(await pageOf(answer), true);
      focusOn(fresh.querySelector(`#e${seen + 1}`) || fresh.querySelector("h1") || fresh);
      begin();
    } catch {
      location.assign(link.href);
    }
  });

  // ---- the time left ----

  const count = () => {
    for (const left of document.querySelectorAll("time[data-left]")) {
      left.skew ??= Date.parse(left.dataset.now) - Date.now(); // the browser's clock may be wrong
      const minutes = Math.floor((Date.parse(left.dateTime) - Date.now() - left.skew) / 60000);
      left.parentElement.hidden = minutes < 0;
      left.textContent = fill(left.dataset.left, { hours: Math.floor(minutes / 60), minutes: minutes % 60 });
    }
  };

  const begin = () => {
    known = "";
    wait = OFTEN;
    clearTimeout(timer);
    timer = setTimeout(look, wait * 1000);
    count();
  };

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return;
    wait = OFTEN;
    count();
    look();
  });
  addEventListener("popstate", () => {
    if (location.pathname + location.search !== here) location.reload();
  });
  addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload();
  });
  setInterval(count, 60000);
  begin();
})();
