// The runs of the server, and what they wait for: listed a page at a time, kept fresh by the server's feed.
import * as api from "./api.js";
import { redraw } from "./frame.js";

const PAGE = 100, ENOUGH = 40, MOST_PAGES = 20;

export class Runs {
  constructor() {
    this.rows = new Map();
    this.order = [];
    this.more = false;
    this.loading = false;
    this.loaded = false;
    this.error = null;
    this.link = "opening";
    this.open = [];
    this.search = "";
    this.state = "";
    this.watchers = new Set();
  }

  async start() {
    this.abort?.abort();
    this.abort = new AbortController();
    await Promise.all([this.list(), this.askInbox()]);
    if (this.error?.status >= 400 && this.error.status < 500) return; // else it comes back, and the feed says when
    api.follow("/api/events", { signal: this.abort.signal, onEvents: (events) => this.hear(events), told: (link) => this.setLink(link) });
  }

  setLink(link) {
    if (link instanceof Error) this.error = link;
    else if (link === "open" && this.link !== "open") this.again(); // what came between the list and the feed is in neither
    this.link = link instanceof Error ? "lost" : link;
    redraw();
  }

  again() {
    this.list();
    this.askInbox();
  }

  async list(before) {
    this.loading = true;
    redraw();
    try {
      const page = await api.get(`/api/runs?limit=${PAGE}${before ? "&before=" + before : ""}`);
      for (const run of page.runs) this.put(run);
      this.more = page.more;
      this.oldest = page.before ?? this.oldest;
      this.error = null;
      this.loaded = true;
    } catch (error) {
      this.error = error;
    }
    this.loading = false;
    redraw();
  }

  /** Lists on while there are fewer than enough that fit what is searched for. */
  async listMore() {
    for (let n = 0; n < MOST_PAGES && this.more && !this.loading && this.oldest; n++) {
      await this.list(this.oldest);
      if (this.error || this.shown().length >= ENOUGH) return;
    }
  }

  put(run) {
    if (typeof run?.id !== "string") return;
    const known = this.rows.get(run.id);
    if (!known) this.sorted = null;
    this.rows.set(run.id, { ...known, ...run });
    this.matching = null;
  }

  forget(id) {
    this.rows.delete(id);
    this.sorted = this.matching = null;
    redraw();
  }

  hear(events) {
    for (const event of events) {
      if (event.type === "resync") this.again();
      if (event.type !== "run") continue;
      const run = JSON.parse(event.data);
      this.put(run);
      for (const watcher of this.watchers) watcher(run);
    }
    clearTimeout(this.asking);
    this.asking = setTimeout(() => this.askInbox(), 100);
    redraw();
  }

  async askInbox() {
    try {
      this.open = (await api.get("/api/inbox")).open;
    } catch (error) {
      if (error.status === 401) this.error = error;
    }
    redraw();
  }

  /** Those that fit, newest first: ids begin with their time. */
  shown() {
    this.sorted ??= [...this.rows.keys()].sort().reverse();
    const wanted = this.search.toLowerCase() + "\n" + this.state;
    if (!this.matching || this.matchingFor !== wanted) {
      this.matching = this.sorted.map((id) => this.rows.get(id)).filter((run) => this.fits(run));
      this.matchingFor = wanted;
    }
    return this.matching;
  }

  fits(run) {
    if (this.state && run.state !== this.state && !(this.state === "open" && ["queued", "running", "waiting", "parked", "cut_off", "forked"].includes(run.state))) return false;
    const told = `${run.agent ?? ""} ${run.target} ${run.input} ${run.id}`.toLowerCase();
    return this.search.toLowerCase().split(/\s+/).every((word) => told.includes(word));
  }

  find(words, state) {
    this.search = words;
    this.state = state;
    redraw();
    if (this.shown().length < ENOUGH) this.listMore();
  }
}
