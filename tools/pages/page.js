// Frozen sliders: a range in place of the radio buttons, which it presses.
for (const explore of document.querySelectorAll(".explore")) {
  const start = explore.querySelector(".start input");
  const controls = [...explore.querySelectorAll("fieldset")].map((box) => makeRange(box, start));
  const follow = () => controls.forEach((control) => control.follow());
  const load = () => explore.querySelectorAll("img").forEach((image) => { image.loading = "eager"; });
  explore.addEventListener("input", follow);
  explore.addEventListener("focusin", load, { once: true });
  if (start) start.closest(".start").hidden = true;
  follow();
}

// What eyes read of an element, and what speech programs say of it.
function seen(element) {
  return textWithout(element, ".heard");
}
function said(element) {
  return textWithout(element, "[aria-hidden]");
}
function textWithout(element, selector) {
  const copy = element.cloneNode(true);
  copy.querySelectorAll(selector).forEach((one) => one.remove());
  return copy.textContent.trim();
}

function makeRange(box, start) {
  const at = Number(box.dataset.start);
  const buttons = [...box.querySelectorAll("input")];
  const texts = buttons.map((button) => seen(button.parentElement));
  const words = buttons.map((button) => said(button.parentElement));
  if (start) {
    buttons.splice(at, 0, start);
    texts.splice(at, 0, box.dataset.text);
    words.splice(at, 0, box.dataset.said);
  }
  const range = document.createElement("input");
  Object.assign(range, { type: "range", min: 0, max: buttons.length - 1, step: 1 });
  const legend = box.querySelector("legend");
  range.setAttribute("aria-label", said(legend));
  const readout = document.createElement("span");
  readout.className = "value";
  range.addEventListener("input", () => { buttons[range.value].checked = true; });
  box.querySelector(".stops").hidden = true;
  legend.append(" ", readout);
  box.append(range);
  const follow = () => {
    const chosen = buttons.findIndex((button) => button.checked);
    range.value = chosen < 0 ? at : chosen;
    range.setAttribute("aria-valuetext", words[range.value]);
    readout.textContent = texts[range.value];
  };
  return { follow };
}

// What does not scroll here needs no stop of the Tab key, and no name.
const NAMED = ["role", "aria-label", "tabindex"];
const named = new Map();
const look = new ResizeObserver((entries) => entries.forEach(({ target }) => {
  const scrolls = target.scrollWidth > target.clientWidth;
  for (const [name, value] of Object.entries(named.get(target))) {
    if (scrolls) target.setAttribute(name, value);
    else target.removeAttribute(name);
  }
}));
for (const area of document.querySelectorAll(".area")) {
  named.set(area, Object.fromEntries(NAMED.map((name) => [name, area.getAttribute(name)])));
  look.observe(area);
}
