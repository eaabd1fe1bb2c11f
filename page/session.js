// One run as it is looked at: its records, its state now, and its state at the moment that is shown.
//
//     records ──fold──> live                    as they come
//        └──────fold──> past (up to `at`)       where somebody has gone back: by the same function
//
// Going on costs what is between; going back begins again at the nearest state before, of which a few are kept.
import { fold, foldDelta, newState } from "./reduce.js";
import { redraw } from "./frame.js";

const SPEEDS = [1, 2, 5, 10, 50, 200];
// A run's row is asked again for what its records have, each time after twice as long, a minute in all: they may be a stranger's, and have
// what no row ever has.
const MOST_LACKING = 8;

export class Session {
  constructor(id, source) {
    this.id = id;
    this.source = source;
    this.run = null;
    this.records = [];
    this.live = newState();
    this.past = null;
    this.at = null;
    this.playing = false;
    this.speed = 5;
    this.link = "opening";
    this.error = null;
    this.missed = 0;
    this.lacking = 0; // how often the run's row was asked for what its records have
    this.arrivals = 0;
    this.loaded = false;
    this.abort = new AbortController();
  }

  /** The state that is shown. */
  get state() {
    return this.at === null ? this.live : this.past;
  }

  get last() {
    return this.live.at;
  }

  /** Whether it goes on while it is looked at: then what is open lasts until now, and not until the last record. */
  get ticks() {
    return this.at === null && this.source.live && this.live.ended === null && ["running", "waiting"].includes(this.run?.state);
  }

  /** The moment that is shown. */
  get now() {
    return this.ticks ? Math.max(this.live.time, Date.now()) : this.state.time;
  }

  open() {
    this.refresh(true);
    this.follow();
  }

  follow() {
    this.link = "opening";
    this.source.follow(this.id, {
      signal: this.abort.signal,
      after: this.live.at,
      records: (list) => this.take(list),
      delta: (delta) => this.takeDelta(delta),
      resync: (told) => { this.missed += told.missed ?? 0; },
      over: () => this.over(),
      link: (state) => this.setLink(state),
    });
  }

  /** Follows it again: it goes on. */
  reopen() {
    if (this.link !== "over" || this.abort.signal.aborted) return;
    this.follow();
    this.refresh();
  }

  close() {
    this.abort.abort();
    this.playing = false;
  }

  fail(error) {
    if (error.name === "AbortError") return;
    this.error = error;
    redraw();
  }

  setLink(state) {
    if (state instanceof Error) return this.fail(state);
    this.link = state;
    redraw();
  }

  setRun(run) {
    this.run = run;
    redraw();
    if (!this.lacks(run)) this.lacking = 0;
    else if (this.link !== "over" && !this.abort.signal.aborted && this.lacking < MOST_LACKING) {
      clearTimeout(this.asking);
      this.asking = setTimeout(() => this.refresh(), 250 * 2 ** this.lacking++);
    }
  }

  // A run that has just been gone on with is not yet where it asks again, and tells no record of it then.
  lacks(run) {
    const there = new Set((run.waiting_for ?? []).map((one) => one.id));
    return [...this.live.open.values()].some((one) => one.kind !== "signal" && !there.has(one.id));
  }

  refresh(first) {
    return this.source.run(this.id).then((run) => this.setRun(run), (error) => first && this.fail(error));
  }

  take(list) {
    for (const record of list) {
      if (!Number.isInteger(record?.seq) || record.seq <= this.live.at) continue;
      this.records.push(record);
      fold(this.live, record);
      if (turning.has(record.type)) this.turned = true;
    }
    this.arrivals++;
    if (this.turned && !this.abort.signal.aborted) {
      this.turned = false;
      clearTimeout(this.asking);
      this.asking = setTimeout(() => this.refresh(), 150);
    }
    redraw();
  }

  takeDelta(delta) {
    foldDelta(this.live, delta);
    redraw();
  }

  over() {
    this.link = "over";
    this.loaded = true;
    this.refresh();
    redraw();
  }

  // ---- Time travel -----------------------------------------------------------------------------------------------

  // How many records there are up to a number; they have gaps where some were lost.
  indexOf(seq) {
    if (this.records[seq - 1]?.seq === seq) return seq;
    let low = 0, high = this.records.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.records[middle].seq <= seq) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Shows it as it stood at a record; null: as it is now. */
  goTo(seq) {
    if (seq === null || this.last === 0) {
      this.at = this.past = null;
      this.playing = false;
      return redraw();
    }
    const at = Math.max(1, Math.min(seq, this.last));
    if (!this.past || this.past.at > at) this.past = newState();
    const end = this.indexOf(at);
    for (let i = this.indexOf(this.past.at); i < end; i++) fold(this.past, this.records[i]);
    this.at = at;
    redraw();
  }

  step(by) {
    this.playing = false;
    this.goTo((this.at ?? this.last) + by);
  }

  /** Plays on from where it is; from the beginning where that is the end. */
  play() {
    this.playing = !this.playing;
    if (!this.playing) return redraw();
    if (this.at === null || this.at >= this.last) this.goTo(1);
    this.played = this.past.time;
    this.tickedAt = performance.now();
    requestAnimationFrame(() => this.tick());
  }

  // What happened in the time that has passed, `speed` times as fast; long pauses are cut to a second.
  tick() {
    if (!this.playing) return;
    const now = performance.now();
    this.played += Math.min(now - this.tickedAt, 1000) * this.speed;
    this.tickedAt = now;
    let i = this.indexOf(this.at);
    const next = this.records[i] && Date.parse(this.records[i].time);
    if (next - this.played > 1000 * this.speed) this.played = next - 1000 * this.speed;
    while (i < this.records.length && !(Date.parse(this.records[i].time) > this.played)) i++;
    if (i > 0 && this.records[i - 1].seq !== this.at) this.goTo(this.records[i - 1].seq);
    if (i >= this.records.length) this.playing = false;
    else requestAnimationFrame(() => this.tick());
    redraw();
  }

  nextSpeed(by) {
    const at = SPEEDS.indexOf(this.speed);
    this.speed = SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, at + by))];
    redraw();
  }
}

export const speeds = SPEEDS;

// After these the run's row says something else.
const turning = new Set(["workflow_finished", "question_asked", "approval_requested", "input_requested", "question_answered", "approval_answered", "input_received",
  "question_withdrawn", "run_stopped", "run_changed", "workflow_started"]);
