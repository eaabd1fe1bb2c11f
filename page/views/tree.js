// All operations as a tree: agents below those that called them, and in them calls of models and tools, and waits.
import { Scroll, windowed } from "../list.js";
import { agentName, chip, empty, hue, stateOf, who } from "../parts.js";
import { h } from "../view.js";
import { inTree } from "../agents.js";
import { MOVES } from "../keys.js";
import { knownCost } from "../usage.js";
import { operation } from "./operation.js";
import * as format from "../format.js";

const scroll = new Scroll({ estimate: 34 });

function viewOf(app) {
  app.ui.tree ??= { folded: new Map(), chosen: null, words: "" };
  return app.ui.tree;
}

// Few agents stand open, many closed, until somebody says otherwise.
const isOpen = (app, agent) => viewOf(app).folded.get(agent.op) ?? app.session.state.agents.length <= 12;

function fitting(agent, words) {
  return agent.spans.filter((span) => span.name.toLowerCase().includes(words) || (span.failed && words === "failed"));
}

// Rows as they are shown: an agent, or one of its spans.
function rowsOf(app) {
  const { state } = app.session, words = viewOf(app).words.trim().toLowerCase(), rows = [];
  for (const { agent, depth } of inTree(state)) {
    const spans = words ? fitting(agent, words) : agent.spans;
    if (words && spans.length === 0 && !agentName(agent).toLowerCase().includes(words)) continue;
    rows.push({ agent, depth, span: null });
    if (words || isOpen(app, agent)) for (const span of spans) rows.push({ agent, depth: depth + 1, span });
  }
  return rows;
}

const keyOf = (row) => row.agent.op + (row.span ? "." + row.span.seq + row.span.kind : "");

function pick(app, row) {
  const view = viewOf(app);
  view.chosen = row ? keyOf(row) : null;
  app.redraw();
}

function move(app, by) {
  const rows = rowsOf(app), view = viewOf(app);
  const at = rows.findIndex((row) => keyOf(row) === view.chosen);
  const next = Math.max(0, Math.min(rows.length - 1, at + by));
  if (rows[next]) pick(app, rows[next]);
  scroll.reveal(next);
}

function fold(app, agent, open) {
  viewOf(app).folded.set(agent.op, open);
  app.redraw();
}

function foldChosen(app, open) {
  const row = rowsOf(app).find((one) => keyOf(one) === viewOf(app).chosen);
  if (!row) return;
  if (row.span && !open) pick(app, { agent: row.agent, span: null });
  fold(app, row.agent, open);
}

export function treeKeys(app) {
  return {
    "j": ["next operation", () => move(app, 1), MOVES],
    "k": ["operation before", () => move(app, -1), MOVES],
    "ArrowDown": ["next operation", () => move(app, 1), MOVES],
    "ArrowUp": ["operation before", () => move(app, -1), MOVES],
    "l": ["unfold", () => foldChosen(app, true)],
    "h": ["fold", () => foldChosen(app, false)],
    "x": ["close the details", () => pick(app, null)],
  };
}

function agentRow(app, { agent, depth }) {
  const open = isOpen(app, agent), until = agent.ended ?? app.session.now;
  return [h("button.fold", { type: "button", aria: { expanded: open, label: open ? "fold" : "unfold" }, style: { "margin-left": depth * 18 + "px" }, onclick: (e) => { e.stopPropagation(); fold(app, agent, !open); }, disabled: agent.spans.length === 0 }, agent.spans.length === 0 ? "·" : open ? "▾" : "▸"),
    who(agent.name, agentName(agent)), chip(stateOf(agent)), h("span.op-rest", null, agent.doing || format.line(agent.error ?? agent.message, 120)), agent.retries ? h("span.attention-words", null, `${agent.retries} retries`) : null,
    h("span.number", null, format.count(agent.usage.input + agent.usage.output)), h("span.number.cost", null, format.cost(knownCost(agent.usage))), h("span.number", null, format.span(until - agent.began))];
}

const signs = { model: "◆", tool: "⚙", wait: "◷" };

function spanRest(span) {
  if (span.kind === "model") return `turn ${format.text(span.record.turn)}${span.reply ? `, ${format.words(span.reply.finish)}` : ""}${span.reply?.calls ? `, ${format.text(span.reply.calls)} calls` : ""}`;
  if (span.kind === "tool") return format.line(span.record.arguments ?? span.record.reason, 160);
  return format.line(span.record.reason ?? (span.record.questions), 160);
}

function spanRow(app, { depth, span }) {
  const to = span.to ?? app.session.now, usage = span.reply?.usage ?? {};
  return [h("span.sign", { style: { "margin-left": depth * 18 + 4 + "px" }, class: "kind-" + span.kind + (span.failed ? " bad" : ""), aria: { label: span.kind } }, signs[span.kind]), h("code.op-name", null, span.name), h("span.op-rest", null, spanRest(span)),
    span.retries?.length ? h("span.attention-words", null, `${span.retries.length} retries`) : null, span.failed ? h("span.bad", null, "failed") : span.to === null && span.kind === "tool" ? h("span.of", null, "runs") : null,
    h("span.number", null, usage.input !== undefined ? format.count((usage.input ?? 0) + (usage.output ?? 0)) : ""), h("span.number.cost", null, usage.cost !== undefined ? format.cost(usage.cost) : ""), h("span.number", null, format.span(to - span.from))];
}

function row(app, one) {
  const chosen = viewOf(app).chosen === keyOf(one);
  return h("div.op-row", { class: (chosen ? "chosen " : "") + (one.span ? "of-span " : "of-agent ") + hue(one.agent.name), role: "treeitem", aria: { selected: chosen, level: one.depth + 1 }, onclick: () => pick(app, chosen ? null : one) }, one.span ? spanRow(app, one) : agentRow(app, one));
}

export function tree(app) {
  const rows = rowsOf(app), view = viewOf(app);
  if (app.session.state.agents.length === 0) return empty("No operation yet");
  const chosen = view.chosen && rows.find((one) => keyOf(one) === view.chosen);
  const all = (open) => () => { for (const agent of app.session.state.agents) view.folded.set(agent.op, open); app.redraw(); };
  return h("div.tree", null,
    h("div.tools", null, h("input.search", { id: "search", type: "search", placeholder: "Agents, tools, models", aria: { label: "Agents, tools, models" }, value: view.words, oninput: (e) => { view.words = e.target.value; app.redraw(); } }),
      h("button.choice", { type: "button", onclick: all(true) }, "Unfold all"), h("button.choice", { type: "button", onclick: all(false) }, "Fold all"), h("span.grow", null), h("span.of", null, `${rows.length} rows`)),
    h("div.tree-body", { class: chosen ? "with-detail" : "" },
      windowed("div.ops", scroll, rows.length, (i) => row(app, rows[i]), { key: (i) => keyOf(rows[i]), role: "tree", aria: { label: "Operations" } }),
      chosen ? operation(app, chosen.agent, chosen.span, () => pick(app, null)) : null));
}
