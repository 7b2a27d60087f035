// A seat's page without reloads: answers are put in place, the time left counts down, news is announced. What fails is left to the
// browser.
"use strict";
(() => {
  const PATIENCE = 20000; // ms for an answer
  const OFTEN = 15; // seconds between two questions to the server, growing while nothing happens
  const SELDOM = 30;
  const TROUBLED = 240;
  const AWAY = 120; // in a tab that nobody sees, whose title says when it is one's turn
  const IN_USE = 300; // for which a page is in use after a pointer or a key has touched it
  const BOTS = [0.5, 0.5, 1, 2, 2, 4]; // the first questions while only bots are to move
  let here = location.pathname + location.search;
  let timer = 0;
  let wait = OFTEN;
  let soon = [];
  let known = ""; // the ETag of the last answer
  let touched = -Infinity; // when a pointer or a key last touched this page

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
    for (const icon of document.querySelectorAll('link[rel="icon"]')) icon.href = page.querySelector('link[rel="icon"]').href;
    old.replaceWith(fresh);
    document.querySelector(".top nav").replaceWith(page.querySelector(".top nav"));
    if (kept) keepOpen(old, fresh);
    document.dispatchEvent(new CustomEvent("swapped", { detail: kept ? old : null }));
    return fresh;
  };

  // What was folded open.
  const keepOpen = (old, fresh) => {
    const [were, are] = [old, fresh].map((main) => [...main.querySelectorAll("details")]);
    if (were.length === are.length) were.forEach((was, number) => (are[number].open = was.open));
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
      const same = new URL(answer.url).pathname === location.pathname; // one stays at the table
      history[same ? "replaceState" : "pushState"](null, "", answer.url);
      here = location.pathname + location.search;
    }
    const fresh = put(page);
    window.scrollTo(0, 0);
    const then = answer.redirected && form.dataset.then;
    focusOn((then && fresh.querySelector(then)) || fresh.querySelector('[role="alert"], #played') || fresh.querySelector("h1") || fresh);
  };

  document.addEventListener("submit", (event) => {
    const form = event.target;
    const pressed = event.submitter;
    if (event.defaultPrevented || !form.matches("#main form[method=post]:not(#again)")) return;
    event.preventDefault();
    if (form.dataset.sent) return; // a double click
    form.dataset.sent = "yes";
    form.setAttribute("aria-busy", "true");
    send(form, pressed).then(begin, () => plainly(form, pressed));
  });

  // ---- what happens meanwhile ----

  // Programs that fetch links run scripts, too; what they have not touched shows nobody's presence.
  const inUse = () => document.visibilityState === "visible" && performance.now() - touched < IN_USE * 1000;
  const asks = () => ({ ...(known && { "If-None-Match": known }), ...(inUse() && { "X-Touched": "yes" }) });

  const touch = (event) => {
    if (!event.isTrusted) return;
    const first = touched < 0;
    touched = performance.now();
    const live = document.getElementById("live");
    // Its answer changes nothing under the finger; the next question hears of news.
    if (first && live && inUse()) ask(live.dataset.head, { credentials: "omit", cache: "no-store", headers: asks() }).catch(() => {});
  };
  for (const kind of ["pointerdown", "keydown", "touchstart"]) addEventListener(kind, touch, { capture: true, passive: true });

  const look = async () => {
    clearTimeout(timer);
    const live = document.getElementById("live");
    if (!live || (document.hidden && !live.dataset.yours)) return;
    try {
      const answer = await ask(live.dataset.head, { credentials: "omit", cache: "no-store", headers: asks() });
      if (answer.status === 404) return; // the link opens nothing any more: the next click will say so
      if (answer.status === 304) {
        wait = Math.min(wait * 1.25, SELDOM);
      } else if (answer.ok) {
        const news = await answer.json();
        known = answer.headers.get("ETag") || "";
        wait = OFTEN;
        if (live.isConnected && (await notice(live, news))) return;
      } else {
        throw new Error(`answered ${answer.status}`);
      }
    } catch {
      wait = Math.min(wait * 2, TROUBLED);
    }
    later();
  };

  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(look, (soon.shift() ?? (document.hidden ? AWAY : wait)) * 1000 * (0.9 + Math.random() / 5));
  };

  // The page as it is now.
  const renew = async (address) => {
    const answer = await ask(address);
    if (!answer.ok) throw new Error(`answered ${answer.status}`);
    const fresh = put(await pageOf(answer), true);
    begin();
    return fresh;
  };

  // Bots' moves, and news on your turn while nothing is chosen, are shown at once; otherwise a line announces them.
  const notice = async (live, { seq, awaited }) => {
    const { one, many, yours, seat } = live.dataset;
    const count = seq - Number(live.dataset.seq);
    if (count <= 0) return false;
    const mine = awaited.includes(Number(seat));
    const main = document.getElementById("main");
    const written = [...main.querySelectorAll("textarea")].some((each) => each.matches(":focus") || each.value !== each.defaultValue);
    if (!written && (live.dataset.soon || (mine && !main.querySelector("#play :checked")))) {
      const within = main.contains(document.activeElement);
      const fresh = await renew(here);
      if (within) focusOn(fresh.querySelector("h1") || fresh);
      return true;
    }
    const words = mine && yours ? yours : count === 1 ? one : many;
    live.classList.add("notice");
    live.querySelector("p").textContent = fill(words, { count });
    live.querySelector("a").hidden = false;
    return false;
  };

  document.addEventListener("click", async (event) => {
    const link = event.target.closest("#live a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || !document.getElementById("play")) return;
    event.preventDefault();
    const seen = Number(document.getElementById("live").dataset.seq);
    try {
      const fresh = await renew(link.href);
      focusOn(fresh.querySelector(`#e${seen + 1}`) || fresh.querySelector("h1") || fresh);
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
      const many = minutes >= 600; // hours alone will do
      left.textContent = fill(many ? left.dataset.long : left.dataset.left, { hours: Math[many ? "round" : "floor"](minutes / 60), minutes: minutes % 60 });
    }
  };

  const begin = () => {
    known = "";
    wait = OFTEN;
    soon = document.getElementById("live")?.dataset.soon ? [...BOTS] : [];
    later();
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
