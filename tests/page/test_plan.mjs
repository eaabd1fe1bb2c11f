// What a person sees of a plan that waits for approval, of a plan at work, and of a workflow.
import { assert, test, told } from "./harness.mjs";
import { openCard } from "../page/views/answer.js";
import { board } from "../page/views/board.js";
import { fold, newState } from "../page/reduce.js";
import { item } from "../page/views/transcript.js";
import { overview } from "../page/views/overview.js";

const find = (one, tag) => (typeof one === "string" ? [] : [...(one.tag === tag ? [one] : []), ...one.children.flatMap((child) => find(child, tag))]);

const card = (plan) => openCard({}, { run: "r", id: "q1", kind: "question", questions: [plan, "Go ahead? yes, no, or what to change"] });

const hostile = "1. a (web): Find it\n     2. x (web): and send it\n     with: ```\n2. b (file, after a): Write it\n3. c (file, after a, b): Tidy up\n\nOne at a time, in this order.";

test("a plan is a numbered list with who does each task, and what it needs", () => {
  const [list, ...inside] = find(card(hostile), "ol");
  assert.equal(list.props.start, 1);
  const items = list.children.map((item) => told(item));
  assert.equal(items.length, 3, items.join("\n"));
  assert.match(items[0], /^<li>a \(web\): Find it/);
  assert.equal(items[1], "<li>b (file, after a): Write it</li>");
  assert.equal(items[2], "<li>c (file, after a, b): Tidy up</li>", "the order is said below the list");
  assert.equal(inside.length, 1, "what looks like a task in a task's text stands in that one's item");
  assert.match(told(card(hostile)), /<p>One at a time, in this order\.<\/p>/);
});

test("it can be approved, refused or changed", () => {
  const words = find(card("1. a (web): Find it"), "button").map((one) => told(one).replace(/<kbd>.*<\/kbd>|<[^>]*>/g, ""));
  assert.deepEqual(words, ["Go ahead", "Refuse", "Ask for changes"]);
});

// ---- A plan at work, as its board, its transcript and the overview show it ----------------------------------------------

const began = Date.parse("2026-11-21T09:00:00.000Z");
const house = [
  ["answers_remembered", { answers: [{ question: "Which place?", answer: "Lisbon <b>" }] }],
  ["draft_found", { name: "house", path: "plans/house.md", same: true }],
  ["tasks_created", { agent: "coordinator", board: 1, tasks: [{ id: 1, text: "Measure", assigned_to: "surveyor" }, { id: 2, text: "Build", assigned_to: "mason" }] }],
  ["plan_started", { board: 1, task_ids: [1, 2], replan: 0, tasks: [{ id: "plot", specialist: "surveyor", check: "make test", expected: "a slope" }, { id: "walls", specialist: "mason", check: { file: "w.txt" } }] }],
  ["task_updated", { board: 1, id: 1, status: "running" }],
  ["checked", { op: "o1", agent: "surveyor", board: 1, task: "plot", task_id: 1, check: "command", ok: false, reason: "exit code 2", round: 1 }],
  ["checked", { op: "o1", agent: "surveyor", board: 1, task: "plot", task_id: 1, check: "command", ok: true, round: 2 }],
  ["checked", { op: "o2", agent: "mason", board: 1, task: "walls", task_id: 2, check: "file", ok: false, reason: "there is no file w.txt", round: 1 }],
  ["plan_finished", { finish: "partial", replans: 0, tasks: [{ id: "plot", status: "completed" }, { id: "walls", status: "failed" }] }],
].map(([type, more], i) => ({ seq: i + 1, time: new Date(began + i).toISOString(), type, ...more }));

const shown = (view, records) => {
  const state = records.reduce((made, record) => fold(made, record), newState());
  return told(view({ session: { id: "r", state, at: null, now: began, run: null }, source: {}, route: { query: {} }, ui: {} })).replace(/<\/?(section|article|header|footer|div)>/g, "");
};

test("a step's check: what it is, that it failed, and that it was mended", () => {
  const before = shown(board, house.slice(0, 5)), after = shown(board, house);
  assert.match(before, /check is not made yet<span> \(`make test` ends with exit code 0\)/);
  assert.match(before, /expected: a slope/);
  assert.match(after, /check holds, mended after 1 failed/);
  assert.match(after, /check fails: there is no file w\.txt<span> \(there is a file w\.txt\)/);
});

test("a plan's draft, its assumptions and its end", () => {
  const text = shown(overview, house);
  assert.match(text, /Offered as a draft: the saved plan <b>house<\/b>/);
  assert.match(text, /Which place\? <b>Lisbon &lt;b&gt;<\/b>/);
  assert.match(text, /1 of 2 tasks are done/);
  assert.match(shown(overview, [{ ...house[1], same: false }]), /The planner read the saved plan/);
  assert.ok(!shown(overview, [{ ...house[8], parent: 3 }]).includes("<h2>Plan"), "the parts of a facilitator's task are no plan of the run");
});

// ---- A workflow, as the overview and the transcript of an agent show it --------------------------------------------------

const audit = [
  ["agent_started", { op: "o1", agent: "lead", message: "Audit it" }],
  ["phase_started", { name: "read", planned: 3 }],
  ["agent_started", { op: "o2", agent: "helper", caller: "o1", message: "Look" }],
  ["conversation_forked", { op: "o2", agent: "helper", caller: "lead", from: "o1", messages: 9 }],
  ["bound_raised", { limit: "turns", by: 20, to: 40 }],
  ["bound_raised", { limit: "cost", by: 0.5, to: 1 }],
  ["workflow_report", { content: "Half of it <b>" }],
].map(([type, more], i) => ({ seq: i + 1, time: new Date(began + i).toISOString(), type, ...more }));

test("a workflow's phases, reports and what a person allowed beyond its bound", () => {
  const text = shown(overview, audit);
  assert.match(text, /phase <b>read<\/b>, 3 planned/);
  assert.match(text, /a person allows <b>20 model calls<\/b> more than the workflow's bound: 40 model calls in all/);
  assert.match(text, /a person allows <b>\$0\.500<\/b> more than the workflow's bound: \$1\.00 in all/);
  assert.match(text, /Half of it &lt;b&gt;/);
  assert.ok(!shown(overview, house).includes("<h2>Workflow"), "other runs have no such card");
});

test("an agent that begins with its caller's conversation says so", () => {
  const words = (record) => told(item({}, { name: "helper" }, record)).replace(/<[^>]*>/g, "");
  assert.match(words(audit[3]), /begins with the conversation of lead \(9 messages\)$/);
  assert.match(words({ ...audit[3], messages: 1 }), /\(1 message\)$/);
});

test("whatever a record of a workflow has, it is shown as text or left out", () => {
  for (const value of [null, 0, "", "__proto__", "toString", [], [[]], {}, { toString: null }, true]) {
    for (const name of ["limit", "by", "to", "messages", "caller", "name", "planned", "content"]) {
      for (const record of audit) told(item({}, { name: "x" }, { ...record, [name]: value }));
    }
  }
});

test("a draft can be replaced by a new plan in one click", () => {
  const words = (text) => find(card(text), "button").map((one) => told(one).replace(/<kbd>.*<\/kbd>|<[^>]*>/g, ""));
  assert.deepEqual(words("A draft: the saved plan 'house' (for: x). Answer 'new' for a new plan.\n\n1. a (web): Find it"), ["Go ahead", "Refuse", "New plan", "Ask for changes"]);
  assert.deepEqual(words("1. A draft: (web): Find it"), ["Go ahead", "Refuse", "Ask for changes"]);
});

test("whatever a record of a plan has, it is shown as text or left out", () => {
  const bad = [null, 0, "", "x", [], [[]], [null], {}, { tasks: 1 }, true];
  for (const value of bad) {
    for (const name of ["answers", "tasks", "same", "name", "path", "finish", "task_id", "ok", "reason", "board", "task_ids", "replan"]) {
      for (const view of [board, overview]) shown(view, house.map((record) => ({ ...record, [name]: value })));
    }
  }
});
