
// Every word must be in a section, whole or as the start of a word. A word in a heading counts most.
const form = document.getElementById("search");
const words = document.getElementById("words");
const found = document.getElementById("found");
const results = document.getElementById("results");
const plain = (text) => text.toLowerCase().normalize("NFD").replace(/\p{Mn}/gu, "");
const sought = (text) => plain(text).match(/[\p{L}\p{N}]+/gu) ?? [];
const starting = (word) => new RegExp(`(?<![\\p{L}\\p{N}])${word}`, "gu");
const MOST = 12;

function score(section, patterns) {
  let sum = 0;
  for (const pattern of patterns) {
    const inHead = (plain(section.head).match(pattern) ?? []).length;
    const inText = (plain(section.text).match(pattern) ?? []).length;
    if (inHead + inText === 0) return 0;
    sum += 8 * inHead + Math.log2(1 + inText);
  }
  return sum;
}

function excerpt(section, patterns) {
  const first = Math.max(plain(section.text).search(patterns[0]), 0);
  const start = section.text.lastIndexOf(" ", Math.max(first - 60, 0)) + 1;
  const cut = section.text.slice(start, start + 170);
  return (start ? "… " : "") + cut + (start + 170 < section.text.length ? " …" : "");
}

function item(section, patterns) {
  const entry = document.createElement("li");
  const link = entry.appendChild(document.createElement("a"));
  link.href = section.at;
  link.textContent = section.page === section.head ? section.page : `${section.page}: ${section.head}`;
  const said = entry.appendChild(document.createElement("p"));
  said.textContent = excerpt(section, patterns);
  return entry;
}

function search() {
  const patterns = sought(words.value).map(starting);
  const ranked = SECTIONS.map((section) => [patterns.length ? score(section, patterns) : 0, section])
    .filter(([points]) => points > 0)
    .sort(([a], [b]) => b - a);
  results.replaceChildren(...ranked.slice(0, MOST).map(([, section]) => item(section, patterns)));
  const more = ranked.length > MOST ? `, the best ${MOST} of them` : "";
  const sections = ranked.length === 1 ? "section" : "sections";
  found.textContent = patterns.length ? `${ranked.length || "No"} ${sections}${more}` : "";
}

form.hidden = false;
form.addEventListener("submit", (event) => event.preventDefault());
words.addEventListener("input", search);
if (location.hash === "#search") words.focus();
