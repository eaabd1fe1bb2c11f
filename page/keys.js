// Keys: what each does is told by the same table that does it. A key is nobody's while somebody types. One that is held down does
// its work once, unless it is marked as one that moves.

const bound = new Map();

/** Marks keys that may be held down: ["words", fn, MOVES]. */
export const MOVES = "moves";

/** Binds keys for a place ("" is everywhere): {"g r": ["words", fn]}; two letters with a blank between are pressed one after the other. */
export function bind(place, table) {
  bound.set(place, table);
}

export function unbind(place) {
  bound.delete(place);
}

/** All that is bound now: [[place, [[key, words]…]]…]. */
export function told() {
  return [...bound].map(([place, table]) => [place, Object.entries(table).map(([key, [words]]) => [key, words])]);
}

let before = "", at = 0;

function isTyping(target) {
  return target instanceof Element && (target.closest("input:not([type=range]):not([type=checkbox]), textarea, select") !== null || target.isContentEditable);
}

function nameOf(event) {
  if (event.key === " ") return "Space";
  return event.key.length === 1 && event.shiftKey && /[a-z]/i.test(event.key) ? event.key.toUpperCase() : event.key;
}

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const name = nameOf(event);
  if (isTyping(event.target) && name !== "Escape") return;
  // A button's own keys are its own, and press it once.
  if ((name === "Space" || name === "Enter") && event.target instanceof Element && event.target.closest("button, a, summary, input")) return event.repeat && event.preventDefault();
  if (event.target instanceof HTMLInputElement && event.target.type === "range" && name.startsWith("Arrow")) return;
  const both = performance.now() - at < 1200 ? before + " " + name : "";
  for (const table of [...bound.values()].reverse()) {
    const found = (both && table[both]) || table[name];
    if (!found) continue;
    before = "";
    event.preventDefault();
    return event.repeat && found[2] !== MOVES ? undefined : found[1](event);
  }
  before = name;
  at = performance.now();
}

/** Whether Ctrl and Enter were pressed, which send what is typed; held down they do so once. */
export function isSending(event) {
  return event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.repeat;
}

export function listen() {
  document.addEventListener("keydown", press);
}
