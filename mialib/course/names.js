// What ipywidgets leaves out: names and spoken values of slider handles, and a region whose changes
// are announced. Sliders come and go, so the page is watched; nothing is set that is set already.
// The handles of ipywidgets 7, which Colab has, are jQuery's and have no role either.
(() => {
  if (window.mialibNames) return;
  const HANDLES = ".noUi-handle, .ui-slider-handle";
  const aloud = (element) => element.textContent.trim().replaceAll("ℓ", "L");
  const set = (element, name, value) => {
    if (element.getAttribute(name) !== value) element.setAttribute(name, value);
  };
  const giveRole = (handle) => {
    set(handle, "role", "slider");
    set(handle, "aria-valuemin", "0");
    set(handle, "aria-valuemax", "100");
    set(handle, "aria-valuenow", String(Math.round(parseFloat(handle.style.left) || 0)));
  };
  const mend = () => {
    for (const slider of document.querySelectorAll(".mialib-slider")) {
      const handle = slider.querySelector(HANDLES);
      const label = slider.querySelector(".widget-label");
      const readout = slider.querySelector(".widget-readout");
      if (!handle || !label || !readout) continue;
      if (handle.matches(".ui-slider-handle")) giveRole(handle);
      set(handle, "aria-label", aloud(label));
      set(handle, "aria-valuetext", aloud(readout));
      if (slider.classList.contains("mialib-fixed")) set(readout, "contenteditable", "false");
      else set(readout, "aria-label", aloud(label));
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
