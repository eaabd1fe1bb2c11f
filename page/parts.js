// Small things that several views show.
import { h } from "./view.js";
import { address } from "./route.js";
import * as format from "./format.js";

const HUES = 12;
const given = new Map();

/** The colour of an agent: the same for the same name in all views. They are given in order, so that the first twelve differ. */
export function hue(name) {
  if (!given.has(name)) given.set(name, "hue-" + (given.size % HUES));
  return given.get(name);
}

export function agentName(agent) {
  return agent?.display ?? agent?.name ?? "?";
}

/** An agent's name with its colour. */
export function who(name, shown) {
  return h("span.who", { class: hue(name), title: name }, h("span.dot", { aria: { hidden: "true" } }), h("span.who-name", null, shown ?? name));
}

const marks = Object.assign(Object.create(null), {
  queued: "…", running: "●", working: "●", waiting: "◐", parked: "❚❚", done: "✓", finished: "✓", completed: "✓", failed: "✕", cancelled: "⊘", cut_off: "⚡", forked: "⑂", skipped: "↷", pending: "○", stopped: "■", asks: "◐", lost: "✕", draining: "↷",
});

/** An agent's state as a person sees it: one that waits for somebody does nothing. */
export function stateOf(agent) {
  return agent.state === "working" && agent.waits.size > 0 && agent.tools.length <= agent.waits.size ? "asks" : agent.state;
}

/** A state, told by its words and a sign, and not by its colour alone. */
export function chip(state) {
  return h("span.chip", { class: "is-" + (marks[state] ? state : "other") }, h("span.mark", { aria: { hidden: "true" } }, marks[state] ?? "·"), h("span.chip-words", null, format.words(state)));
}

/** Another run: one that an agent's call became, or the one that made the call. */
export function runLink(id) {
  return h("a", { href: address("run", format.text(id)), title: format.text(id) }, format.shortId(id));
}

/** Whether a run waits for no person, but for another run, or for more of a budget: nobody has to answer it. */
export const isForNobody = (open) => open.kind === "run" || open.kind === "caller" || open.kind === "budget";

export function empty(title, text, ...more) {
  return h("div.empty", null, h("p.empty-title", null, title), text ? h("p", null, text) : null, more);
}

export function metric(name, value, title) {
  return h("div.metric", { title }, h("span.metric-name", null, name), h("span.metric-value", null, value));
}

export function button(words, onclick, { kind = "", key, disabled, title, hint, pressed } = {}) {
  return h("button.button", { key, class: kind, type: "button", onclick, disabled: disabled === true, title, aria: { pressed } }, words, hint ? h("kbd", { aria: { hidden: "true" } }, hint) : null);
}

/** A text as it was: code, arguments, results. Long ones are cut until all is asked for. */
export function verbatim(text, { most = 20000 } = {}) {
  const whole = format.text(text);
  const cut = whole.length > most;
  return h("pre.verbatim", { tabindex: 0 }, h("code", null, cut ? whole.slice(0, most) : whole), cut ? h("span.note", null, `\n… ${whole.length - most} letters more`) : null);
}

/** One change of a file, unified. */
export function unified(diff) {
  const kinds = { "+": "ins.line.added", "-": "del.line.removed", "@": "div.line.place" };
  return h("div.diff", { tabindex: 0, role: "group", aria: { label: "difference" } }, format.text(diff).replace(/\n$/, "").split("\n").slice(0, 5000).map((line) => h(kinds[line[0]] ?? "div.line", null, line || " ")));
}

/** Saves a text as a file of the person's. */
export function save(name, text, type = "application/x-ndjson") {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
