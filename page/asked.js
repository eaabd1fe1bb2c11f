// What views ask of the server while they are drawn. A drawing that asks, and a failure that draws, would ask again at once: so after a failure
// it waits, each time twice as long, and asks again by itself; an answer is asked for anew when it is old.

const FIRST = 500, LONGEST = 15000, FRESH = 30000; // milliseconds

/** How long to wait after the n-th failure in a row, from 1 on. */
export const pauseAfter = (n) => Math.min(FIRST * 2 ** (n - 1), LONGEST);

export class Asked {
  /** `ask()` gives a promise; `changed()` is called when there is something new to draw. */
  constructor(ask, changed, { now = () => performance.now(), later = (fn, ms) => setTimeout(fn, ms) } = {}) {
    Object.assign(this, { ask, changed, now, later, value: undefined, error: null, due: -Infinity, failures: 0, busy: false });
  }

  /** What is known now. It is asked for where that is nothing, or too old. */
  get() {
    if (!this.busy && this.now() >= this.due) this.begin();
    return this.value;
  }

  async begin() {
    this.busy = true;
    try {
      this.value = await this.ask();
      Object.assign(this, { error: null, failures: 0, due: this.now() + FRESH });
    } catch (error) {
      const wait = pauseAfter(++this.failures);
      Object.assign(this, { error, due: this.now() + wait });
      this.later(this.changed, wait); // whoever still looks at it asks again
    }
    this.busy = false;
    this.changed();
  }
}
