// The board: tasks as columns by their state, who has them, what they need, how often they were tried.
import { chip, empty, hue, who } from "../parts.js";
import { h } from "../view.js";
import * as format from "../format.js";

const columns = [["pending", "To do"], ["running", "At work"], ["done", "Done"], ["failed", "Not done"]];
const columnOf = (status) => (["pending", "running", "done"].includes(status) ? status : "failed");
const MOST = 200;

function needs(task, board) {
  if (task.needs.length === 0) return null;
  return h("p.needs", null, "needs ", task.needs.map((id) => {
    const other = board.byId.get(id);
    return h("span.tag", { class: "is-" + (other?.status ?? "pending"), title: other?.text }, String(id));
  }));
}

function attempts(task) {
  const tried = task.history.filter((one) => one.status === "running").length;
  return tried > 1 ? h("span.tag", { title: "times that it was begun" }, tried + "×") : null;
}

const named = (board, id) => h("span.tag", { class: "is-" + (board.byId.get(id)?.status ?? "pending"), title: board.byId.get(id)?.text }, "#" + id);

// Of what it is a part, which task waits for it, and its own parts.
function links(task, board, below) {
  const parts = (below.get(task.id) ?? []).filter((one) => one.parent === task.id);
  if (!task.parent && !task.unblocks && parts.length === 0) return null;
  return h("p.needs", null, task.parent ? ["part of ", named(board, task.parent)] : null, task.unblocks ? ["for ", named(board, task.unblocks)] : null,
    parts.length > 0 ? [`${parts.filter((one) => one.status === "done").length} of ${parts.length} parts `, parts.slice(0, 50).map((one) => named(board, one.id))] : null);
}

// Who had it, one after the other; each but the last has failed.
function path(task) {
  if (!task.path) return task.agent ? who(task.agent) : null;
  return h("span.path", { aria: { label: "tried by" } }, task.path.map((one, i) => [i > 0 ? " → " : null, h("span", { title: one.error }, who(one.agent ?? ""))]));
}

// What its check says: it holds, it holds now that the task was mended, or it fails.
function checked(task) {
  if (!task.check && !task.checks) return null;
  const last = task.checks?.at(-1), failed = task.checks?.filter((one) => !one.ok).length ?? 0;
  const words = !last ? "is not made yet" : !last.ok ? `fails: ${format.line(last.reason ?? "", 300)}` : failed > 0 ? `holds, mended after ${failed} failed` : "holds";
  return h("p.check", { class: !last ? "" : !last.ok ? "bad" : failed > 0 ? "attention-words" : "ok-words", title: task.checks?.map((one) => (one.ok ? "holds" : one.reason ?? "fails")).join("\n") },
    "check ", words, task.check ? h("span.of", null, ` (${format.line(task.check, 200)})`) : null);
}

// The same in the tree, where it failed.
function sign(task) {
  const last = task.checks?.at(-1);
  if (!last || !task.checks.some((one) => !one.ok)) return null;
  return h("b", { class: last.ok ? "attention-words" : "bad" }, last.ok ? " mended" : " check fails");
}

function card(app, board, task, below) {
  const until = task.ended ?? app.session.now;
  return h("article.card.task", { key: `${board.number}.${task.id}`, class: (task.agent ? hue(task.agent) : "") + " is-" + task.status, tabindex: 0 },
    h("header", null, h("span.task-id", null, "#" + task.id), attempts(task), !["pending", "running", "done"].includes(task.status) ? chip(task.status) : null, h("span.grow", null), task.began !== null ? h("span.of", null, format.span(until - task.began)) : null),
    h("p.task-text", null, task.status === "running" && task.doing ? task.doing : task.text),
    task.status === "running" && task.doing ? h("p.about", null, task.text) : null,
    task.expected ? h("p.about", null, "expected: " + format.line(task.expected, 300)) : null,
    needs(task, board),
    checked(task),
    links(task, board, below),
    task.blocked ? h("p.attention-words", null, `is blocked: ${format.line(task.blocked.what, 300)} (it needs: ${format.line(task.blocked.needs, 300)})`) : null,
    task.error ? h("p.bad", null, format.line(task.error, 300)) : null,
    task.result ? h("details", null, h("summary", null, "Result"), h("p", null, task.result.slice(0, 5000))) : null,
    h("footer", null, path(task), task.by && task.by !== task.agent && !task.path ? h("span.of", null, "completed by " + task.by) : null));
}

const signs = { done: "✓", running: "▸", pending: "·", failed: "✗" };

function branch(board, below, task, depth) {
  const inner = depth < 20 ? below.get(task.id) ?? [] : [];
  return h("li", { key: task.id, role: "treeitem", class: "is-" + task.status, aria: { level: depth + 1 } },
    h("span.sign", { title: task.status }, signs[task.status] ?? "–"), ` #${task.id} ${format.line(task.text, 120)} `, path(task), task.blocked ? h("b.attention-words", null, " is blocked") : null, sign(task),
    inner.length > 0 ? h("ul", { role: "group" }, inner.map((one) => branch(board, below, one, depth + 1))) : null);
}

// By task what stands below it in the tree: its parts, and what it needs where it is blocked. Below 0 stands the rest.
function belowOf(board) {
  const below = new Map();
  for (const task of board.tasks.slice(0, MOST)) {
    const above = task.parent ?? task.unblocks ?? 0;
    if (!below.has(above)) below.set(above, []);
    below.get(above).push(task);
  }
  return below;
}

// Where no task has parts the columns say it all.
function asTree(board, below) {
  if (below.size < 2) return null;
  return h("ul.task-tree", { role: "tree", aria: { label: "Tasks and their parts" } }, (below.get(0) ?? []).map((task) => branch(board, below, task, 0)));
}

function one(app, board, several) {
  const below = belowOf(board);
  return h("section.board", { key: board.number, aria: { label: "Board " + board.number } }, several ? h("h2", null, "Board " + board.number) : null,
    asTree(board, below),
    h("div.columns", null, columns.map(([name, words]) => {
      const tasks = board.tasks.filter((task) => columnOf(task.status) === name);
      return h("div.column", { key: name, class: "column-" + name }, h("h3", null, words, h("span.badge", null, tasks.length)),
        h("div.cards", null, tasks.slice(0, MOST).map((task) => card(app, board, task, below)), tasks.length > MOST ? h("p.note", null, `${tasks.length - MOST} more`) : null));
    })));
}

export function board(app) {
  const boards = app.session.state.boards.filter((one) => one.tasks.length > 0);
  if (boards.length === 0) return empty("No board", "A facilitator's tasks, or a planner's, stand here when there are some.");
  return h("div.boards", null, boards.slice(0, 50).map((each) => one(app, each, boards.length > 1)));
}
