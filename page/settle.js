// What has just come, or has moved, cannot be answered: a click or a key was meant for what stood there before.
import { redraw } from "./frame.js";

/** Milliseconds for which it cannot. */
export const SETTLE = 500;
const STILL = 2; // pixels

const watched = new Map(); // by key: the element, where it stands, and since when
const sizes = typeof ResizeObserver === "undefined" ? null : new ResizeObserver(() => lookAgain());

// In what scrolls, so that scrolling moves nothing: whoever scrolls sees what comes.
function placeOf(element) {
  const box = element.getBoundingClientRect();
  let x = box.left, y = box.top;
  for (let around = element.parentElement; around; around = around.parentElement) {
    x += around.scrollLeft;
    y += around.scrollTop;
  }
  return { x, y };
}

/** Looks at all of them: those that stand elsewhere have moved. Each drawing ends with it. Returns whether any has. */
export function lookAgain() {
  let moved = false;
  for (const one of watched.values()) {
    const { x, y } = placeOf(one.element);
    if (Math.abs(one.x - x) <= STILL && Math.abs(one.y - y) <= STILL) continue;
    Object.assign(one, { x, y, since: performance.now() });
    moved = true;
  }
  if (moved) {
    redraw();
    setTimeout(redraw, SETTLE + 1);
  }
  return moved;
}

/** What an element's description has, so that it is looked at. */
export function settling(key) {
  return {
    made: (element) => {
      watched.set(key, { element, x: Infinity, y: Infinity, since: Infinity });
      sizes?.observe(element);
    },
    gone: (element) => {
      if (watched.get(key)?.element === element) watched.delete(key);
      sizes?.unobserve(element);
    },
  };
}

/** Whether it has stood where it is for long enough, as far as was seen. */
export function isSettled(key) {
  const one = watched.get(key);
  return one !== undefined && performance.now() - one.since >= SETTLE;
}

/** The same, looked at now: to be asked before what a click or a key says is done. */
export function canAnswer(key) {
  lookAgain();
  return isSettled(key);
}

if (typeof addEventListener !== "undefined") addEventListener("resize", () => lookAgain());
