// Search over all sections, in the browser alone. `pages` stands in index.js: [path, page, heading, words] of each section.
// All words have to occur; those of a heading count most.
const box = document.querySelector("#search"), list = document.querySelector("#results"), root = document.documentElement.dataset.root;

function score([, page, heading, words], asked) {
  const title = heading.toLowerCase(), all = `${page} ${heading} ${words}`.toLowerCase();
  let sum = 0;
  for (const word of asked) {
    if (!all.includes(word)) return 0;
    sum += title === word ? 50 : title.includes(word) ? 10 : page.toLowerCase().includes(word) ? 5 : 1;
  }
  const whole = asked.join(" ");
  return sum + (title === whole ? 100 : title.includes(whole) ? 20 : 0) + (page === heading ? 5 : 0);
}

function around(words, word) {
  const at = Math.max(0, words.toLowerCase().indexOf(word) - 40);
  return words.slice(at, at + 140);
}

function show() {
  const asked = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  list.hidden = asked.length === 0;
  list.replaceChildren();
  if (list.hidden) return;
  const found = globalThis.pages.map((one) => [score(one, asked), one]).filter(([n]) => n > 0).sort((a, b) => b[0] - a[0]).slice(0, 30);
  for (const [, [path, page, heading, words]] of found) {
    const item = document.createElement("li"), link = document.createElement("a"), text = document.createElement("small");
    link.href = root + path;
    link.textContent = page === heading ? page : `${page} › ${heading}`;
    link.addEventListener("click", () => { list.hidden = true; });
    text.textContent = around(words, asked[0]);
    item.append(link, text);
    list.append(item);
  }
  if (found.length === 0) list.append(Object.assign(document.createElement("li"), { textContent: "Nothing found." }));
}

box.addEventListener("input", show);
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") { box.value = ""; show(); }
  if (event.key === "/" && document.activeElement !== box) { event.preventDefault(); box.focus(); }
});
