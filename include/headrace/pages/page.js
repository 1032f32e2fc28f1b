// Airflow shows pages in a sandboxed frame that may not move the whole window. A link to one of Airflow's own screens is therefore
// clicked outside of the frame, in the document around it. Without scripts such links work when the page is opened by itself.
addEventListener("click", (event) => {
  const inside = event.target.closest("a[target=_top]");
  if (inside === null || window.top === window) return;
  event.preventDefault();
  const outside = parent.document.createElement("a");
  outside.href = inside.href;
  parent.document.body.append(outside);
  outside.click();
  outside.remove();
});
