// A seat's page without reloads: answers are put in place, the time left counts down, news is announced.
"use strict";
(() => {
  const PATIENCE = 20000; // ms for an answer
  const OFTEN = 15; // seconds between questions, growing while nothing happens
  const SELDOM = 30;
  const TROUBLED = 240;
  const AWAY = 120; // in a hidden tab, whose title says when it is one's turn
  const IN_USE = 300; // how long a touch shows that the page is in use
  const BOTS = [0.5, 0.5, 1, 2, 2, 4]; // while only bots are to move
  let here = location.pathname + location.search;
  let timer = 0;
  let wait = OFTEN;
  let soon = [];
  let known = ""; // the ETag of the last answer
  let touched = -Infinity; // when a pointer or a key last did

  const ask = (address, how) => fetch(address, { ...how, signal: AbortSignal.timeout?.(PATIENCE) });
  const check = (fine) => {
    if (!fine) throw Error("no");
  };
  const fill = (words, figures) => words.replace(/\{(\w+)\}/g, (_whole, name) => figures[name]);

  // The page in an answer of this server, or an error.
  const pageOf = async (answer) => {
    const foreign = new URL(answer.url).origin !== location.origin;
    check(!foreign && answer.headers.get("Content-Type")?.startsWith("text/html"));
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    check(page.getElementById("main"));
    return page;
  };

  // Put the main part of a page in the place of ours. `kept`: it is the same page, what was chosen or folded open in it stays.
  const put = (page, kept) => {
    const [old, fresh] = [document.getElementById("main"), page.getElementById("main")];
    document.title = page.title;
    for (const icon of document.querySelectorAll('link[rel="icon"]')) icon.href = page.querySelector('link[rel="icon"]').href;
    old.replaceWith(fresh);
    document.querySelector(".top nav").replaceWith(page.querySelector(".top nav"));
    if (kept) {
      const [were, are] = [old, fresh].map((main) => [...main.querySelectorAll("details")]);
      if (were.length === are.length) were.forEach((was, number) => (are[number].open = was.open));
    }
    document.dispatchEvent(new CustomEvent("swapped", { detail: kept ? old : null }));
    return fresh;
  };

  const focusOn = (element) => {
    element.tabIndex = -1;
    element.focus({ preventScroll: true });
    element.scrollIntoView({ block: "nearest" });
  };

  const send = async (form, pressed) => {
    const fields = new FormData(form);
    if (pressed?.name) fields.append(pressed.name, pressed.value);
    const answer = await ask(form.action, { method: "POST", body: new URLSearchParams(fields) });
    check(answer.ok || [409, 422].includes(answer.status));
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
    const { target: form, submitter: pressed } = event;
    if (event.defaultPrevented || !form.matches("#main form[method=post]:not(#again, [data-plainly])")) return;
    event.preventDefault();
    if (form.dataset.sent) return; // a double click
    form.dataset.sent = "yes";
    form.setAttribute("aria-busy", "true");
    send(form, pressed).then(begin, () => {
      form.dataset.plainly = "yes";
      form.requestSubmit(pressed);
    });
  });

  // Programs that fetch links run scripts, too: a page that nobody has touched shows nobody's presence.
  const touch = ({ isTrusted }) => {
    if (!isTrusted) return;
    if (touched < 0) soon.unshift(1), later();
    touched = performance.now();
  };
  for (const kind of ["pointerdown", "keydown"]) addEventListener(kind, touch, true);

  const look = async () => {
    clearTimeout(timer);
    const live = document.getElementById("live");
    if (!live || (document.hidden && !live.dataset.yours)) return;
    try {
      const inUse = document.visibilityState === "visible" && performance.now() - touched < IN_USE * 1000;
      const headers = { ...(known && { "If-None-Match": known }), ...(inUse && { "X-Touched": "yes" }) };
      const answer = await ask(live.dataset.head, { credentials: "omit", cache: "no-store", headers });
      if (answer.status === 404) return; // the link opens nothing any more: the next click will say so
      if (answer.status === 304) {
        wait = Math.min(wait * 1.25, SELDOM);
      } else {
        check(answer.ok);
        const news = await answer.json();
        known = answer.headers.get("ETag") || "";
        wait = OFTEN;
        if (live.isConnected && (await notice(live, news))) return;
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

  const renew = async (address) => {
    const answer = await ask(address);
    check(answer.ok);
    const fresh = put(await pageOf(answer), true);
    begin();
    return fresh;
  };

  // Bots' moves, and news on your turn while nothing is chosen, are shown at once; else a line says so.
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
