// What all runs wait for: questions, plans, leave for calls. Oldest first; the chosen one is answered by keys.
import { address } from "./route.js";
import { decide, openCard, startEditing } from "./answer.js";
import { empty } from "./parts.js";
import { h } from "./view.js";
import { runName } from "./runs.js";
import * as format from "./format.js";

let chosen = 0;

const choose = (app, i) => {
  chosen = Math.max(0, Math.min(app.runs.open.length - 1, i));
  app.redraw();
  requestAnimationFrame(() => document.querySelector(".open.chosen")?.scrollIntoView({ block: "nearest" }));
};

export function inboxKeys(app) {
  const one = () => app.runs.open[chosen];
  const call = (fn) => () => one()?.kind === "approval" && fn(one());
  return {
    "j": ["the next one", () => choose(app, chosen + 1)],
    "k": ["the one before", () => choose(app, chosen - 1)],
    "a": ["allow", call((open) => decide(app, open, "allow"))],
    "d": ["deny", call((open) => decide(app, open, "deny"))],
    "e": ["change the arguments", call((open) => startEditing(app, open))],
    "Enter": ["write an answer", () => document.querySelector(".open.chosen textarea")?.focus()],
  };
}

function head(app, open) {
  const run = app.runs.rows.get(open.run);
  return [h("span.grow", null), h("a.of-run", { href: address("run", open.run) }, run ? runName(run) : format.shortId(open.run), h("span.of", null, run ? " · " + format.age(Date.now() - run.created_ms) : ""))];
}

export function inbox(app) {
  const all = app.runs.open;
  if (all.length === 0) return h("main.inbox", null, empty("Nothing waits for you", "Questions, plans and calls that need your leave come here by themselves."));
  chosen = Math.min(chosen, all.length - 1);
  return h("main.inbox", null, h("h1", null, all.length === 1 ? "One thing waits for you" : `${all.length} things wait for you`),
    all.slice(0, 200).map((open, i) => openCard(app, open, { chosen: i === chosen, onchoose: () => { if (chosen !== i) choose(app, i); }, head: head(app, open) })),
    all.length > 200 ? h("p.note", null, `${all.length - 200} more come when these are answered`) : null);
}
