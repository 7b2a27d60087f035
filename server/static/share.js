// One button that shares the address of a result, or copies it, in the place of the field with the address.
(() => {
  const [button, field] = ["sharing", "share"].map((id) => document.getElementById(id));
  if (!navigator.share && !navigator.clipboard) return;
  button.hidden = false;
  field.parentNode.hidden = true;
  button.onclick = async () => {
    if (navigator.share) return navigator.share({ url: field.value }).catch(() => {});
    await navigator.clipboard.writeText(field.value);
    button.textContent = button.dataset.copied;
  };
})();
