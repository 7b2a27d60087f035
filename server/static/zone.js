// The reader's time zone: what the browser says, while nobody has chosen one.
(() => {
  const field = document.getElementById("time_zone");
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (field && zone && ["", "UTC"].includes(field.value)) field.value = zone;
})();
