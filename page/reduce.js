// A run's state out of its records: one function for a run that goes on, one that is over, and any moment of it in between.
//
//     const state = newState();
//     for (const record of records) fold(state, record);      docs/reference/events.md says what records there are
//
// It knows no page and no clock. A record costs what is new in it, so that 100,000 of them take a moment: lists grow at their ends, what is
// looked for stands in maps, and nothing is copied. Records are a stranger's: a member that is of another type is none.
import { addReply, addRun, newUsage } from "./usage.js";

const text = (value) => (typeof value === "string" ? value : undefined);
const list = (value) => (Array.isArray(value) ? value : []);
const object = (value) => (value !== null && typeof value === "object" && !Array.isArray(value) ? value : {});
const whole = (value, otherwise) => (Number.isInteger(value) ? value : otherwise);

export function newState() {
  return {
    at: 0, time: null, began: null, ended: null, message: "", answer: null, error: null, simulated: false, stopped: false, outcome: null,
    agents: [], byOp: new Map(), boards: [], documents: [], jobs: new Map(), open: new Map(), said: new Map(), usage: newUsage(), models: new Map(),
    notes: [], told: [], streams: new Map(), plan: null, talk: null, turns: 0, types: new Map(),
  };
}

// ---- Agents at work ------------------------------------------------------------------------------------------

function newAgent(state, record) {
  const agent = {
    op: record.op, number: state.agents.length, name: text(record.agent) ?? record.op, display: undefined, caller: undefined, trigger: undefined, message: undefined,
    began: state.time, ended: null, last: state.time, state: "waiting", model: undefined, usage: newUsage(), spans: [], items: [], call: null, ready: state.time,
    waits: new Map(), tools: [], children: [], error: undefined, answer: undefined, doing: "", board: undefined, taskIds: [], turns: 0, retries: 0, cut: undefined,
  };
  state.agents.push(agent);
  state.byOp.set(record.op, agent);
  return agent;
}

function agentOf(state, record) {
  const op = text(record.op);
  if (!op) return undefined;
  const agent = state.byOp.get(op) ?? newAgent(state, record);
  agent.last = state.time;
  return agent;
}

function span(agent, kind, from, to, record, more) {
  const made = { kind, from: from ?? to, to, seq: record.seq, record, ...more };
  agent.spans.push(made);
  return made;
}

// It was over, and begins once more: another attempt.
function begin(state, agent) {
  if (agent.state === "waiting") agent.began = state.time;
  agent.ended = null;
  agent.error = undefined;
  agent.state = "working";
  agent.ready = state.time;
}

function startAgent(state, agent, record) {
  if (!agent) return;
  if (agent.ended !== null) begin(state, agent);
  agent.name = text(record.agent) ?? agent.name;
  agent.display = text(record.display_name);
  agent.trigger = text(record.trigger);
  agent.message = text(record.message);
  agent.board = whole(record.board, undefined);
  agent.taskIds = list(record.task_ids).filter(Number.isInteger);
  const caller = state.byOp.get(text(record.caller));
  if (caller && caller !== agent && agent.caller === undefined) {
    agent.caller = caller.op;
    caller.children.push(agent);
  }
  agent.items.push(record);
}

function beginJob(state, agent, record) {
  state.jobs.set(record.task, { state: "running", op: agent?.op });
  if (agent && (agent.state === "waiting" || agent.ended !== null)) begin(state, agent);
}

function closeSpans(state, agent) {
  if (agent.call) agent.call.to = state.time;
  agent.call = null;
  for (const wait of agent.waits.values()) wait.to ??= state.time;
  agent.waits.clear();
  for (const tool of agent.tools) tool.to = state.time;
  agent.tools = [];
  state.streams.delete(agent.op);
}

function endAgent(outcome) {
  return (state, agent, record) => {
    if (record.task !== undefined) state.jobs.set(record.task, { state: outcome === "finished" ? "completed" : outcome, op: agent?.op });
    if (!agent) return;
    agent.ended ??= state.time;
    if (agent.state === "working" || agent.state === "waiting" || outcome !== "finished") agent.state = outcome;
    agent.error = text(record.error) ?? agent.error;
    agent.doing = "";
    closeSpans(state, agent);
    const result = text(record.result);
    if (result === undefined && !agent.error) return;
    agent.answer = result ?? agent.answer;
    const last = agent.items[agent.items.length - 1];
    if (result === undefined || !last || text(last.content) !== result) agent.items.push(record);
  };
}

// ---- Models, tools, waits ------------------------------------------------------------------------------------------

function askModel(state, agent, record) {
  state.simulated ||= record.simulated === true;
  if (!agent) return;
  if (agent.call) agent.call.to = state.time;
  agent.model = text(record.model) ?? agent.model;
  agent.turns = whole(record.turn, agent.turns + 1);
  agent.doing = "asks " + (agent.model ?? "the model");
  agent.call = span(agent, "model", state.time, null, record, { first: null, reply: null, retries: [], name: agent.model ?? "model" });
  state.streams.delete(agent.op);
}

function replyOfModel(state, agent, record) {
  const model = text(record.model) ?? agent?.model ?? "unknown";
  if (!state.models.has(model)) state.models.set(model, newUsage());
  addReply(state.usage, record);
  addReply(state.models.get(model), record);
  if (!agent) return;
  addReply(agent.usage, record);
  const ms = typeof record.seconds === "number" ? record.seconds * 1000 : 0;
  const call = agent.call ?? span(agent, "model", state.time === null ? null : state.time - ms, null, record, { first: null, reply: null, retries: [], name: model });
  call.to = state.time;
  call.reply = record;
  call.name = model;
  // The last attempt began so long ago; what was before are retries.
  if (typeof record.first_seconds === "number" && state.time !== null) call.first = Math.max(call.from, state.time - ms + record.first_seconds * 1000);
  agent.call = null;
  agent.ready = state.time;
  agent.doing = "";
}

function retryModel(state, agent, record) {
  if (!agent) return;
  agent.retries++;
  agent.call?.retries.push(record);
  agent.items.push(record);
  agent.doing = "tries again: " + (text(record.reason) ?? "");
}

// What it does, as far as anything is known: a wait for a person first, then a tool.
function doingNow(agent) {
  const wait = [...agent.waits.values()].at(-1), tool = agent.tools.at(-1);
  return wait ? wait.doing : tool ? "runs " + tool.name : "";
}

function startTool(state, agent, record) {
  if (!agent) return;
  agent.tools.push(span(agent, "tool", state.time, null, record, { name: text(record.tool) ?? "tool" }));
  agent.doing = doingNow(agent);
}

// Calls have no ids: of those that are alike the first ends first. In records of older versions none has begun: calls of one answer are side by
// side, and each began when the answer was there, or when what it waited for was.
function callTool(state, agent, record) {
  state.usage.toolCalls++;
  if (!agent) return void state.notes.push(record);
  agent.usage.toolCalls++;
  const at = agent.tools.findIndex((one) => one.record.tool === record.tool && one.record.arguments === record.arguments);
  const [begun] = at < 0 ? [] : agent.tools.splice(at, 1);
  if (begun) Object.assign(begun, { to: state.time, record, seq: record.seq, failed: record.error === true });
  else span(agent, "tool", agent.ready, state.time, record, { name: text(record.tool) ?? "tool", failed: record.error === true });
  agent.items.push(record);
  agent.doing = doingNow(agent);
}

function ask(kind) {
  return (state, agent, record) => {
    const id = text(record.id);
    if (!id) return;
    state.open.set(id, { id, kind, record, op: agent?.op });
    if (!agent) return void state.notes.push(record);
    agent.items.push(record);
    const doing = kind === "approval" ? "waits for permission" + (text(record.tool) ? " to call " + record.tool : "") : kind === "signal" ? "waits for a message" : kind === "tool" ? "waits for its caller's tool" : "waits for an answer";
    agent.waits.set(id, span(agent, "wait", state.time, null, record, { name: text(record.tool) ?? kind, doing }));
    agent.doing = doing;
  };
}

function answered(state, agent, record) {
  const id = text(record.id);
  const asked = state.open.get(id);
  state.open.delete(id);
  const who = agent ?? state.byOp.get(asked?.op);
  if (!who) return void (state.talk ?? state.notes).push(record);
  const wait = who.waits.get(id);
  if (wait) wait.to = state.time;
  who.waits.delete(id);
  who.items.push(record);
  who.ready = state.time;
  who.doing = doingNow(who);
}

// ---- What a person says to agents at work ----------------------------------------------------------------------------

// It stands in the transcript where it was heard; until then it waits.
function receive(state, agent, record) {
  const id = text(record.id);
  if (id) state.said.set(id, { id, op: agent?.op, record });
}

function deliver(state, agent, record) {
  for (const id of list(record.ids)) {
    const one = state.said.get(id);
    if (one) (agent?.items ?? state.notes).push(one.record);
    if (one && state.talk && agent?.caller === undefined) state.talk.push(one.record);
    state.said.delete(id);
  }
}

function drop(state, agent, record) {
  const one = state.said.get(text(record.id));
  state.said.delete(one?.id);
  (agent?.items ?? state.talk ?? state.agents[0]?.items ?? state.notes).push(one ? { ...record, text: one.record.text } : record);
}

// For another run: nobody has to answer it.
function awaitRun(words) {
  return (state, agent, record) => {
    const id = text(record.id);
    if (!agent || !id) return void state.notes.push(record);
    agent.items.push(record);
    agent.waits.set(id, span(agent, "wait", state.time, null, record, { name: text(record.pool) ?? text(record.project) ?? "caller" }));
    agent.doing = words;
  };
}

function runReturned(state, agent, record) {
  addRun(state.usage, record.usage);
  if (agent) addRun(agent.usage, record.usage);
  answered(state, agent, record);
}

// ---- Boards, documents --------------------------------------------------------------------------------------------

function numbered(all, number, make) {
  const n = whole(number, 1);
  let one = all.find((other) => other.number === n);
  if (!one) all.push(one = { number: n, ...make() });
  return one;
}

function taskOf(state, record, id) {
  const board = numbered(state.boards, record.board, () => ({ tasks: [], byId: new Map() }));
  const key = whole(id, null) ?? text(id);
  if (key === undefined) return undefined;
  let task = board.byId.get(key);
  if (!task) {
    task = { id: key, text: "", agent: undefined, status: "pending", attempts: 0, board: board.number, created: state.time, began: null, ended: null, history: [], needs: [] };
    board.byId.set(key, task);
    board.tasks.push(task);
  }
  return task;
}

// Another task of its board, which was there before it: so there are no circles.
const earlier = (task, id) => (Number.isInteger(id) && id > 0 && id < task.id ? id : undefined);

const MOST_ON_PATH = 100;

// Who had it has failed, and the next one gets it.
function passOn(task, record) {
  const to = text(record.reassigned_to);
  if (to === undefined) return;
  task.path ??= [{ agent: task.agent }];
  task.path[task.path.length - 1].error = text(record.error);
  if (task.path.length < MOST_ON_PATH) task.path.push({ agent: to });
}

// A task waits for what is planned about its blocker, or goes on.
function blockTask(state, agent, record) {
  const task = Number.isInteger(record.task_id) ? taskOf(state, record, record.task_id) : undefined;
  if (task) task.blocked = record.type === "task_blocked" ? { what: text(record.what) ?? "", needs: text(record.needs) ?? "" } : undefined;
  say(state, agent, record);
}

function createTasks(state, agent, record) {
  for (const given of list(record.tasks)) {
    const one = object(given), task = taskOf(state, record, one.id);
    if (!task) continue;
    task.text = text(one.text) ?? text(one.description) ?? task.text;
    task.agent = text(one.assigned_to) ?? text(one.specialist) ?? task.agent;
    task.doing = text(one.active_form);
    task.needs = list(one.depends_on ?? one.dependencies ?? one.needs).filter((need) => Number.isInteger(need) || typeof need === "string");
    task.parent = earlier(task, one.parent);
    task.unblocks = earlier(task, one.unblocks);
    task.history.push({ seq: record.seq, time: state.time, status: "pending" });
  }
  agent?.items.push(record);
}

function updateTask(state, agent, record) {
  const task = taskOf(state, record, record.id);
  if (!task) return;
  const status = /^[a-z_]{1,20}$/.test(text(record.status) ?? "") ? record.status : task.status;
  task.text = text(record.text) ?? task.text;
  task.agent = text(record.assigned_to) ?? task.agent;
  task.error = text(record.error) ?? (status === "failed" ? task.error : undefined);
  task.result = text(record.result) ?? task.result;
  task.by = text(record.completed_by) ?? task.by;
  passOn(task, record);
  if (status !== "running") task.blocked = undefined;
  if (status === task.status) return;
  task.status = status;
  task.history.push({ seq: record.seq, time: state.time, status });
  if (status === "running") {
    task.attempts++;
    task.began ??= state.time;
    task.ended = null;
  } else if (status !== "pending") {
    task.ended = state.time;
  }
}

function updateDocument(state, agent, record) {
  const document = numbered(state.documents, record.document, () => ({ versions: [], version: 0 }));
  document.versions.push(record);
  document.version = Math.max(document.version, whole(record.version, 0));
}

// A plan has names of its own for tasks that stand on a board by then. The record says which they are; in records of older runs their text does.
function planned(state, record, tasks) {
  const byName = new Map(), ids = list(record.task_ids);
  const board = ids.length > 0 ? state.boards.find((one) => one.number === whole(record.board, 1)) : state.boards[state.boards.length - 1];
  tasks.forEach((one, i) => {
    const task = ids.length > 0 ? board?.byId.get(ids[i]) : board?.tasks.findLast((other) => other.text === one.description && other.agent === one.specialist && ![...byName.values()].includes(other));
    if (task) byName.set(one.id, task);
  });
  return byName;
}

// The one thing that its check has as a value, in words.
function checkOf(value) {
  const one = typeof value === "string" ? { command: value } : object(value);
  if (text(one.command) !== undefined) return "`" + one.command + "` ends with exit code " + whole(one.exit_code, 0);
  if (text(one.file) !== undefined) return "there is a file " + one.file;
  if (text(one.function) !== undefined) return one.function + " accepts it";
  return one.schema !== undefined ? "the answer has the form that is asked for" : undefined;
}

function startPlan(state, agent, record) {
  const tasks = list(record.tasks).map(object), byName = planned(state, record, tasks);
  for (const one of tasks) {
    const task = byName.get(one.id);
    if (!task) continue;
    task.needs = list(one.depends_on).map((name) => byName.get(name)?.id ?? name).filter((need) => Number.isInteger(need) || typeof need === "string");
    task.expected = text(one.expected);
    task.check = checkOf(one.check);
  }
  if (record.type === "plan_started" && record.parent === undefined) planOf(state).made = whole(record.replan, 0) + 1;
  say(state, agent, record);
}

// What is known of the run's plan beside its tasks: where it comes from, what it assumes, how it ended.
const planOf = (state) => (state.plan ??= { made: 0 });

function keepPlan(member) {
  return (state, agent, record) => {
    if (record.parent === undefined) planOf(state)[member] = record;
    say(state, agent, record);
  };
}

const MOST_CHECKS = 20;

function checkTask(state, agent, record) {
  const task = Number.isInteger(record.task_id) ? taskOf(state, record, record.task_id) : undefined;
  if (task) {
    task.checks ??= [];
    if (task.checks.length === MOST_CHECKS) task.checks.shift();
    task.checks.push({ ok: record.ok === true, reason: text(record.reason) });
  }
  say(state, agent, record);
}

// ---- The run ------------------------------------------------------------------------------------------------------

// How an agent is left that had not ended, by the state of its run.
const left = { done: "finished", failed: "cancelled", cancelled: "cancelled", parked: "parked" };

// Whose answer is the run's: who alone was called by nobody. It has answered, and the run has failed all the same where that is no whole answer.
function failRoot(state) {
  const roots = state.agents.filter((one) => one.caller === undefined);
  if (roots.length === 1 && roots[0].state === "finished") roots[0].state = "failed";
}

function endRun(state, agent, record) {
  state.ended = state.time;
  state.open.clear();
  state.outcome = left[record.state] ? record.state : state.error ? "failed" : "done"; // older runs do not say
  for (const one of state.agents) {
    closeSpans(state, one);
    if (one.ended === null) one.ended = state.time;
    if (one.state === "working") one.state = left[state.outcome];
  }
  if (state.outcome === "failed") failRoot(state);
  state.notes.push(record);
}

function answerRun(state, agent, record) {
  state.answer = text(record.content) ?? "";
  const root = agent ?? state.agents[0];
  if (!root) return void state.notes.push(record);
  const last = root.items[root.items.length - 1];
  // The answer's beginning stands there already, as what its agent has said.
  if (last && (last.type === "task_completed" || last.content === state.answer) && state.answer.startsWith((text(last.result) ?? text(last.content) ?? "").slice(0, 200))) root.items.pop();
  root.items.push(record);
}

const say = (state, agent, record) => void (agent?.items ?? state.notes).push(record);
// Of the run as a whole, unless an agent is named: the overview shows it.
const tell = (state, agent, record) => {
  if (!agent) state.told.push(record);
  say(state, agent, record);
};
const speak = (state, agent, record) => {
  if (agent) state.streams.delete(agent.op);
  say(state, agent, record);
};
const progress = (state, agent, record) => {
  if (agent) agent.doing = text(record.message) ?? agent.doing;
};

const takes = {
  workflow_started(state, agent, record) {
    state.began ??= state.time;
    state.message = text(record.message) ?? "";
    state.ended = state.outcome = null;
    state.notes.push(record);
  },
  workflow_finished: endRun,
  final_answer: answerRun,
  error(state, agent, record) {
    state.error = { code: text(record.code), message: text(record.message) ?? "", traceback: text(record.traceback) };
    state.notes.push(record);
  },
  run_stopped(state, agent, record) {
    state.stopped = true;
    state.notes.push(record);
  },
  task_pending(state, agent, record) {
    state.jobs.set(record.task, { state: "pending", op: agent?.op });
  },
  task_running: beginJob,
  task_progress: progress,
  tool_progress: progress,
  agent_started: startAgent,
  agent_message: speak,
  facilitator_message: speak,
  agent_reasoning(state, agent, record) {
    const stream = agent && state.streams.get(agent.op);
    if (stream) stream.reasoning = "";
    say(state, agent, record);
  },
  agent_finished: endAgent("finished"),
  task_completed: endAgent("finished"),
  task_failed: endAgent("failed"),
  task_cancelled: endAgent("cancelled"),
  task_skipped: endAgent("skipped"),
  agent_cut(state, agent, record) {
    if (agent) agent.cut = text(record.reason);
    say(state, agent, record);
  },
  model_request: askModel,
  model_reply: replyOfModel,
  model_retry: retryModel,
  tool_started: startTool,
  tool_call: callTool,
  user_message_received: receive,
  user_message_delivered: deliver,
  user_message_dropped: drop,
  tool_denied(state, agent, record) {
    if (agent) span(agent, "tool", agent.ready, state.time, record, { name: text(record.tool) ?? "tool", failed: true });
    say(state, agent, record);
  },
  tasks_created: createTasks,
  task_updated: updateTask,
  document_updated: updateDocument,
  plan_started: startPlan,
  task_split: startPlan,
  task_blocked: blockTask,
  task_unblocked: blockTask,
  checked: checkTask,
  draft_found: keepPlan("draft"),
  answers_remembered: keepPlan("assumed"),
  plan_finished: keepPlan("ended"),
  question_asked: ask("question"),
  approval_requested: ask("approval"),
  input_requested: ask("input"),
  signal_requested: ask("signal"),
  tool_requested: ask("tool"),
  question_answered: answered,
  question_withdrawn: answered,
  approval_answered: answered,
  signal_received: answered,
  run_awaited: awaitRun("works in a run of its own"),
  run_returned: runReturned,
  caller_awaited: awaitRun("waits for its caller"),
  caller_returned: answered,
  budget_awaited: awaitRun("waits for its project's budget"),
  budget_returned: answered,
  input_received: answered,
  phase_started: tell,
  workflow_report: tell,
  bound_raised: tell,
  // What is said in a conversation is of several operations, one for each turn: it has a list of its own.
  conversation_started(state, agent, record) {
    state.talk = state.notes.filter((one) => one.type === "workflow_started" && text(one.message));
    state.notes.push(record);
  },
  turn_finished(state, agent, record) {
    state.turns++;
    state.answer = text(record.content) ?? state.answer;
    (state.talk ?? state.notes).push(record);
  },
};

/** Takes one record. */
export function fold(state, record) {
  const type = text(record?.type);
  if (!type || !Number.isInteger(record.seq)) return state;
  const time = Date.parse(text(record.time) ?? "");
  if (!Number.isNaN(time)) state.time = state.time === null ? time : Math.max(state.time, time);
  state.began ??= state.time;
  state.at = Math.max(state.at, record.seq);
  state.types.set(type, (state.types.get(type) ?? 0) + 1);
  const take = Object.hasOwn(takes, type) ? takes[type] : say;
  take(state, agentOf(state, record), record);
  return state;
}

/** Text as it is streamed, which is no record: it stands until what it becomes is told. */
export function foldDelta(state, delta) {
  const op = text(delta.op) ?? state.agents[0]?.op;
  if (!op || text(delta.text) === undefined) return state;
  let stream = state.streams.get(op);
  if (!stream) state.streams.set(op, stream = { text: "", reasoning: "" });
  if (delta.kind === "reasoning") stream.reasoning += delta.text;
  else stream.text += delta.text;
  const agent = state.byOp.get(op);
  if (agent) {
    agent.doing = delta.kind === "reasoning" ? "thinks" : "writes";
    if (agent.call && agent.call.first === null && state.time !== null) agent.call.first = state.time;
  }
  return state;
}
