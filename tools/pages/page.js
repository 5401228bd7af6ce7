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

// Speech programs spell "ℓ" out, as "letter 2113".
function aloud(text) {
  return text.replaceAll("ℓ", "L");
}

function makeRange(box, start) {
  const at = Number(box.dataset.start);
  const buttons = [...box.querySelectorAll("input")];
  const texts = buttons.map((button) => button.parentElement.textContent.trim());
  if (start) {
    buttons.splice(at, 0, start);
    texts.splice(at, 0, box.dataset.text);
  }
  const range = document.createElement("input");
  Object.assign(range, { type: "range", min: 0, max: buttons.length - 1, step: 1 });
  const legend = box.querySelector("legend");
  range.setAttribute("aria-label", aloud(legend.textContent));
  const readout = document.createElement("span");
  readout.className = "value";
  range.addEventListener("input", () => { buttons[range.value].checked = true; });
  box.querySelector(".stops").hidden = true;
  legend.append(" ", readout);
  box.append(range);
  const follow = () => {
    const chosen = buttons.findIndex((button) => button.checked);
    range.value = chosen < 0 ? at : chosen;
    range.setAttribute("aria-valuetext", aloud(texts[range.value]));
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
