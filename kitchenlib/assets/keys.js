// JupyterLab takes keys from a menu that has the focus: "b" adds a cell, the arrows leave it. It
// leaves alone what carries this attribute, which no ipywidget can be given from Python.
const ATTRIBUTE = "data-lm-suppress-shortcuts";

function render({ el }) {
  let observer;
  const keep = () => {
    const box = el.closest(".kitchen-explorer");
    if (!box) {
      return requestAnimationFrame(keep); // not on the page yet
    }
    const mark = () => box.querySelectorAll("select").forEach((menu) => menu.setAttribute(ATTRIBUTE, "true"));
    mark();
    observer = new MutationObserver(mark);
    observer.observe(box, { childList: true, subtree: true });
  };
  keep();
  return () => observer?.disconnect();
}

export default { render };
