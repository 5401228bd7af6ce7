// Without this the slides scroll; with it, arrows, page keys and the space bar turn them.
const slides = [...document.querySelectorAll("section")];
const forward = ["ArrowRight", "ArrowDown", "PageDown", " "];
const back = ["ArrowLeft", "ArrowUp", "PageUp"];
function nearest() {
  const distances = slides.map((slide) => Math.abs(slide.getBoundingClientRect().top));
  return distances.indexOf(Math.min(...distances));
}
document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  let place = nearest();
  if (forward.includes(event.key)) place += 1;
  else if (back.includes(event.key)) place -= 1;
  else if (event.key === "Home") place = 0;
  else if (event.key === "End") place = slides.length - 1;
  else return;
  event.preventDefault();
  place = Math.max(0, Math.min(slides.length - 1, place));
  slides[place].scrollIntoView({ behavior: "instant" });
  slides[place].focus({ preventScroll: true });
});
