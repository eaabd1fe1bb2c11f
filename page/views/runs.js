// All runs: state, who, what was asked, age, cost. Search and states narrow the list; arrows walk in it.
import { Scroll, windowed } from "../list.js";
import { address, go } from "../route.js";
import { button, chip, empty, isForNobody, who } from "../parts.js";
import { h } from "../view.js";
import { MOVES } from "../keys.js";
import * as format from "../format.js";

const scroll = new Scroll({ estimate: 60 });
const filters = [["", "all"], ["open", "open"], ["waiting", "waiting"], ["done", "done"], ["failed", "failed"]];
let chosen = 0;

export const runName = (run) => run.agent || format.text(run.target).split("/").pop() || "run";

function move(app, by) {
  const all = app.runs.shown();
  chosen = Math.max(0, Math.min(all.length - 1, chosen + by));
  scroll.reveal(chosen);
  if (chosen > all.length - 20) app.runs.listMore();
  app.redraw();
}

export function runsKeys(app) {
  return {
    "j": ["next run", () => move(app, 1), MOVES],
    "k": ["run before", () => move(app, -1), MOVES],
    "ArrowDown": ["next run", () => move(app, 1), MOVES],
    "ArrowUp": ["run before", () => move(app, -1), MOVES],
    "Enter": ["look at it", () => app.runs.shown()[chosen] && go("run", app.runs.shown()[chosen].id)],
    "n": ["begin a run", () => go("new")],
    "/": ["search", () => document.getElementById("search")?.focus()],
  };
}

function tools(app) {
  const { runs } = app;
  return h("div.tools", null,
    h("input.search", { id: "search", type: "search", placeholder: "Search runs", aria: { label: "Search runs" }, value: runs.search, autocomplete: "off", oninput: (e) => { chosen = 0; runs.find(e.target.value, runs.state); } }),
    h("div.choices", { role: "group", aria: { label: "State" } }, filters.map(([state, words]) => h("button.choice", { type: "button", aria: { pressed: runs.state === state }, onclick: () => { chosen = 0; runs.find(runs.search, state); } }, words))),
    h("span.grow", null),
    button("New run", () => go("new"), { kind: "primary", hint: "n" }));
}

function row(app, run, i) {
  const waiting = run.waiting_for?.filter((one) => one.kind !== "input" && !isForNobody(one)).length ?? 0;
  const budget = run.waiting_for?.find((one) => one.kind === "budget");
  return h("a.run-row", { href: address("run", run.id), class: i === chosen ? "chosen" : "", onfocus: () => { chosen = i; } },
    chip(run.state),
    h("span.run-main", null, h("span.run-input", null, format.line(run.input) || h("em", null, "no request")),
      h("span.run-under", null, who(runName(run)), run.simulated ? h("span.tag", null, "simulated") : null, run.parent ? h("span.tag", { title: "of " + run.parent }, "fork") : null,
        waiting ? h("span.tag.attention", null, `${waiting} for you`) : null,
        budget ? h("span.tag", null, `the budget of ${format.text(budget.project)} is used up until ${format.text(budget.until)}`) : null)),
    h("span.run-numbers", null, h("span.run-cost", null, format.cost(run.cost)), h("span.run-tokens", null, format.count(run.tokens), " tokens")),
    h("time.run-age", { title: new Date(run.created_ms).toLocaleString() }, format.age(Date.now() - run.created_ms)));
}

function body(app) {
  const { runs } = app;
  const all = runs.shown();
  if (runs.error && runs.error.status !== 401) return empty("The runs cannot be listed", runs.error.message, button("Try again", () => runs.start()));
  if (!runs.loaded) return empty("…", null);
  if (all.length === 0 && runs.rows.size === 0) return empty("No runs yet", "What agents do here is kept, and stands in this list.", button("Begin one", () => go("new"), { kind: "primary" }));
  if (all.length === 0) return empty("Nothing fits", runs.loading ? "Looking further back…" : "No run has these words and this state.");
  if (runs.more && scroll.top + scroll.height * 2 > all.length * scroll.estimate && !runs.loading) runs.listMore();
  return windowed("div.runs-list", scroll, all.length, (i) => row(app, all[i], i), { key: (i) => all[i].id, aria: { label: "Runs" } });
}

export function runs(app) {
  return h("main.runs", null, tools(app), body(app));
}
