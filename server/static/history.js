// The history: arrow keys step from moment to moment, Home and End go to the ends; the slider tells where it stands.
(() => {
  const ways = { ArrowLeft: "prev", ArrowRight: "next", Home: "first", End: "last" };
  const hint = document.getElementById("keys");
  if (hint) hint.hidden = false;
  document.addEventListener("keydown", (event) => {
    const way = ways[event.key];
    if (!way || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.target.closest("input, select, textarea, .scroll")) return;
    const link = document.querySelector(`.moments a[rel=${way}]`);
    if (!link) return;
    event.preventDefault();
    link.click();
  });
  const slider = document.getElementById("moment");
  if (!slider) return;
  const told = slider.form.querySelector("output");
  slider.addEventListener("input", () => { told.value = slider.value; });
  slider.addEventListener("pointerup", () => {
    if (slider.value !== slider.defaultValue) slider.form.requestSubmit();
  });
})();
