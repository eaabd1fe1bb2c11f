// What one agent was told, has said and done, as it comes: messages, calls with their results, questions, and the text that is being written.
import { Scroll, windowed } from "../list.js";
import { agentName, chip, empty, runLink, stateOf, unified, verbatim, who } from "../parts.js";
import { h } from "../view.js";
import { inTree } from "../agents.js";
import { markdown } from "../markdown.js";
import { openCard } from "./answer.js";
import { MOVES } from "../keys.js";
import { canSay, said, sayField, unheard, waitsToBeHeard } from "./say.js";
import { runName } from "./runs.js";
import * as format from "../format.js";
import { text } from "../format.js";

function viewOf(app) {
  app.ui.transcript ??= { scroll: new Scroll({ estimate: 90, measured: true, atEnd: true }), side: new Scroll({ estimate: 34 }), op: null, of: null, open: new Set() };
  return app.ui.transcript;
}

const TALK = "talk";

// A conversation as if it were an agent's: what was said in it, turn by turn.
function talkOf(state) {
  const speaker = state.agents.findLast((agent) => agent.caller === undefined);
  return { op: TALK, name: "conversation", display: "Conversation", number: -1, caller: undefined, items: state.talk, ended: state.ended, state: speaker?.state ?? "waiting", doing: speaker?.doing ?? "", speaker };
}

function rowsOf(state) {
  return state.talk ? [{ agent: talkOf(state), depth: 0 }, ...inTree(state)] : inTree(state);
}

function chosenAgent(app) {
  const { state } = app.session, view = viewOf(app), op = app.route.query.op ?? view.op;
  const agent = state.byOp.get(op);
  return agent ?? (state.talk ? talkOf(state) : state.agents[0]);
}

function choose(app, by) {
  const rows = rowsOf(app.session.state), now = chosenAgent(app);
  const at = rows.findIndex((row) => row.agent.op === now?.op);
  const next = rows[Math.max(0, Math.min(rows.length - 1, at + by))];
  if (next) look(app, next.agent);
}

function look(app, agent) {
  const view = viewOf(app);
  view.op = agent.op;
  history.replaceState(null, "", `#/run/${encodeURIComponent(app.session.id)}/transcript?op=${encodeURIComponent(agent.op)}`);
  app.route.query = { op: agent.op };
  view.side.reveal(rowsOf(app.session.state).findIndex((row) => row.agent.op === agent.op));
  app.redraw();
}

export function transcriptKeys(app) {
  return {
    "j": ["next agent", () => choose(app, 1), MOVES],
    "k": ["agent before", () => choose(app, -1), MOVES],
    "c": ["its caller", () => { const caller = app.session.state.byOp.get(chosenAgent(app)?.caller); if (caller) look(app, caller); }],
  };
}

// ---- One thing that was said or done -----------------------------------------------------------------------------------

const bubble = (kind, head, ...content) => h("article.said-item", { class: kind }, h("header", null, head), content);
const note = (record, ...content) => h("p.said-note", null, h("span.of", null, format.clock(Date.parse(record.time))), " ", content);

function toolCall(app, agent, record) {
  const view = viewOf(app), open = view.open.has(record.seq);
  const toggle = (event) => {
    if (event.target.open) view.open.add(record.seq); else view.open.delete(record.seq);
  };
  return h("details.said-tool", { open, ontoggle: toggle, class: record.error === true ? "bad" : "" },
    h("summary", null, h("code.tool", null, text(record.tool)), h("span.op-rest", null, format.line(record.arguments, 160)), record.error === true ? h("span.bad", null, "failed") : null),
    h("h4", null, "Arguments"), verbatim(format.pretty(text(record.arguments))), h("h4", null, record.error === true ? "Error" : "Result"), verbatim(format.pretty(text(record.result))));
}

const reasoning = (open, words) => h("details.reasoning", { open }, h("summary", null, "Reasoning"), h("p", null, words));

function change(record) {
  return record.change !== null && typeof record.change === "object" && record.change.diff ? unified(record.change.diff) : null;
}

const remembered = (record) => (Array.isArray(record.answers) ? record.answers : []).slice(0, 20);

// A limit of a workflow's bound, and how much of it.
const bounds = new Map([["turns", "model calls"], ["tool_calls", "tool calls"], ["tokens", "tokens"]]);
const bound = (record, n) => (record.limit === "cost" ? format.cost(n) : `${format.count(n)} ${bounds.get(record.limit) ?? text(record.limit)}`);

const shows = {
  agent_started: (app, agent, record) => bubble("told", ["to ", who(agent.name, agentName(agent)), record.trigger ? h("span.of", null, format.words(record.trigger)) : null], markdown(text(record.message))),
  agent_message: (app, agent, record) => bubble("said", who(agent.name, agentName(agent)), markdown(text(record.content))),
  facilitator_message: (app, agent, record) => bubble("said", who(agent.name, agentName(agent)), markdown(text(record.content))),
  agent_reasoning: (app, agent, record) => bubble("said", who(agent.name, agentName(agent)), reasoning(false, text(record.content))),
  final_answer: (app, agent, record) => bubble("said final", [who(agent.name, agentName(agent)), h("span.tag", null, "answer")], markdown(text(record.content))),
  workflow_started: (app, agent, record) => bubble("told", "you", markdown(text(record.message))),
  turn_finished: (app, agent, record) => bubble("said", app.session.run ? who(runName(app.session.run)) : "answer", record.ok === false ? h("p.bad", null, text(record.error)) : markdown(text(record.content))),
  task_completed: (app, agent, record) => bubble("said final", [who(agent.name, agentName(agent)), h("span.tag", null, "answer")], markdown(text(record.result))),
  task_failed: (app, agent, record) => bubble("said bad", who(agent.name, agentName(agent)), h("p", null, text(record.error))),
  input_received: (app, agent, record) => bubble("told", "you", markdown(text(record.text))),
  user_message_received: (app, agent, record) => said(record),
  user_message_dropped: (app, agent, record) => said(record, "was not heard"),
  question_asked: (app, agent, record) => bubble("asks", [who(agent.name, agentName(agent)), h("span.tag.attention", null, "asks")], (Array.isArray(record.questions) ? record.questions : []).map((one) => markdown(text(one)))),
  question_answered: (app, agent, record) => bubble("told", "the answer", markdown(text(record.text))),
  approval_requested: (app, agent, record) => bubble("asks", [h("span.tag.attention", null, "asks permission"), h("code.tool", null, text(record.tool))], record.reason ? h("p.about", null, text(record.reason)) : null, change(record), verbatim(format.pretty(text(record.arguments)))),
  approval_answered: (app, agent, record) => note(record, h("b", null, text(record.decision)), " ", h("code", null, text(record.tool)), " ", text(record.reason)),
  tool_call: toolCall,
  tool_denied: (app, agent, record) => note(record, h("b.bad", null, "denied"), " ", h("code", null, text(record.tool)), " ", text(record.reason)),
  tool_allowed: (app, agent, record) => note(record, "allowed ", h("code", null, text(record.tool)), " ", text(record.reason)),
  model_retry: (app, agent, record) => note(record, h("b.attention-words", null, "tries again"), ` ${text(record.reason)}: ${text(record.error)}`),
  cache_awaited: (app, agent, record) => note(record, `waited ${text(record.seconds)} s for the provider's cache`),
  model_fallback: (app, agent, record) => note(record, `${text(record.from)} is given up for ${text(record.to)}: ${text(record.message)}`),
  conversation_forked: (app, agent, record) => note(record, "begins with the conversation of ", who(text(record.caller)), ` (${format.count(record.messages)} ${record.messages === 1 ? "message" : "messages"})`),
  bound_raised: (app, agent, record) => note(record, "a person allows ", h("b", null, bound(record, record.by)), ` more than the workflow's bound: ${bound(record, record.to)} in all`),
  tasks_created: (app, agent, record) => bubble("done", "plans", h("ul", null, (Array.isArray(record.tasks) ? record.tasks : []).slice(0, 100).map((one) => h("li", null, text(one?.text ?? one?.description), one?.assigned_to ? [" ", who(text(one.assigned_to))] : null)))),
  routed: (app, agent, record) => note(record, "goes to ", who(text(record.to)), " ", text(record.reason)),
  task_split: (app, agent, record) => bubble("done", `splits ${text(record.id)}`, h("ul", null, (Array.isArray(record.tasks) ? record.tasks : []).slice(0, 100).map((one) => h("li", null, `${text(one?.id)}: ${text(one?.description)}`, one?.specialist ? [" ", who(text(one.specialist))] : null)))),
  task_blocked: (app, agent, record) => note(record, h("b.attention-words", null, "is blocked"), ` in ${text(record.id)}: ${text(record.what)} It needs: ${text(record.needs)}`),
  task_unblocked: (app, agent, record) => note(record, `goes on with ${text(record.id)}`, record.refused ? `: refused, ${text(record.refused)}` : record.error ? `: ${text(record.error)}` : ""),
  checked: (app, agent, record) => note(record, "its check ", h("b", { class: record.ok === true ? "ok-words" : "bad" }, record.ok === true ? "holds" : "fails"), record.task ? ` (${text(record.task)})` : "", record.ok === true ? "" : `: ${text(record.reason)}`),
  draft_found: (app, agent, record) => note(record, record.same === true ? "takes the saved plan " : "has the saved plan ", h("b", null, text(record.name)), record.same === true ? " as a draft" : " beside the request"),
  answers_remembered: (app, agent, record) => bubble("told", "assumed from earlier answers", h("ul", null, remembered(record).map((one) => h("li", null, `${text(one?.question)} `, h("b", null, text(one?.answer)))))),
  reassigned: (app, agent, record) => note(record, who(text(record.from)), h("b.attention-words", null, " has failed"), Array.isArray(record.path) && record.path.length > 1 ? [" after ", record.path.slice(0, -1).slice(0, 20).map((one) => [who(text(one)), " "])] : null, ", ", who(text(record.to)), ` goes on: ${text(record.error)}`),
  finding_reused: (app, agent, record) => note(record, "has what ", who(text(record.by)), " read, without a call: ", h("code", null, `${text(record.tool)} ${text(record.arguments)}`)),
  finding_left_out: (app, agent, record) => note(record, `does not get what was read (${text(record.reason)}): `, h("code", null, `${text(record.tool)} ${text(record.arguments)}`)),
  handoff: (app, agent, record) => note(record, who(text(record.from)), " hands on to ", who(text(record.to)), record.reason ? `: ${text(record.reason)}` : ""),
  run_awaited: (app, agent, record) => note(record, "works in the pool ", h("b", null, text(record.pool)), ", as the run ", runLink(record.child)),
  run_returned: (app, agent, record) => note(record, "its run is ", h("b", { class: record.ended === "done" ? "" : "bad" }, text(record.ended)), ": ", runLink(record.child)),
  caller_awaited: (app, agent, record) => note(record, "asks its caller, the run ", runLink(record.caller)),
  caller_returned: (app, agent, record) => note(record, "has heard from its caller"),
  budget_awaited: (app, agent, record) => note(record, "waits for the budget of the project ", h("b", null, text(record.project)), ` (${text(record.limit)}), used up until ${text(record.until)}`),
  budget_returned: (app, agent, record) => note(record, "goes on within the budget"),
  phase_started: (app, agent, record) => note(record, "phase ", h("b", null, text(record.name)), typeof record.planned === "number" && record.planned > 0 ? `, ${format.count(record.planned)} planned` : ""),
  workflow_report: (app, agent, record) => bubble("said", "the workflow", markdown(text(record.content))),
  team_message: (app, agent, record) => bubble("said", [who(text(record.member)), h("span.of", null, `round ${text(record.round)}`)], markdown(text(record.content))),
  team_vote: (app, agent, record) => note(record, who(text(record.member)), record.ready === true ? " is ready: " : " is not ready: ", text(record.reason)),
  labels_added: (app, agent, record) => note(record, "reads ", (Array.isArray(record.labels) ? record.labels : []).map((one) => h("span.tag", null, text(one))), " by ", h("code", null, text(record.tool))),
  file_made: (app, agent, record) => note(record, "has made ", h("code", null, text(record.path)), ` (${format.count(record.bytes)} bytes)`),
};

const passed = new Set(["run", "seq", "time", "op", "agent", "type", "generation"]);

// What has no form of its own: its type, and what it says.
function other(app, agent, record) {
  const rest = Object.entries(record).filter(([name]) => !passed.has(name)).slice(0, 8).map(([name, value]) => `${name}: ${format.line(text(value), 160)}`).join(" · ");
  return note(record, h("b", { class: record.type === "warning" || record.type === "error" ? "attention-words" : "" }, format.words(record.type)), " ", record.message !== undefined ? text(record.message) : rest);
}

export function item(app, agent, record) {
  const show = Object.hasOwn(shows, record.type) ? shows[record.type] : other;
  return h("div.item", null, show(app, agent, record));
}

function speaking(app, agent, stream) {
  return h("div.item", null, bubble("said speaks", [who(agent.name, agentName(agent)), h("span.of", null, stream.text ? "writes" : "thinks")],
    stream.reasoning ? reasoning(!stream.text, stream.reasoning.slice(-6000)) : null, stream.text ? markdown(stream.text) : null));
}

// ---- All of it ------------------------------------------------------------------------------------------------------------

function side(app, now) {
  const view = viewOf(app), rows = rowsOf(app.session.state);
  return windowed("nav.agents-side", view.side, rows.length, (i) => {
    const { agent, depth } = rows[i];
    return h("button.agent-pick", { type: "button", class: agent.op === now.op ? "chosen" : "", style: { "padding-left": 10 + Math.min(depth, 8) * 12 + "px" }, aria: { current: agent.op === now.op ? "true" : undefined }, onclick: () => look(app, agent) },
      who(agent.name, agentName(agent)), h("span.grow", null), app.session.state.streams.has(agent.op) ? h("span.pulse", { aria: { label: "writes" } }) : null, chip(stateOf(agent)));
  }, { key: (i) => rows[i].agent.op, aria: { label: "Agents" } });
}

// What a conversation waits for is said where it is read.
function yourTurn(app) {
  const { session } = app, open = session.at === null && app.source.live ? session.run?.waiting_for?.find((one) => one.kind === "input") : null;
  return open ? openCard(app, { ...open, run: session.id }) : null;
}

export function transcript(app) {
  const { session } = app, { state } = session, view = viewOf(app), agent = chosenAgent(app);
  if (!agent) return h("div.transcript", null, state.notes.length > 0 ? h("div.items", null, state.notes.slice(-200).map((record) => item(app, { name: "run" }, record))) : empty("Nobody has said anything yet"));
  const of = session.id + agent.op;
  if (view.of !== of) {
    // What is over is read from its beginning, what goes on is followed at its end.
    Object.assign(view, { of, scroll: new Scroll({ estimate: 90, measured: true, atEnd: state.ended === null && agent.ended === null }) });
  }
  const speaker = agent.speaker ?? agent, stream = state.streams.get(speaker.op), first = agent.caller === undefined && agent.number === 0 && agent.items[0]?.type !== "agent_started" ? 1 : 0;
  const waiting = session.at === null ? unheard(state, speaker) : [], told = agent.items.length + first;
  const count = told + waiting.length + (stream ? 1 : 0);
  const row = (i) => {
    if (first && i === 0) return h("div.item", null, bubble("told", ["to ", who(agent.name, agentName(agent))], markdown(state.message)));
    if (i < told) return item(app, agent, agent.items[i - first]);
    return stream && i === told ? speaking(app, speaker, stream) : waitsToBeHeard(waiting[i - told - (stream ? 1 : 0)]);
  };
  return h("div.transcript", null, side(app, agent),
    h("select.agent-select", { value: agent.op, aria: { label: "Agent" }, onchange: (e) => { const one = state.byOp.get(e.target.value); if (one) look(app, one); } }, rowsOf(state).slice(0, 500).map((one) => h("option", { value: one.agent.op }, "\u00a0".repeat(one.depth * 2) + agentName(one.agent)))),
    count === 0 ? empty("It has said nothing yet", agent.doing) : windowed("div.items", view.scroll, count, row, { key: (i) => i, of, aria: { label: "Transcript of " + agentName(agent) } }), yourTurn(app) ?? (canSay(app, speaker) ? sayField(app, speaker) : null));
}

