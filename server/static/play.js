// Optional: tells on the buttons what they would do with the ticked cards. Nothing here sends anything.
"use strict";
(() => {
  const form = document.getElementById("play");
  if (!form) return;
  const boxes = [...form.querySelectorAll('input[name="card"]')];
  const buttons = [...form.querySelectorAll("button[data-label]")];
  const plain = new Map(buttons.map((button) => [button, button.textContent]));
  const nameOf = (box) => box.dataset.name || box.closest("label").querySelector(".unseen").textContent;
  const worth = (box) => Number(box.dataset.worth ?? /\d(?=#)/.exec(box.value) ?? 0);
  const added = (box, to) => Number(box.dataset.plus || 0) * (box.dataset.with || "").split(" ").includes(to.value.split("#")[0]);
  const names = new Intl.ListFormat(document.documentElement.lang, { type: "conjunction" });
  const show = () => {
    const ticked = boxes.filter((box) => box.checked);
    const sum = ticked.reduce((total, box) => ticked.reduce((more, to) => more + added(box, to), total + worth(box)), 0);
    for (const button of buttons) {
      const total = sum + Number(button.dataset.total || 0);
      const label = button.dataset.label.replace("{total}", total).replace("{cards}", names.format(ticked.map(nameOf)));
      button.textContent = ticked.length ? label : plain.get(button);
    }
  };
  form.addEventListener("change", show);
  show();
})();
