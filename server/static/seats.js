// The form for a new game: how many players it has, how many are missing, and a row for one more friend.
(() => {
  const form = document.getElementById("new");
  const [said, fill] = ["count", "fill"].map((id) => document.getElementById(id));
  const rows = [...form.querySelectorAll(".friend")];
  const people = (text) => text.split("@").length - 1;
  const count = () => {
    const { seats } = form.querySelector("[data-seats]:is(:checked, [type=hidden])")?.dataset || {};
    if (!seats) return;
    const [least, most = least] = seats.split("–").map(Number);
    const own = Number(form.plays.checked);
    const there = rows.map((row) => people(row.lastElementChild.value));
    const typed = rows.map((row) => [...row.children].some((field) => field.value));
    rows.forEach((row, n) => { row.hidden = !typed[n] && n >= Math.min(most - own, Math.max(least - own, typed.lastIndexOf(true) + 2)); });
    const all = there.reduce((sum, one) => sum + one, own + people(form.players.value) + Number(form.bots.value) + Number(form.free.value));
    const missing = least - all;
    const words = missing > 1 ? "few" : missing === 1 ? "one" : all > most ? "many" : "words";
    said.textContent = said.dataset[words].replace("{count}", missing > 0 ? missing : Math.min(all, words === "many" ? most : all)).replace("{seats}", seats);
    said.classList.toggle("missing", words === "many");
    fill.hidden = missing < 1;
    fill.value = missing;
  };
  form.querySelector(".friends details").before(...rows);
  fill.addEventListener("click", () => {
    form.bots.value = Number(form.bots.value) + Number(fill.value);
    count();
  });
  form.addEventListener("input", count);
  count();
})();
