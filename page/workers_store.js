// The workers of the store, its pools and what waits for whom: asked for again and again while somebody looks.
import * as api from "./api.js";
import { pauseAfter } from "./asked.js";
import { redraw } from "./frame.js";

const EVERY = 2000;

export class Workers {
  constructor() {
    this.loaded = false;
    this.error = null;
    this.failures = 0;
    this.workers = this.pools = this.blocked = [];
    this.more = false;
  }

  /** Looks now and from now on; `here` says whether somebody still does. */
  start(here) {
    clearTimeout(this.timer);
    this.here = here;
    this.look();
  }

  stop() {
    clearTimeout(this.timer);
    this.here = () => false;
  }

  async look() {
    if (document.visibilityState === "visible") await this.ask();
    if (!this.here()) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.here() && this.look(), this.failures > 0 ? Math.max(EVERY, pauseAfter(this.failures)) : EVERY);
  }

  async ask() {
    try {
      const [told, lies] = await Promise.all([api.get("/api/workers"), api.get("/api/pools")]);
      Object.assign(this, told, { pools: lies.pools, loaded: true, error: null, failures: 0 });
    } catch (error) {
      this.error = error;
      this.failures++;
    }
    redraw();
  }
}
