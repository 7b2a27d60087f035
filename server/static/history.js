// The history: arrow keys, the slider and links step without a reload; without this they are links.
"use strict";
(() => {
  const ways = { ArrowLeft: "prev", ArrowRight: "next", Home: "first", End: "last" };
  let asked = 0;
  const way = (rel) => document.querySelector(`.moments a[rel=${rel}]`);
  const modified = (event) => event.altKey || event.ctrlKey || event.metaKey || event.shiftKey;

  // What a fresh page needs: the hint, the slider at work, the entry shown in sight within its own list.
  const start = () => {
    const [hint, slider, list] = ["#keys", "#moment", ".rolls"].map((what) => document.querySelector(what));
    const line = list?.querySelector(".at");
    if (hint) hint.hidden = false;
    if (line && list.scrollHeight > list.clientHeight) {
      const box = (of) => of.getBoundingClientRect();
      list.scrollTop += box(line.previousElementSibling || line).top - box(list).top;
    }
    if (!slider) return;
    slider.form.querySelector("button").hidden = true;
    slider.addEventListener("input", () => { slider.form.querySelector("output").value = slider.value; });
    slider.addEventListener("change", () => go(`?${new URLSearchParams(new FormData(slider.form))}`));
  };

  // Put another moment in the place of this one; the focus stays where it was.
  const go = async (address, back) => {
    const { id, rel, className } = document.activeElement;
    const focused = id ? `#${id}` : rel ? `.moments a[rel=${rel}]` : className === "seq" ? ".at .seq" : className === "tag" ? ".eyes a" : "";
    const turn = (asked += 1);
    try {
      const answer = await fetch(address);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.getElementById("replay");
      if (!fresh || new URL(answer.url).origin !== location.origin) throw new Error("no history");
      if (turn !== asked) return; // another moment has been asked for meanwhile
      document.getElementById("replay").replaceWith(fresh);
      document.title = page.title;
      if (!back) history.pushState(null, "", answer.url);
      start();
      if (focused) (document.querySelector(focused) || document.querySelector(".moments a"))?.focus({ preventScroll: true });
    } catch {
      location.assign(address);
    }
  };

  document.addEventListener("keydown", (event) => {
    const link = ways[event.key] && way(ways[event.key]);
    if (!link || modified(event)) return;
    if (event.target.closest("input, select, textarea, .scroll")) return;
    event.preventDefault();
    go(link.href);
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest(".moments a, .eyes a, .log .seq");
    if (!link || modified(event) || !document.querySelector(".replay")) return;
    event.preventDefault();
    go(link.href);
    if (link.matches(".seq")) document.getElementById("replay").scrollIntoView({ block: "nearest" });
  });
  addEventListener("popstate", () => go(location.href, true));
  start();
})();
