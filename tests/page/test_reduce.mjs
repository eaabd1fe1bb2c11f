// The reducer: a run's state out of its records; whatever they are, and from whichever moment one looks.
import { assert, dice, test } from "./harness.mjs";
import { fold, foldDelta, newState } from "../page/reduce.js";
import { Session } from "../page/session.js";
import { criticalPath } from "../page/critical.js";
import { inTree } from "../page/agents.js";
import { stateOf } from "../page/parts.js";

const began = Date.parse("2026-11-21T09:00:00.000Z");

// Records with numbers and times: each is [milliseconds, type, members].
const numbered = (list) => list.map(([ms, type, more], i) => ({ seq: i + 1, time: new Date(began + ms).toISOString(), type, ...more }));
const all = (records) => records.reduce((state, record) => fold(state, record), newState());
const o1 = { op: "o1", agent: "chief" }, o2 = { op: "o2", agent: "food" };

const trip = numbered([
  [0, "workflow_started", { message: "Lisbon" }],
  [0, "task_pending", { ...o1, task: 1 }],
  [0, "task_running", { ...o1, task: 1 }],
  [10, "model_request", { ...o1, model: "sim/a", turn: 1, messages: 1, simulated: true }],
  [510, "model_reply", { ...o1, model: "sim/a", seconds: 0.5, first_seconds: 0.2, finish: "tool_calls", calls: 1, usage: { input: 100, output: 20, cached: 40, cost: 0.01 } }],
  [510, "tasks_created", { agent: "chief", board: 1, tasks: [{ id: 1, text: "Lunch", assigned_to: "food" }, { id: 2, text: "Dinner", assigned_to: "food", depends_on: [1] }] }],
  [520, "task_pending", { ...o2, task: 2 }],
  [520, "agent_started", { ...o2, caller: "o1", display_name: "Food", message: "Do 1", task_ids: [1], board: 1, trigger: "dispatch" }],
  [530, "task_running", { ...o2, task: 2 }],
  [530, "task_updated", { agent: "food", board: 1, id: 1, status: "running", text: "Lunch", assigned_to: "food" }],
  [540, "model_request", { ...o2, model: "sim/b", turn: 1 }],
  [600, "model_retry", { ...o2, model: "sim/b", attempt: 1, delay: 0.3, error: "529", reason: "overloaded" }],
  [1540, "model_reply", { ...o2, model: "sim/b", seconds: 0.4, first_seconds: 0.1, finish: "tool_calls", calls: 1, usage: { input: 10, output: 2 } }],
  [1600, "approval_requested", { ...o2, id: "a1", tool: "write_file", arguments: "{}" }],
  [3600, "approval_answered", { ...o2, id: "a1", tool: "write_file", decision: "allow" }],
  [3700, "tool_call", { ...o2, tool: "write_file", arguments: "{}", result: "ok" }],
  [3700, "document_updated", { agent: "food", document: 1, version: 1, author: "food", content: "Sardines", change: "append", slot: { day: 1 } }],
  [3800, "task_updated", { agent: "food", board: 1, id: 1, status: "done", completed_by: "food" }],
  [3900, "agent_message", { ...o2, content: "Done." }],
  [3900, "agent_finished", { ...o2 }],
  [3900, "task_completed", { ...o2, task: 2, result: "Done." }],
  [4000, "task_completed", { ...o1, task: 1, result: "# Lisbon" }],
  [4000, "final_answer", { content: "# Lisbon\n\nSardines" }],
  [4000, "workflow_finished", { tasks: [], usage: {} }],
]);

test("a tool is seen from its beginning, a wait is one, and what a person says stands where it was heard", () => {
  const at = (n) => all(talking.slice(0, n)).agents[0];
  const talking = numbered([
    [0, "workflow_started", { message: "Dig" }],
    [0, "task_running", { ...o1, task: 1 }],
    [10, "model_request", { ...o1, model: "sim/a", turn: 1 }],
    [20, "model_reply", { ...o1, model: "sim/a", finish: "tool_calls", calls: 3, usage: {} }],
    [30, "approval_requested", { ...o1, id: "a1", tool: "cut", arguments: "{}" }],
    [40, "tool_started", { ...o1, tool: "dig", arguments: "{}" }],
    [50, "tool_started", { ...o1, tool: "dig", arguments: "{}" }],
    [60, "user_message_received", { ...o1, id: "u1", text: "Deeper" }],
    [70, "user_message_received", { id: "u2", text: "Whoever" }],
    [80, "tool_call", { ...o1, tool: "dig", arguments: "{}", result: "a" }],
    [90, "approval_answered", { ...o1, id: "a1", decision: "deny" }],
    [95, "tool_call", { ...o1, tool: "dig", arguments: "{}", result: "b", error: true }],
    [96, "user_message_delivered", { ...o1, ids: ["u1"] }],
    [97, "user_message_dropped", { id: "u2", reason: "the run ended" }],
    [98, "workflow_finished", {}],
  ]);
  assert.equal(stateOf(at(5)), "asks");
  assert.equal(at(5).doing, "waits for permission to call cut");
  assert.equal(stateOf(at(7)), "working");
  assert.deepEqual(at(7).spans.filter((one) => one.kind === "tool").map((one) => [one.from - began, one.to]), [[40, null], [50, null]]);
  const state = all(talking.slice(0, 12)), [agent] = state.agents;
  assert.deepEqual(agent.spans.filter((one) => one.kind === "tool").map((one) => [one.from - began, one.to - began, one.failed]), [[40, 80, false], [50, 95, true]]);
  assert.equal(agent.doing, "");
  assert.deepEqual([...state.said.keys()], ["u1", "u2"]);
  assert.ok(!agent.items.some((one) => one.type === "user_message_received"), "not heard yet");
  const ended = all(talking), items = ended.agents[0].items.map((one) => one.type);
  assert.equal(ended.said.size, 0);
  assert.deepEqual(items.slice(-2), ["user_message_received", "user_message_dropped"]);
  assert.equal(ended.agents[0].items.at(-1).text, "Whoever");
  for (const hostile of [{ id: 3 }, { ids: "u1" }, { ids: [null, {}] }, { id: "u9" }]) {
    for (const type of ["user_message_received", "user_message_delivered", "user_message_dropped", "tool_started", "tool_call"]) all([...talking, { seq: 99, type, op: "o1", ...hostile }]);
  }
});

test("a run from its first record to its last", () => {
  const state = all(trip), [chief, food] = state.agents;
  assert.equal(state.message, "Lisbon");
  assert.equal(state.answer, "# Lisbon\n\nSardines");
  assert.equal(state.outcome, "done");
  assert.equal(state.simulated, true);
  assert.equal(state.ended - state.began, 4000);
  assert.deepEqual(state.agents.map((agent) => [agent.name, agent.state, agent.ended - began]), [["chief", "finished", 4000], ["food", "finished", 3900]]);
  assert.equal(food.display, "Food");
  assert.equal(food.caller, "o1");
  assert.deepEqual(chief.children, [food]);
  assert.deepEqual(food.spans.map((span) => [span.kind, span.name, span.from - began, span.to - began]), [["model", "sim/b", 540, 1540], ["wait", "write_file", 1600, 3600], ["tool", "write_file", 3600, 3700]]);
  assert.equal(food.spans[0].first - began, 1240, "the last attempt began 0.4 s before its end");
  assert.equal(food.spans[0].retries.length, 1);
  assert.deepEqual([state.usage.calls, state.usage.input, state.usage.cached, state.usage.cost, state.usage.unpriced, state.usage.toolCalls], [2, 110, 40, 0.01, 1, 1]);
  assert.deepEqual([...state.models.keys()], ["sim/a", "sim/b"]);
  const [lunch, dinner] = state.boards[0].tasks;
  assert.deepEqual([lunch.status, lunch.attempts, lunch.by, lunch.began - began, lunch.ended - began], ["done", 1, "food", 530, 3800]);
  assert.deepEqual([dinner.status, dinner.needs], ["pending", [1]]);
  assert.equal(state.documents[0].version, 1);
  assert.equal(state.open.size, 0);
  assert.deepEqual(food.items.map((item) => item.type), ["agent_started", "model_retry", "approval_requested", "approval_answered", "tool_call", "agent_message"], "what it answered stands there once");
  assert.deepEqual(chief.items.map((item) => item.type), ["final_answer"]);
  assert.deepEqual(inTree(state).map((row) => [row.agent.name, row.depth]), [["chief", 0], ["food", 1]]);
});

test("what is open in the middle", () => {
  const state = all(trip.slice(0, 14)), food = state.byOp.get("o2");
  assert.deepEqual([...state.open.keys()], ["a1"]);
  assert.equal(food.doing, "waits for permission to call write_file");
  assert.equal(food.waits.size, 1);
  const withdrawn = fold(state, { seq: 15, time: trip[14].time, type: "question_withdrawn", op: "o2", id: "a1" });
  assert.equal(withdrawn.open.size, 0);
  assert.equal(food.spans[food.spans.length - 1].to - began, 3600);
});

test("a run that fails, and one that goes on after that", () => {
  const failed = all(numbered([[0, "workflow_started", { message: "x" }], [1, "task_running", { ...o1, task: 1 }], [2, "error", { code: "auth", message: "no key" }], [2, "task_failed", { ...o1, task: 1, error: "no key" }], [3, "workflow_finished", {}]]));
  assert.equal(failed.outcome, "failed");
  assert.equal(failed.agents[0].state, "failed");
  assert.equal(failed.error.message, "no key");
  const ends = (state) => all(numbered([[0, "workflow_started", { message: "x" }], [1, "task_running", { ...o1, task: 1 }], [2, "workflow_finished", { state }]]));
  assert.deepEqual(["done", "failed", "cancelled", "parked"].map((state) => [ends(state).outcome, ends(state).agents[0].state]),
    [["done", "finished"], ["failed", "cancelled"], ["cancelled", "cancelled"], ["parked", "parked"]]);
});

test("a plan's tasks need each other, and are tried again", () => {
  const job = { op: "o3", agent: "stock" };
  const state = all(numbered([[0, "workflow_started", { message: "x" }],
    [1, "tasks_created", { board: 1, tasks: [{ id: 1, text: "Look", assigned_to: "stock" }, { id: 2, text: "Add", assigned_to: "sums" }, { id: 3, text: "Look", assigned_to: "sums" }] }],
    [1, "plan_started", { tasks: [{ id: "look", description: "Look", specialist: "stock" }, { id: "sum", description: "Add", specialist: "sums", depends_on: ["look", "nobody", {}] }, { id: "sum2", description: "Look", specialist: "sums", depends_on: ["sum"] }] }],
    [2, "task_running", { ...job, task: 5 }], [2, "task_updated", { board: 1, id: 1, status: "running" }], [2, "agent_started", job], [3, "task_updated", { board: 1, id: 1, status: "failed", error: "no" }], [3, "agent_finished", job], [3, "task_failed", { ...job, task: 5, error: "no" }],
    [4, "task_running", { ...job, task: 5 }], [4, "agent_started", job], [4, "task_updated", { board: 1, id: 1, status: "running" }]]));
  const [look, add, again] = state.boards[0].tasks;
  assert.deepEqual([look.needs, add.needs, again.needs], [[], [1, "nobody"], [2]]);
  assert.deepEqual([look.status, look.attempts, look.error], ["running", 2, undefined]);
  assert.deepEqual([state.agents[0].state, state.agents[0].ended, state.agents[0].error], ["working", null, undefined]);
  const over = fold(state, { seq: 99, time: new Date(began + 9).toISOString(), type: "task_completed", ...job, task: 5, result: "yes" });
  assert.equal(over.agents[0].state, "finished");
});

test("parts, blockers and the path of a task are of its board", () => {
  const state = all(numbered([
    [1, "tasks_created", { board: 1, tasks: [{ id: 1, text: "Look", assigned_to: "stock" }] }],
    [1, "tasks_created", { board: 2, tasks: [{ id: 1, text: "House", assigned_to: "mason" }, { id: 2, text: "House", assigned_to: "mason" }] }],
    [1, "plan_started", { board: 2, task_ids: [1, 2], tasks: [{ id: "a", description: "House", specialist: "mason", depends_on: ["b"] }, { id: "b", description: "House", specialist: "mason" }] }],
    [1, "tasks_created", { board: 2, tasks: [{ id: 3, text: "Roof", assigned_to: "mason", parent: 1, unblocks: 4 }, { id: 4, text: "Slabs", assigned_to: "mason", unblocks: 3, parent: 4 }] }],
    [1, "task_split", { board: 2, task_id: 1, task_ids: [3, 4], tasks: [{ id: "a.x", depends_on: [] }, { id: "a.y", depends_on: ["a.x"] }] }],
    [1, "task_updated", { board: 2, id: 1, status: "running" }],
    [1, "task_updated", { board: 2, id: 1, status: "running", error: "no ladder", reassigned_to: "helper" }],
    [1, "task_updated", { board: 2, id: 1, status: "running", error: "no time", reassigned_to: "chief" }],
    [1, "task_updated", { board: 2, id: 3, status: "running" }],
    [1, "task_blocked", { board: 2, id: "a.x", task_id: 3, what: "no slabs", needs: "slabs" }],
    [1, "task_blocked", { board: 2, id: "a.x", task_id: { x: 1 }, what: "nothing" }],
  ]));
  const [house, twin, roof, slabs] = state.boards[1].tasks;
  assert.deepEqual([house.needs, twin.needs, slabs.needs], [[2], [], [3]]);
  assert.deepEqual([roof.parent, roof.unblocks, slabs.parent, slabs.unblocks], [1, undefined, undefined, 3]);
  assert.deepEqual(house.path, [{ agent: "mason", error: "no ladder" }, { agent: "helper", error: "no time" }, { agent: "chief" }]);
  assert.deepEqual(roof.blocked, { what: "no slabs", needs: "slabs" });
  fold(state, { seq: 99, time: new Date().toISOString(), type: "task_unblocked", board: 2, id: "a.x", task_id: 3 });
  assert.equal(roof.blocked, undefined);
});

test("a script's agents are called by the run", () => {
  const work = (op, from, to) => [[from, "task_running", { op, agent: op, task: op }], [from, "model_request", { op, agent: op, model: "m" }], [to, "model_reply", { op, agent: op, model: "m" }], [to, "task_completed", { op, agent: op, task: op, result: "x" }]];
  const records = numbered([[0, "workflow_started", {}], ...work("a", 0, 100), ...work("b", 0, 60), ...work("c", 100, 200), [200, "workflow_finished", {}]].sort((x, y) => x[0] - y[0]));
  const state = all(records), path = criticalPath(state);
  assert.deepEqual(["a", "b", "c"].map((op) => path.has(state.byOp.get(op).spans[0])), [true, false, true]);
});

test("a conversation is one, over all its turns", () => {
  const turn = (op, n) => [[n, "task_running", { op, agent: "slow", task: n }], [n, "model_request", { op, agent: "slow", model: "sim/a" }], [n, "task_completed", { op, agent: "slow", task: n, result: "I say " + n }], [n, "turn_finished", { turn: n, ok: true, content: "I say " + n }]];
  const records = numbered([[0, "workflow_started", { message: "Hello" }], [0, "conversation_started", { target: "slow", agents: [] }], ...turn("o1", 1), [1, "input_requested", { id: "i1" }], [2, "input_received", { id: "i1", text: "More" }], ...turn("o2", 2), [3, "input_requested", { id: "i2" }]]);
  const state = all(records);
  assert.deepEqual(state.talk.map((record) => record.message ?? record.text ?? record.content), ["Hello", "I say 1", "More", "I say 2"]);
  assert.deepEqual([...state.open.keys()], ["i2"]);
  assert.deepEqual(state.agents.map((agent) => agent.items.map((item) => item.type)), [["task_completed"], ["task_completed"]]);
  assert.equal(all(numbered([[0, "workflow_started", {}], [0, "conversation_started", {}]])).talk.length, 0, "nothing was said yet");
});

test("streamed text stands until it is told", () => {
  const state = all(trip.slice(0, 4));
  foldDelta(state, { seq: 0, op: "o1", kind: "reasoning", text: "hm" });
  foldDelta(state, { seq: 0, op: "o1", kind: "text", text: "I " });
  foldDelta(state, { seq: 0, op: "o1", kind: "text", text: "plan" });
  assert.deepEqual(state.streams.get("o1"), { text: "I plan", reasoning: "hm" });
  fold(state, { seq: 5, time: trip[4].time, type: "agent_reasoning", op: "o1", agent: "chief", content: "hm" });
  assert.deepEqual(state.streams.get("o1"), { text: "I plan", reasoning: "" });
  fold(state, { ...trip[4], seq: 5 });
  assert.equal(state.streams.size, 1, "the reply alone says nothing of its words");
  fold(state, { seq: 6, time: trip[5].time, type: "facilitator_message", op: "o1", content: "I plan" });
  assert.equal(state.streams.size, 0);
});

test("the critical path goes through what was waited for", () => {
  const state = all(trip), path = criticalPath(state), [chief, food] = state.agents;
  assert.deepEqual(food.spans.map((span) => path.has(span)), [true, true, true]);
  assert.ok(path.has(chief.spans[0]));
  const late = all([...trip.slice(0, 9), ...numbered([[530, "agent_started", { op: "o3", agent: "quick", caller: "o1" }], [535, "task_completed", { op: "o3", agent: "quick", task: 3, result: "x" }]]).map((one, i) => ({ ...one, seq: 10 + i })), ...trip.slice(10).map((one) => ({ ...one, seq: one.seq + 2 }))]);
  assert.ok(!criticalPath(late).has(late.byOp.get("o3")), "who was done before others is not on it");
});

// A long run of many agents, made by chance but the same each time.
function many(agents, count) {
  const roll = dice(7), list = [[0, "workflow_started", { message: "much" }]];
  const types = ["model_request", "model_reply", "tool_call", "task_progress", "document_updated", "task_updated", "agent_message", "question_asked", "question_answered"];
  for (let i = 0; i < agents; i++) list.push([i, "agent_started", { op: "o" + i, agent: "a" + i, caller: i > 0 ? "o" + roll(i) : undefined }], [i, "task_running", { op: "o" + i, agent: "a" + i, task: i }]);
  while (list.length < count) {
    const i = roll(agents), type = types[roll(types.length)];
    list.push([agents + list.length, type, { op: "o" + i, agent: "a" + i, id: type.startsWith("task") ? roll(50) : "q" + roll(40), board: 1 + roll(3), model: "m" + roll(3), status: ["pending", "running", "done"][roll(3)], version: list.length, slot: { day: roll(5) },
      seconds: 0.1, usage: { input: roll(100), output: 1, cost: roll(2) ? 0.5 : undefined }, content: "text " + i, tool: "t", text: "answer" }]);
  }
  return numbered(list);
}

function plain(state) {
  return JSON.stringify(state, (key, value) => (value instanceof Map ? [...value] : key === "children" ? value.map((one) => one.op) : key === "byOp" ? [...value.keys()] : key === "call" ? value?.seq : value));
}

test("each moment is the same from before and from behind", () => {
  const records = many(20, 1200);
  const session = new Session("x", { run: async () => ({}), follow() {} });
  session.refresh = () => Promise.resolve();
  for (let i = 0; i < records.length; i += 97) session.take(records.slice(i, i + 97));
  assert.equal(plain(session.live), plain(all(records)), "in pieces");
  for (const at of [1200, 3, 600, 601, 599, 1, 1199, 42]) {
    session.goTo(at);
    assert.equal(session.state.at, at);
    assert.equal(plain(session.state), plain(all(records.slice(0, at))), "record " + at);
  }
  session.goTo(null);
  assert.equal(session.state, session.live);
  clearTimeout(session.asking);
});

test("what is open lasts until now, where somebody looks on", () => {
  const session = new Session("x", { live: true, run: async () => ({}), follow() {} });
  session.refresh = () => Promise.resolve();
  session.take(trip.slice(0, 14)); // in it an agent waits for permission
  const wait = [...session.state.byOp.get("o2").waits.values()][0];
  assert.equal(session.now, session.state.time, "nobody knows yet how it is with it");
  for (const state of ["running", "waiting"]) {
    session.run = { state };
    assert.ok(session.now >= Date.now() - 1000 && session.now > wait.from);
    assert.ok(criticalPath(session.state, session.now, Infinity).has(wait));
  }
  session.run = { state: "parked" };
  assert.equal(session.now, session.state.time);
  session.run = { state: "running" };
  session.goTo(10);
  assert.equal(session.now, session.state.time, "of a moment that has been");
  session.goTo(null);
  session.take(trip.slice(14));
  assert.equal(session.now, session.state.time, "it has ended");
  clearTimeout(session.asking);
});

test("records twice, out of order or with gaps", () => {
  const session = new Session("x", { run: async () => ({}), follow() {} });
  session.refresh = () => Promise.resolve();
  session.take(trip.slice(0, 5));
  session.take(trip.slice(2, 7));
  assert.equal(session.records.length, 7);
  session.take(trip.slice(12));
  assert.equal(session.indexOf(7), 7);
  assert.equal(session.indexOf(10), 7, "what is missing is not there");
  assert.equal(session.indexOf(13), 8);
  session.goTo(10);
  assert.equal(session.state.at, 7);
  session.goTo(9999);
  assert.equal(session.state.at, 24);
  clearTimeout(session.asking);
});

test("an agent that works in a run of its own", () => {
  const awaited = [1000, "run_awaited", { ...o2, id: "r1", child: "01M", pool: "gpu" }];
  const waiting = all(numbered([[0, "agent_started", o2], awaited]));
  assert.equal(waiting.open.size, 0, "nobody has to answer it");
  assert.deepEqual(waiting.agents[0].spans.map((span) => [span.kind, span.name, span.from - began, span.to]), [["wait", "gpu", 1000, null]]);
  const usage = { calls: 3, tool_calls: 2, input: 420, output: 61, cached: 20, cache_write: 0, reasoning: 5, cost: null, cost_known: 0.25, unpriced: 1, seconds: 7.2 };
  const state = all(numbered([[0, "agent_started", o2], awaited, [9000, "run_returned", { ...o2, id: "r1", child: "01M", pool: "gpu", ended: "done", usage }]]));
  assert.equal(state.agents[0].spans[0].to - began, 9000);
  for (const sum of [state.usage, state.agents[0].usage])
    assert.deepEqual([sum.calls, sum.toolCalls, sum.input, sum.output, sum.cached, sum.reasoning, sum.cost, sum.unpriced, sum.ms], [3, 2, 420, 61, 20, 5, 0.25, 1, 7200]);
});

test("an agent that waits for the budget of its project", () => {
  const awaited = [1000, "budget_awaited", { ...o2, id: "b1", project: "travel", limit: "calls", until: "2026-11-24 00:00 UTC", until_ms: 1795478400000 }];
  const waiting = all(numbered([[0, "agent_started", o2], awaited]));
  assert.equal(waiting.open.size, 0, "nobody has to answer it");
  assert.equal(waiting.agents[0].doing, "waits for its project's budget");
  const state = all(numbered([[0, "agent_started", o2], awaited, [9000, "budget_returned", { ...o2, id: "b1", project: "travel" }]]));
  assert.deepEqual(state.agents[0].spans.map((span) => [span.kind, span.name, span.to - began]), [["wait", "travel", 9000]]);
});

test("100,000 records of 1,000 agents", () => {
  const records = many(1000, 100000), state = all(records);
  assert.equal(state.at, 100000);
  assert.equal(state.agents.length, 1000);
  assert.equal(inTree(state).length, 1000);
  assert.ok(criticalPath(state).size > 0);
});

test("whatever stands in a record, nothing breaks", () => {
  const bad = [null, 0, -1, 1e300, "", "__proto__", "constructor", [], [[]], {}, { length: -1 }, true, ["x", null, {}], { toString: null }, NaN];
  const types = [...new Set(trip.map((record) => record.type)), "plan_started", "agent_cut", "tool_denied", "turn_finished", "input_requested", "team_message", "task_skipped", "run_awaited", "run_returned", "caller_awaited", "caller_returned", "budget_awaited", "budget_returned", "checked", "draft_found", "answers_remembered", "plan_finished", "task_split", "task_blocked", "tasks_created", "toString", "__proto__", "hasOwnProperty", "constructor"];
  const names = ["op", "agent", "caller", "board", "id", "tasks", "status", "usage", "slot", "version", "document", "content", "message", "questions", "model", "seconds", "first_seconds", "task", "result", "error", "time", "needs", "task_ids", "display_name", "task_id", "check", "ok", "reason", "answers", "same", "path", "replan", "finish", "what", "expected"];
  const roll = dice(3), state = newState();
  for (let seq = 1; seq <= 20000; seq++) {
    const record = { seq, type: types[roll(types.length)], op: "o" + roll(5) };
    for (let n = roll(6); n > 0; n--) record[names[roll(names.length)]] = bad[roll(bad.length)];
    fold(state, record);
  }
  for (const record of [null, undefined, 7, "x", [], {}, { seq: "1", type: "error" }, { seq: 1 }, { seq: 1.5, type: "error" }]) fold(state, record);
  criticalPath(state);
  inTree(state);
  assert.equal({}.polluted, undefined);
  assert.equal(Object.keys(Object.prototype).length, 0);
});

test("agents that call each other in a circle are shown once", () => {
  const state = all(numbered([[0, "agent_started", { op: "a", agent: "a", caller: "b" }], [1, "agent_started", { op: "b", agent: "b", caller: "a" }], [2, "agent_started", { op: "a", agent: "a", caller: "b" }], [3, "agent_started", { op: "c", agent: "c", caller: "c" }]]));
  assert.equal(inTree(state).length, 3);
  criticalPath(state);
});
