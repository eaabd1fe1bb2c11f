// A lane for each agent: bars for calls of models (the part before the first token is pale), tools and waits, over one axis of time.
// What is narrower than a pixel is drawn once for its pixel.
import { Scroll, windowed } from "../list.js";
import { agentName, button, empty, hue, who } from "../parts.js";
import { criticalPath } from "../critical.js";
import { h } from "../view.js";
import { inTree } from "../agents.js";
import { MOVES } from "../keys.js";
import { operation } from "./operation.js";
import * as format from "../format.js";

const scroll = new Scroll({ estimate: 30 });
let width = 800;

function viewOf(app) {
  app.ui.timeline ??= { from: 0, to: 1, path: true, chosen: null };
  return app.ui.timeline;
}

// The run's time, and the part of it that is seen.
function axis(app) {
  const { state, now } = app.session, view = viewOf(app);
  const began = state.began ?? 0, all = Math.max(1, (now ?? began) - began);
  return { began, all, from: began + view.from * all, length: (view.to - view.from) * all };
}

function zoom(app, by, at = 0.5) {
  const view = viewOf(app), wide = view.to - view.from;
  const next = Math.max(1e-6, Math.min(1, wide * by)), middle = view.from + wide * at;
  view.from = Math.max(0, Math.min(1 - next, middle - next * at));
  view.to = view.from + next;
  app.redraw();
}

function pan(app, by) {
  const view = viewOf(app), wide = view.to - view.from;
  view.from = Math.max(0, Math.min(1 - wide, view.from + wide * by));
  view.to = view.from + wide;
  app.redraw();
}

export function timelineKeys(app) {
  const view = viewOf(app);
  return {
    "+": ["closer", () => zoom(app, 0.6), MOVES],
    "=": ["closer", () => zoom(app, 0.6), MOVES],
    "-": ["further", () => zoom(app, 1 / 0.6), MOVES],
    "0": ["all of it", () => zoom(app, Infinity)],
    "h": ["earlier", () => pan(app, -0.2), MOVES],
    "l": ["later", () => pan(app, 0.2), MOVES],
    "p": ["the critical path", () => { view.path = !view.path; app.redraw(); }],
    "x": ["close the details", () => { view.chosen = null; app.redraw(); }],
  };
}

// ---- Bars --------------------------------------------------------------------------------------------------------

const percent = (n) => (n * 100).toFixed(3) + "%";

function bar(app, agent, span, time, path) {
  const view = viewOf(app);
  const to = span.to ?? app.session.now, left = (span.from - time.from) / time.length, wide = (to - span.from) / time.length;
  const first = span.first !== null && span.first !== undefined && to > span.from ? (span.first - span.from) / (to - span.from) : null;
  const pick = () => { view.chosen = view.chosen?.span === span ? null : { agent, span }; app.redraw(); };
  return h("div.bar", {
    key: span.kind + span.seq, class: `kind-${span.kind}${span.failed ? " bad" : ""}${path.has(span) ? " critical" : ""}${span.to === null ? " open" : ""}${view.chosen?.span === span ? " chosen" : ""}${span.retries?.length ? " retried" : ""}`,
    style: { left: percent(left), width: percent(wide) }, title: `${span.name} · ${format.span(to - span.from)}${span.first ? ` · first token ${format.span(span.first - span.from)}` : ""}`, onclick: pick,
  }, first !== null ? h("span.before", { style: { width: percent(Math.min(1, Math.max(0, first))) } }) : null);
}

const order = { tool: 0, wait: 1, model: 2 };

// Those that are seen, without those that would stand on one pixel with another of their kind.
function seen(spans, time, now) {
  const shown = [], until = {}, end = time.from + time.length, pixel = time.length / width;
  for (const span of spans) {
    const to = span.to ?? now;
    if (to < time.from || span.from > end) continue;
    if (to - span.from < pixel && span.from < (until[span.kind] ?? -Infinity)) continue;
    until[span.kind] = Math.max(to, span.from + pixel);
    shown.push(span);
  }
  return shown.sort((a, b) => order[a.kind] - order[b.kind]);
}

function lane(app, { agent, depth }, time, path) {
  const { now } = app.session, until = agent.ended ?? now;
  const life = { left: percent((agent.began - time.from) / time.length), width: percent((until - agent.began) / time.length) };
  return h("div.lane", { class: hue(agent.name) + " is-" + agent.state },
    h("div.lane-name", { style: { "--depth": depth } }, who(agent.name, agentName(agent))),
    h("div.track", null, h("div.life", { style: life, class: path.has(agent) ? "critical" : "" }), seen(agent.spans, time, now).map((span) => bar(app, agent, span, time, path))));
}

// ---- The axis ------------------------------------------------------------------------------------------------------

function ticks(time) {
  const wanted = time.length / Math.max(2, width / 110);
  const unit = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 18e5, 36e5, 72e5, 216e5, 864e5].find((one) => one >= wanted) ?? Math.ceil(wanted / 864e5) * 864e5;
  const list = [];
  for (let at = Math.ceil((time.from - time.began) / unit) * unit; at <= time.from - time.began + time.length; at += unit) {
    list.push(h("span.tick", { key: at, style: { left: percent((at + time.began - time.from) / time.length) } }, at === 0 ? "0" : format.span(at).replace(/\.0+ /, " ")));
  }
  return list;
}

// Dragging moves it, the wheel with Ctrl zooms: where the pointer is stays.
function moveBy(app) {
  let last = null;
  return {
    onpointerdown: (e) => { if (e.button === 0 && !e.target.closest(".bar")) { last = e.clientX; e.currentTarget.setPointerCapture(e.pointerId); } },
    onpointermove: (e) => { if (last !== null) { pan(app, (last - e.clientX) / width); last = e.clientX; } },
    onpointerup: () => { last = null; },
    onpointercancel: () => { last = null; },
  };
}

function measure(app) {
  return (element) => {
    const track = element.querySelector(".axis-track");
    if (track && Math.abs(track.clientWidth - width) > 1 && track.clientWidth > 0) {
      width = track.clientWidth;
      app.redraw();
    }
  };
}

function wheel(app) {
  return (element) => element.addEventListener("wheel", (e) => {
    if (!e.ctrlKey && !e.shiftKey) return;
    e.preventDefault();
    const box = element.querySelector(".axis-track").getBoundingClientRect();
    if (e.ctrlKey) zoom(app, e.deltaY > 0 ? 1.25 : 0.8, Math.max(0, Math.min(1, (e.clientX - box.left) / box.width)));
    else pan(app, (e.deltaY || e.deltaX) > 0 ? 0.1 : -0.1);
  }, { passive: false });
}

function legend() {
  return h("span.legend", null, h("span.key-model", null, "model"), h("span.key-before", null, "before the first token"), h("span.key-tool", null, "tool"), h("span.key-wait", null, "waits for a person"));
}

export function timeline(app) {
  const { state } = app.session, view = viewOf(app), time = axis(app), lanes = inTree(state);
  if (lanes.length === 0) return empty("No agent has begun yet");
  const path = view.path ? criticalPath(state, app.session.now) : new Set();
  const chosen = view.chosen;
  return h("div.timeline", { made: wheel(app), patched: measure(app) },
    h("div.tools", null, button("+", () => zoom(app, 0.6), { kind: "quiet round", title: "Closer (+)" }), button("−", () => zoom(app, 1 / 0.6), { kind: "quiet round", title: "Further (-)" }), button("All", () => zoom(app, Infinity), { kind: "quiet", hint: "0" }),
      h("button.choice", { type: "button", aria: { pressed: view.path }, onclick: () => { view.path = !view.path; app.redraw(); } }, "Critical path"), h("span.grow", null), legend()),
    h("div.timeline-body", { class: chosen ? "with-detail" : "" },
      h("div.lanes-and-axis", null, h("div.axis", null, h("div.lane-name", null, h("span.of", null, `${lanes.length} agents`)), h("div.axis-track", null, ticks(time))),
        windowed("div.lanes", scroll, lanes.length, (i) => lane(app, lanes[i], time, path), { key: (i) => lanes[i].agent.op, aria: { label: "Lanes" }, ...moveBy(app) })),
      chosen ? operation(app, chosen.agent, chosen.span, () => { view.chosen = null; app.redraw(); }) : null));
}
