// A run at a glance: what it waits for, who is at work on what, and what came of it.
import { agentName, chip, empty, stateOf, who } from "../parts.js";
import { address } from "../route.js";
import { h } from "../view.js";
import { markdown } from "../markdown.js";
import { openCard } from "./answer.js";
import { item } from "./transcript.js";
import * as format from "../format.js";

const MOST_CARDS = 60, MOST_TOLD = 100;

function waits(app) {
  const { session } = app;
  if (session.at !== null || !session.run || !app.source.live) return null;
  const open = (session.run.waiting_for ?? []).map((one) => ({ ...one, run: session.id }));
  // Messages that are waited for are no questions to a person: the records alone have them.
  for (const [id, one] of session.state.open) {
    if (one.kind === "signal" && !open.some((other) => other.id === id)) open.push({ id, kind: "signal", name: one.record.name, run: session.id });
  }
  return open.length > 0 ? h("section.waits", null, open.map((one) => openCard(app, one))) : null;
}

function card(app, agent) {
  const { session } = app, stream = session.state.streams.get(agent.op);
  const said = stream?.text || stream?.reasoning || agent.answer || "";
  const until = agent.ended ?? session.now;
  return h("a.card.agent-card", { key: agent.op, class: "is-" + stateOf(agent) + (stream ? " speaks" : ""), href: address("run", session.id, "transcript") + "?op=" + encodeURIComponent(agent.op) },
    h("header", null, who(agent.name, agentName(agent)), chip(stateOf(agent))),
    h("p.said", null, format.line(said.slice(-400), 220) || (agent.error ? format.line(agent.error, 200) : format.line(agent.message, 160))),
    h("footer", null, h("span.doing", null, agent.doing), h("span.grow", null), h("span", null, format.span(until - agent.began)), h("span", null, format.count(agent.usage.input + agent.usage.output)), agent.retries ? h("span.attention-words", null, `${agent.retries}×`) : null));
}

// Who is at work first, then who has failed, then the newest.
function byInterest(agents) {
  const rank = { working: 0, failed: 1, waiting: 2 };
  return agents.length <= MOST_CARDS ? agents : [...agents].sort((a, b) => (rank[a.state] ?? 3) - (rank[b.state] ?? 3) || b.number - a.number);
}

function answer(state) {
  const root = state.agents[0], stream = root && state.streams.get(root.op);
  if (state.error) return h("section.card.failed", null, h("header", null, h("h2", null, "It has failed"), state.error.code ? h("code", null, state.error.code) : null), h("p", null, state.error.message));
  if (state.answer !== null) return h("section.card.answered", null, h("header", null, h("h2", null, "Answer")), markdown(state.answer));
  if (stream?.text) return h("section.card.answered.speaks", null, h("header", null, h("h2", null, "Answer"), who(root.name, agentName(root))), markdown(stream.text));
  return null;
}

function progress(state) {
  const tasks = state.boards.flatMap((board) => board.tasks);
  if (tasks.length === 0) return null;
  const done = tasks.filter((task) => task.status === "done").length, failed = tasks.filter((task) => task.status === "failed").length;
  return h("div.progress", { role: "img", aria: { label: `${done} of ${tasks.length} tasks are done` } },
    h("div.progress-bar", null, h("span.done", { style: { width: (100 * done) / tasks.length + "%" } }), h("span.failed", { style: { width: (100 * failed) / tasks.length + "%" } })),
    h("span.of", null, `${done} of ${tasks.length} tasks`));
}

// Where the plan comes from, what it assumes, and how it ended. The tasks stand on the board.
function plan(app, state) {
  if (!state.plan) return null;
  const { draft, assumed, ended, made } = state.plan, answers = Array.isArray(assumed?.answers) ? assumed.answers : [];
  const tasks = Array.isArray(ended?.tasks) ? ended.tasks : [], done = tasks.filter((one) => one?.status === "completed").length;
  return h("section.card.plan", null, h("header", null, h("h2", null, "Plan"), draft?.same === true && made === 0 ? h("span.tag.attention", null, "draft") : null, ended ? chip(ended.finish === "stop" ? "done" : format.text(ended.finish)) : null,
    h("span.grow", null), made > 0 ? h("a", { href: address("run", app.session.id, "board") }, "the board") : null),
    draft ? h("p", null, draft.same === true ? "Offered as a draft: the saved plan " : "The planner read the saved plan ", h("b", null, format.text(draft.name)), " ", h("code", null, format.text(draft.path))) : null,
    answers.length > 0 ? h("div", null, "Assumed from earlier answers:", h("ul", null, answers.slice(0, 20).map((one) => h("li", null, `${format.text(one?.question)} `, h("b", null, format.text(one?.answer)))))) : null,
    ended ? h("p", null, `${done} of ${tasks.length} tasks are done${made > 1 ? `, planned ${made} times` : ""}`) : null);
}

// Phases of a workflow, what it reports, and what was allowed beyond its bound.
function told(app, state) {
  if (state.told.length === 0) return null;
  const left = state.told.length - MOST_TOLD;
  return h("section.card.told", null, h("header", null, h("h2", null, "Workflow")), left > 0 ? h("p.note", null, `${left} more before these`) : null,
    state.told.slice(-MOST_TOLD).map((record) => item(app, { name: "run" }, record)));
}

export function overview(app) {
  const { state } = app.session;
  const shown = byInterest(state.agents).slice(0, MOST_CARDS);
  return h("div.overview", null,
    h("section.card.request", null, h("h2", null, "Request"), markdown(state.message)),
    waits(app), plan(app, state), told(app, state), progress(state), answer(state),
    shown.length > 0 ? h("section.agent-cards", { aria: { label: "Agents" } }, shown.map((agent) => card(app, agent))) : empty("No agent has begun yet"),
    state.agents.length > MOST_CARDS ? h("p.note", null, `${state.agents.length - MOST_CARDS} more: `, h("a", { href: address("run", app.session.id, "tree") }, "all in the tree")) : null);
}
