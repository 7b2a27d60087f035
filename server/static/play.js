// What the chosen cards would do, in words of the page (docs/game-templates.md, “The form”). The server decides.
"use strict";
(() => {
  const FEW = 4;
  const fill = (words, figures) => words.replace(/\{(\w+)\}/g, (whole, name) => figures[name] ?? whole);
  const cardsOf = (form) => [...form.querySelectorAll('input[name="card"]:not([type="hidden"])')];
  const kindOf = (card) => card.value.split("#")[0];
  const nameOf = (card) => card.dataset.name || card.closest("label").querySelector(".unseen").textContent;
  const worth = (card) => Number(card.dataset.worth ?? /\d(?=#)/.exec(card.value) ?? 0);
  const plus = (card, to) => ((card.dataset.with || "").split(" ").includes(kindOf(to)) ? Number(card.dataset.plus) : 0);
  const list = (names) => new Intl.ListFormat(document.documentElement.lang || "en", { type: "conjunction" }).format(names);
  const sum = (items, of) => items.reduce((total, item) => total + of(item), 0);

  const listed = (cards) => {
    const counts = new Map();
    for (const card of cards) counts.set(nameOf(card), (counts.get(nameOf(card)) || 0) + 1);
    return list([...counts].map(([name, count]) => (count === 1 ? name : `${count}× ${name}`)));
  };

  // On a button, more than a few are only counted.
  const shortly = (cards) => {
    const many = document.getElementById("tally")?.dataset.many;
    return many && new Set(cards.map(kindOf)).size > FEW ? fill(many, { count: cards.length }) : listed(cards);
  };

  const option = (form, move) => [...form.querySelectorAll('button[name="move"]')].find((button) => button.value === move);
  const wording = (button) => (button.querySelector(".says") || button).textContent.trim();

  const ofKind = (cards, kind) => cards.filter((card) => (card.dataset.kind || kindOf(card)).endsWith(kind));

  // What a button would do with these cards: whether it may, in a sentence, its label.
  const reading = (button, cards) => {
    const data = button.dataset;
    const count = cards.length;
    const [least, most] = [Number(data.least || 0), Number(data.most || Infinity)];
    const total = Number(data.total || 0) + sum(cards, (card) => worth(card) + sum(cards, (to) => plus(card, to)));
    const figures = { cards: listed(cards), count, total, lead: total - least + 1, extra: sum(cards, (card) => Number(card.dataset.extra || 0)) };
    const no = (words, more) => ({ fits: false, says: fill(words || "", { ...figures, more }) });
    const broken = JSON.parse(data.limits || "[]").find(([kind, limit]) => ofKind(cards, kind).length > limit);
    if (broken) return no(broken[2]);
    if (count > most) return no(data.over, count - most);
    if (total < least) return no(data.short, least - total);
    const exact = data.size && option(button.form, [button.value, ...cards.map(kindOf)].join(" "));
    if (data.size && !exact) return no(count < data.size ? data.few : data.wrong, data.size - count);
    const words = (count === most && data.full) || (figures.extra && data.fitsMore) || data.fits || "";
    const says = fill(words, { ...figures, left: most - count, points: exact?.dataset?.points });
    return { fits: true, says, label: exact ? wording(exact) : fill(data.label, { ...figures, cards: shortly(cards) }) };
  };

  const tell = (tally, sentences) => {
    const parts = sentences.filter((part) => part.says).map(({ says, fits }) => {
      const span = document.createElement("span");
      span.textContent = says;
      span.className = fits ? "fits" : "short";
      return span;
    });
    tally?.replaceChildren(...parts.flatMap((span) => [span, " "]));
  };

  // Ticked cards, and buttons that do something with all of them.
  const ticking = (form, tally) => {
    const cards = cardsOf(form);
    const buttons = [...form.querySelectorAll("button[data-label]")];
    const plain = new Map(buttons.map((button) => [button, button.textContent]));
    const limits = JSON.parse((buttons.length === 1 && buttons[0].dataset.limits) || "[]");
    return () => {
      const chosen = cards.filter((card) => card.checked);
      const told = chosen.length ? buttons.map((button) => reading(button, chosen)) : [];
      buttons.forEach((button, number) => {
        button.textContent = told[number]?.label || button.dataset.idle || plain.get(button);
        button.setAttribute("aria-disabled", String(!told[number]?.fits));
        button.setAttribute("aria-describedby", "tally"); // which says why
      });
      tell(tally, told.length ? told : [{ says: tally?.dataset.idle, fits: true }]);
      const full = limits.filter(([kind, limit]) => ofKind(chosen, kind).length >= limit);
      for (const card of cards) card.parentElement.classList.toggle("full", !card.checked && full.some(([kind]) => ofKind([card], kind)[0]));
      return chosen.length > 0;
    };
  };

  // One card and a place for it, in either order, then a button.
  const placing = (form, tally) => {
    const go = form.querySelector("[data-place]");
    const cards = cardsOf(form);
    const places = [...form.querySelectorAll("button.slot")];
    const plain = go.textContent;
    const takes = (place, card) => place.classList.contains(`c${card.value}`);
    let place = null;
    let exact = null;
    const says = (card) => {
      const words = go.dataset;
      if (!card) return place ? fill(words.at, { cards: list(cards.filter((each) => takes(place, each)).map(nameOf)) }) : tally.dataset.idle;
      if (place && !exact) return fill(words.wrong, { card: nameOf(card) });
      const count = places.filter((each) => takes(each, card)).length;
      return fill(count === 1 ? words.one : words.card, { card: nameOf(card), count });
    };
    const show = () => {
      const card = cards.find((each) => each.checked);
      exact = card && place && option(form, `${go.value} ${card.value} on ${place.value}`);
      for (const each of places) {
        each.setAttribute("aria-pressed", String(each === place));
        each.querySelector("svg")?.remove();
      }
      if (exact) place.append(card.closest("label").querySelector("svg").cloneNode(true)); // the card as it would lie
      go.textContent = exact ? wording(exact) : plain;
      go.setAttribute("aria-disabled", String(!exact));
      tell(tally, [{ says: says(card), fits: Boolean(exact) || !(card && place) }]);
      return Boolean(card || place);
    };
    const act = (event) => {
      event.preventDefault();
      if (exact) exact.click();
      else form.dispatchEvent(new Event("change"));
    };
    for (const each of places) {
      each.addEventListener("click", (event) => {
        event.preventDefault();
        place = place === each ? null : each;
        const fitting = place ? cards.filter((card) => takes(place, card)) : [];
        if (fitting.length === 1 && !cards.some((card) => card.checked)) fitting[0].checked = true;
        form.dispatchEvent(new Event("change"));
      });
    }
    form.addEventListener("clear", () => (place = null));
    form.querySelector("[data-enter]").addEventListener("click", act);
    go.addEventListener("click", act);
    go.hidden = false;
    return show;
  };

  const start = () => {
    const form = document.getElementById("play");
    const tally = document.getElementById("tally");
    if (!form) return;
    const clear = document.getElementById("clear");
    const show = form.querySelector("[data-place]") ? placing(form, tally) : ticking(form, tally);
    const change = () => {
      const some = show();
      if (clear) clear.hidden = !some;
    };
    form.addEventListener("change", change);
    form.addEventListener("click", (event) => {
      if (event.target.closest('button[aria-disabled="true"]')) event.preventDefault();
    });
    clear?.addEventListener("click", () => {
      const cards = cardsOf(form);
      for (const card of cards) card.checked = false;
      form.dispatchEvent(new Event("clear"));
      change();
      cards.find((card) => !card.disabled)?.focus();
    });
    change();
  };

  // On a fresh page, what was chosen stays chosen as far as it is still there.
  const keep = (old) => {
    const form = document.getElementById("play");
    if (!form) return;
    for (const was of old.querySelectorAll('#play input[name="card"]:checked')) {
      const same = cardsOf(form).find((card) => !card.checked && !card.disabled && kindOf(card) === kindOf(was));
      if (same) same.checked = true;
    }
    const place = old.querySelector('#play button[aria-pressed="true"]');
    const same = place && [...form.querySelectorAll("button.slot")].find((each) => each.value === place.value);
    start();
    same?.click();
  };

  document.addEventListener("swapped", (event) => (event.detail ? keep(event.detail) : start()));
  start();
})();
