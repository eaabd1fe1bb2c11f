// Changes are shown once for each frame of the screen, however many there were.

let draw = () => {};
let due = false;
const after = [];

/** Longest time that one drawing took, in milliseconds, and how many there were: what the page says of itself. */
export const frames = { longest: 0, count: 0 };

function run() {
  due = false;
  const began = performance.now();
  draw();
  for (const fn of after.splice(0)) fn();
  frames.longest = Math.max(frames.longest, performance.now() - began);
  frames.count++;
}

/** Says what draws. */
export function drawWith(fn) {
  draw = fn;
}

/** Has the page drawn with the next frame. A page that nobody sees has no frames: then soon. */
export function redraw() {
  if (due) return;
  due = true;
  if (document.visibilityState === "hidden") setTimeout(run, 250);
  else requestAnimationFrame(run);
}

/** Calls fn when the next drawing is done. */
export function afterDrawing(fn) {
  after.push(fn);
  redraw();
}
