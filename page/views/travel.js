// The moment that is shown: a bar over all records, to be dragged, stepped and played. Where most happened it is highest.
import { button } from "../parts.js";
import { h } from "../view.js";
import { MOVES } from "../keys.js";
import { speeds } from "../session.js";
import * as format from "../format.js";

const BARS = 120;
const heights = new WeakMap();

// How much happened along the records. Of a run that goes on it is made anew when it has grown by some part of itself.
function density(session) {
  const kept = heights.get(session), last = session.records.length;
  if (kept && last - kept.count <= last / 50 && (last === kept.count || session.link !== "over")) return kept.bars;
  const bars = new Array(BARS).fill(0);
  for (let i = 0; i < last; i++) bars[Math.floor((i * BARS) / last)] += weights[session.records[i].type] ?? 1;
  const most = Math.max(1, ...bars);
  const shown = bars.map((n) => n / most);
  heights.set(session, { count: last, bars: shown });
  return shown;
}

const weights = Object.assign(Object.create(null), { document_updated: 6, task_updated: 4, agent_started: 5, agent_message: 5, error: 12, final_answer: 12, model_reply: 3, tool_call: 2 });

function spark(session) {
  if (session.records.length < 2) return null;
  const path = density(session).map((n, i) => `M${i * 10 + 1} 40V${(40 - 4 - n * 34).toFixed(1)}h8V40z`).join("");
  return h("svg.spark", { viewBox: `0 0 ${BARS * 10} 40`, preserveAspectRatio: "none", aria: { hidden: "true" } }, h("path", { d: path }));
}

function words(session) {
  const { state } = session;
  if (session.at === null) return session.link === "over" ? "the end" : "now";
  return `${format.clock(state.time)} · ${format.span(state.time - state.began)}`;
}

export function travel(app) {
  const { session } = app, { last } = session;
  const at = session.at ?? last;
  const record = session.at !== null ? session.records[session.indexOf(at) - 1] : session.records[session.records.length - 1];
  return h("footer.travel", { aria: { label: "Time" }, role: "group", class: session.at === null ? "now" : "past" },
    button(session.playing ? "❚❚" : "▶", () => session.play(), { kind: "round", title: session.playing ? "Pause (Space)" : "Play (Space)", disabled: last < 2 }),
    h("button.button.quiet.speed", { type: "button", title: "Speed (< and >)", onclick: () => { session.speed = speeds[(speeds.indexOf(session.speed) + 1) % speeds.length]; app.redraw(); } }, session.speed + "×"),
    h("div.scrub", null, spark(session),
      h("input", { type: "range", min: 1, max: Math.max(1, last), value: at, step: 1, aria: { label: "Record that is shown", valuetext: `record ${at} of ${last}` }, disabled: last < 2,
        oninput: (e) => { session.playing = false; session.goTo(Number(e.target.value)); } })),
    h("span.moment", { title: record?.type }, h("b", null, at), h("span.of", null, " / " + last), h("span.moment-words", null, words(session)), h("span.moment-type", null, format.words(record?.type ?? ""))),
    button(session.link === "over" ? "End" : "Live", () => session.goTo(null), { kind: session.at === null ? "live on" : "live", disabled: session.at === null, title: "Show it as it is now (Home is the beginning, End the end)" }));
}

export function travelKeys(app) {
  const by = (n) => () => app.session.step(n);
  return {
    "Space": ["play, pause", () => app.session.play()],
    ",": ["one record back", by(-1), MOVES],
    ".": ["one record on", by(1), MOVES],
    "ArrowLeft": ["one record back", by(-1), MOVES],
    "ArrowRight": ["one record on", by(1), MOVES],
    "PageUp": ["fifty back", by(-50), MOVES],
    "PageDown": ["fifty on", by(50), MOVES],
    "Home": ["the beginning", () => app.session.goTo(1)],
    "End": ["now", () => app.session.goTo(null)],
    "<": ["slower", () => app.session.nextSpeed(-1)],
    ">": ["faster", () => app.session.nextSpeed(1)],
  };
}
