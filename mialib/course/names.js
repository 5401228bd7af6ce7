// What ipywidgets leaves out: names and spoken values of slider handles, and a region whose changes
// are announced. Sliders come and go, so the page is watched; nothing is set that is set already.
(() => {
  if (window.mialibNames) return;
  const set = (element, name, value) => {
    if (element && element.getAttribute(name) !== value) element.setAttribute(name, value);
  };
  const mend = () => {
    for (const slider of document.querySelectorAll(".mialib-slider")) {
      const handle = slider.querySelector(".noUi-handle");
      const label = slider.querySelector(".widget-label");
      const readout = slider.querySelector(".widget-readout");
      if (!handle || !label || !readout) continue;
      set(handle, "aria-label", label.textContent);
      set(handle, "aria-valuetext", readout.textContent);
      if (slider.classList.contains("mialib-fixed")) set(readout, "contenteditable", "false");
      else set(readout, "aria-label", label.textContent);
    }
  };
  window.mialibNames = new MutationObserver(mend);
  window.mialibNames.observe(document.body, {
    attributeFilter: ["aria-valuetext"],
    characterData: true,
    childList: true,
    subtree: true,
  });
  mend();
})();
