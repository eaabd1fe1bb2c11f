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

function card(app, board, task) {
  const until = task.ended ?? app.session.now;
  return h("article.card.task", { key: `${board.number}.${task.id}`, class: (task.agent ? hue(task.agent) : "") + " is-" + task.status, tabindex: 0 },
    h("header", null, h("span.task-id", null, "#" + task.id), attempts(task), !["pending", "running", "done"].includes(task.status) ? chip(task.status) : null, h("span.grow", null), task.began !== null ? h("span.of", null, format.span(until - task.began)) : null),
    h("p.task-text", null, task.status === "running" && task.doing ? task.doing : task.text),
    task.status === "running" && task.doing ? h("p.about", null, task.text) : null,
    needs(task, board),
    task.error ? h("p.bad", null, format.line(task.error, 300)) : null,
    task.result ? h("details", null, h("summary", null, "Result"), h("p", null, task.result.slice(0, 5000))) : null,
    h("footer", null, task.agent ? who(task.agent) : null, task.by && task.by !== task.agent ? h("span.of", null, "completed by " + task.by) : null));
}

function one(app, board, several) {
  return h("section.board", { key: board.number, aria: { label: "Board " + board.number } }, several ? h("h2", null, "Board " + board.number) : null,
    h("div.columns", null, columns.map(([name, words]) => {
      const tasks = board.tasks.filter((task) => columnOf(task.status) === name);
      return h("div.column", { key: name, class: "column-" + name }, h("h3", null, words, h("span.badge", null, tasks.length)),
        h("div.cards", null, tasks.slice(0, MOST).map((task) => card(app, board, task)), tasks.length > MOST ? h("p.note", null, `${tasks.length - MOST} more`) : null));
    })));
}

export function board(app) {
  const boards = app.session.state.boards.filter((one) => one.tasks.length > 0);
  if (boards.length === 0) return empty("No board", "A facilitator's tasks, or a planner's, stand here when there are some.");
  return h("div.boards", null, boards.slice(0, 50).map((each) => one(app, each, boards.length > 1)));
}
