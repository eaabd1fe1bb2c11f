// Long lists: only the rows that are seen are in the document. Rows are of one height, or measured when they are seen.
import { h } from "./view.js";
import { redraw } from "./frame.js";

const SPARE = 6;

/** What a list remembers between two drawings: where it is scrolled to, how large it is, and the heights of its rows. */
export class Scroll {
  constructor({ estimate = 40, measured = false, atEnd = false } = {}) {
    this.estimate = estimate;
    this.measured = measured;
    this.heights = new Map();
    this.top = 0;
    this.height = 800;
    this.atEnd = atEnd;
    this.element = null;
    this.offsets = [0];
  }

  forget() {
    this.heights.clear();
    this.offsets = [0];
  }

  // Where row i begins, for rows of different heights: what is known is added up once.
  offset(i) {
    if (!this.measured) return i * this.estimate;
    const all = this.offsets;
    for (let n = all.length; n <= i; n++) all[n] = all[n - 1] + (this.heights.get(n - 1) ?? this.estimate);
    return all[i];
  }

  rowAt(y, count) {
    if (!this.measured) return Math.max(0, Math.min(count - 1, Math.floor(y / this.estimate)));
    let low = 0, high = Math.max(0, count - 1);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.offset(middle) <= y) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  note(i, height) {
    if (height <= 0 || Math.abs((this.heights.get(i) ?? this.estimate) - height) < 0.5) return false;
    this.heights.set(i, height);
    this.offsets.length = Math.min(this.offsets.length, i + 1);
    return true;
  }

  /** Scrolls so that a row is seen. */
  reveal(i) {
    const element = this.element, from = this.offset(i), to = this.offset(i + 1);
    if (!element) return;
    if (from < element.scrollTop) element.scrollTop = from;
    else if (to > element.scrollTop + element.clientHeight) element.scrollTop = to - element.clientHeight;
  }
}

function attach(scroll) {
  return (element) => {
    scroll.element = element;
    scroll.height = element.clientHeight || scroll.height;
    element.scrollTop = scroll.top;
    element.addEventListener("scroll", () => {
      scroll.top = element.scrollTop;
      scroll.left = element.scrollLeft;
      scroll.wasAtEnd = element.scrollTop + element.clientHeight >= element.scrollHeight - 24;
      redraw();
    }, { passive: true });
    scroll.watch = new ResizeObserver(() => {
      if (element.clientHeight === scroll.height) return;
      scroll.height = element.clientHeight;
      redraw();
    });
    scroll.watch.observe(element);
  };
}

function detach(scroll) {
  return () => {
    scroll.watch?.disconnect();
    scroll.element = null;
  };
}

// The real heights of the rows that are there now. What is above the first row that is seen moves nothing.
function noteHeights(scroll, element, count) {
  const width = element.clientWidth, anchor = scroll.rowAt(scroll.top, count), before = scroll.offset(anchor);
  let changed = false;
  if (scroll.width !== undefined && scroll.width !== width) scroll.forget();
  scroll.width = width;
  for (const row of element.firstElementChild?.firstElementChild?.children ?? []) {
    changed = scroll.note(Number(row.dataset.index), row.offsetHeight) || changed;
  }
  const moved = scroll.offset(anchor) - before;
  if (moved !== 0 && !(scroll.atEnd && scroll.wasAtEnd !== false)) element.scrollTop += moved;
  return changed;
}

// Where rows are not as high as was thought the list is drawn again. Who was at the end stays there.
function measure(scroll, count) {
  return (element) => {
    let changed = scroll.measured && noteHeights(scroll, element, count);
    if (scroll.atEnd && scroll.wasAtEnd !== false) element.scrollTop = element.scrollHeight;
    if (element.scrollTop !== scroll.top) {
      scroll.top = element.scrollTop;
      changed = true;
    }
    if (changed) redraw();
  };
}

/** A list of `count` rows; `row(i)` describes one, `key(i)` names it, `of` what the list is of (of another thing it is another list).
 *  Further props go to the element that scrolls. */
export function windowed(name, scroll, count, row, { key = (i) => i, of, ...props } = {}) {
  const first = Math.max(0, scroll.rowAt(scroll.top, count) - SPARE);
  const last = Math.min(count - 1, scroll.rowAt(scroll.top + scroll.height, count) + SPARE);
  const rows = [];
  for (let i = first; i <= last; i++) {
    rows.push(h("div.row-place", { key: key(i), data: { index: i }, style: scroll.measured ? {} : { height: scroll.estimate + "px" } }, row(i)));
  }
  return h(name, { tabindex: 0, ...props, key: of, made: attach(scroll), gone: detach(scroll), patched: measure(scroll, count) },
    h("div.whole-list", { style: { height: scroll.offset(count) + "px" } },
      h("div.seen-rows", { style: { transform: `translateY(${scroll.offset(first)}px)` } }, rows)));
}
