// What ipywidgets leaves out: names and spoken values of slider handles, and a region that stays
// while its words change. Sliders come and go, so the page is watched; nothing is set that is set already.
// The handles of ipywidgets 7, which Colab has, are jQuery's and have no role either.
(() => {
  if (window.mialibNames) return;
  const HANDLES = ".noUi-handle, .ui-slider-handle";
  // "1e-06" would be read without its sign, and "ℓ" be spelled out; `spoken.aloud` says the same.
  const power = (_, before, sign, digits) =>
    `${before} × 10 to the ${sign === "+" ? "" : "−"}${digits}`;
  const aloud = (element) => element.textContent.trim()
    .replaceAll("ℓ", "L").replace(/(\d)e([+−-])0*(\d+)/g, power);
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
      if (slider.classList.contains("mialib-fixed")) {
        set(readout, "contenteditable", "false");
      } else {
        set(readout, "role", "textbox");
        set(readout, "aria-label", aloud(label));
      }
    }
    // Words are announced when they change in a region, and often not when they come with one.
    for (const region of document.querySelectorAll(".mialib-told .widget-html-content")) {
      set(region, "role", "status");
      region.querySelector("[role]")?.removeAttribute("role");
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
