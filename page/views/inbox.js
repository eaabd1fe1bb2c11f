// What all runs wait for: questions, plans, permission for calls. Oldest first, so that what comes moves nothing; the chosen one is answered by keys.
import { address } from "../route.js";
import { decide, openCard, startEditing } from "./answer.js";
import { empty } from "../parts.js";
import { h } from "../view.js";
import { MOVES } from "../keys.js";
import { runName } from "./runs.js";
import { SETTLE } from "../settle.js";
import * as format from "../format.js";

const MOST = 200;
let chosen = null, chosenAt = 0, place = 0;

const keyOf = (open) => open.run + " " + open.id;
const number = (open) => Number(/\d+$/.exec(open.id)?.[0] ?? 0);

function inOrder(app) {
  return [...app.runs.open].sort((a, b) => (a.run < b.run ? -1 : a.run > b.run ? 1 : number(a) - number(b))).slice(0, MOST);
}

// What a person has chosen is settled; what has taken the place of another one by itself is not yet.
function choose(app, all, i, byPerson) {
  place = Math.max(0, Math.min(all.length - 1, i));
  const key = all[place] ? keyOf(all[place]) : null;
  if (key !== chosen) chosenAt = byPerson || chosen === null ? -Infinity : performance.now();
  chosen = key;
  app.redraw();
}

function step(app, by) {
  const all = inOrder(app), at = all.findIndex((open) => keyOf(open) === chosen);
  choose(app, all, (at < 0 ? place - (by > 0 ? 1 : 0) : at) + by, true);
  requestAnimationFrame(() => document.querySelector(".open.chosen")?.scrollIntoView({ block: "nearest" }));
}

export function inboxKeys(app) {
  const one = () => inOrder(app).find((open) => keyOf(open) === chosen);
  // A key that was meant for the one before is not taken by the next.
  const call = (fn) => () => performance.now() - chosenAt >= SETTLE && one()?.kind === "approval" && fn(one());
  return {
    "j": ["the next one", () => step(app, 1), MOVES],
    "k": ["the one before", () => step(app, -1), MOVES],
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
  const all = inOrder(app);
  if (all.length === 0) chosen = null;
  if (all.length === 0) return h("main.inbox", null, empty("Nothing waits for you", "Questions, plans and calls that need your permission come here by themselves."));
  if (!all.some((open) => keyOf(open) === chosen)) choose(app, all, place);
  return h("main.inbox", null, h("h1", null, all.length === 1 ? "One thing waits for you" : `${app.runs.open.length} things wait for you`),
    all.map((open, i) => openCard(app, open, { chosen: keyOf(open) === chosen, onchoose: () => { if (chosen !== keyOf(open)) choose(app, all, i, true); }, head: head(app, open) })),
    app.runs.open.length > MOST ? h("p.note", null, `${app.runs.open.length - MOST} more come when these are answered`) : null);
}
