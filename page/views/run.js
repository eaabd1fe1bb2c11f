// One run: what it is, what can be said to it, and its views; below them the moment that is shown.
import { address, go } from "../route.js";
import { button, chip, empty, metric } from "../parts.js";
import { canAnswer, isSettled, settling } from "../settle.js";
import { h } from "../view.js";
import { knownCost } from "../usage.js";
import { board } from "./board.js";
import { costs } from "./costs.js";
import { documentKeys, documentView } from "./document.js";
import { forkForm } from "./fork.js";
import { overview } from "./overview.js";
import { raw } from "./raw.js";
import { runName } from "./runs.js";
import { timeline, timelineKeys } from "./timeline.js";
import { transcript, transcriptKeys } from "./transcript.js";
import { travel, travelKeys } from "./travel.js";
import { tree, treeKeys } from "./tree.js";
import * as api from "../api.js";
import * as format from "../format.js";

const views = [
  ["", "Overview", overview], ["board", "Board", board], ["document", "Document", documentView], ["timeline", "Timeline", timeline], ["tree", "Tree", tree],
  ["transcript", "Transcript", transcript], ["cost", "Cost", costs], ["events", "Events", raw],
];

const goesOn = (run) => run && ["running", "waiting"].includes(run.state);
const sleeps = (run) => run && (run.state === "parked" || run.state === "cut_off" || run.state === "forked" || (run.state === "waiting" && !run.here));
const isOver = (run) => !goesOn(run) && !sleeps(run);

// ---- What can be said to it ----------------------------------------------------------------------------------------

async function tell(app, what, words, body) {
  await app.tell(`/api/runs/${app.session.id}/${what}`, body ?? {}, words);
  app.session?.refresh();
}

async function goOn(app) {
  const { session } = app;
  if (!(await app.tell(`/api/runs/${session.id}/resume`, {}, "It goes on"))) return;
  session.reopen();
}

async function remove(app) {
  try {
    await api.remove(`/api/runs/${app.session.id}`);
    app.runs.forget(app.session.id);
    go();
  } catch (error) {
    app.notice(error.message, "bad");
  }
}

function actions(app) {
  const { run } = app.session, { ui } = app;
  if (!app.source.live || !run) return null;
  const confirmed = (name, words) => button(words, () => { ui.sure = name; app.redraw(); }, { kind: "quiet", key: name, pressed: ui.sure === name });
  return h("div.actions", null,
    run.options?.conversation && run.here && run.state === "running" ? button("Interrupt", () => tell(app, "interrupt", "It is interrupted"), { kind: "quiet", title: "End this turn; the conversation goes on" }) : null,
    goesOn(run) && run.here ? [button("Stop", () => tell(app, "stop", "It answers with what it has"), { kind: "quiet", title: "Each agent makes one more call at most, and answers" }),
      button("Pause", () => tell(app, "park", "It is put away"), { kind: "quiet", title: "Put away; it can be gone on with" })] : null,
    sleeps(run) ? button("Resume", () => goOn(app), { kind: "primary" }) : null,
    isOver(run) ? null : confirmed("cancel", "Cancel"),
    button("Fork", () => { ui.forking = !ui.forking; app.redraw(); }, { kind: "quiet", hint: "f" }),
    isOver(run) ? confirmed("remove", "Remove") : null);
}

// What cannot be undone is confirmed elsewhere than it was asked for, and not at once: two clicks at one place are no answer.
const certain = {
  cancel: { of: (run) => !isOver(run), words: "Cancel this run? It ends for good, and so does what it has asked for.", yes: "Cancel the run", no: "Let it go on", doIt: (app) => tell(app, "cancel", "It is cancelled") },
  remove: { of: isOver, words: "Remove this run? Its records go for good.", yes: "Remove the run", no: "Keep it", doIt: remove },
};

function confirmation(app) {
  const { session, ui } = app, asked = certain[ui.sure];
  if (!asked || !session.run || !asked.of(session.run)) return null;
  const key = `confirm ${ui.sure} ${session.id}`;
  const close = () => { ui.sure = null; app.redraw(); };
  const agree = () => {
    if (!canAnswer(key)) return;
    close();
    asked.doIt(app);
  };
  return h("section.card.confirm", { key, role: "alertdialog", aria: { label: asked.words }, ...settling(key) }, h("p", null, asked.words),
    h("div.actions", null, button(asked.no, close), button(asked.yes, agree, { kind: "bad", disabled: !isSettled(key) })));
}

// ---- Its head ---------------------------------------------------------------------------------------------------------

function elapsed(session) {
  const { state } = session;
  return state.began === null ? null : (state.ended ?? session.now) - state.began;
}

function head(app) {
  const { session } = app, { run } = session, state = session.state;
  const shownState = session.at === null ? run?.state ?? (state.outcome || "running") : state.outcome ?? "running";
  const budget = run?.options?.budget ?? {};
  return h("header.run-head", null,
    h("div.run-title", null, h("h1", null, run ? runName(run) : "…"), chip(shownState), state.simulated ? h("span.tag", null, "simulated") : null,
      run?.parent ? h("a.tag", { href: address("run", run.parent) }, "fork of " + format.shortId(run.parent)) : null,
      h("code.run-id", { title: session.id }, format.shortId(session.id))),
    h("p.run-request", { title: state.message }, format.line(state.message || run?.input, 400)),
    h("div.metrics", null,
      metric("time", format.span(elapsed(session))),
      metric("cost", [format.cost(knownCost(state.usage)), budget.cost !== undefined ? h("span.of", null, " of " + format.cost(budget.cost)) : null], "USD"),
      metric("tokens", format.count(state.usage.input + state.usage.output), `${state.usage.input} in, ${state.usage.output} out`),
      metric("calls", format.count(state.usage.calls)), metric("agents", format.count(state.agents.length)), metric("records", format.count(state.at))),
    actions(app));
}

let shownTab;

// The tab that one is on is seen, where there are more than fit.
function revealTab(current) {
  return (element) => {
    if (shownTab === current && element.dataset.seen) return;
    shownTab = current;
    element.dataset.seen = "1";
    const tab = element.querySelector(".here");
    if (tab) element.scrollLeft = tab.offsetLeft - element.offsetLeft - element.clientWidth / 2 + tab.offsetWidth / 2;
  };
}

function tabs(app, current) {
  const { session } = app, state = session.state;
  const has = { board: state.boards.some((one) => one.tasks.length > 0), document: state.documents.length > 0 };
  return h("nav.tabs", { aria: { label: "Views" }, patched: revealTab(current) }, views.map(([name, words], i) => h("a.tab", {
    key: name, href: address("run", session.id, name), class: (name === current ? "here" : "") + (has[name] === false ? " faint" : ""), aria: { current: name === current ? "page" : undefined },
  }, words, h("kbd", { aria: { hidden: "true" } }, i + 1))));
}

// ---- All of it -----------------------------------------------------------------------------------------------------------

let clock;

function keepTime(app) {
  clearTimeout(clock);
  if (app.session?.ticks) clock = setTimeout(app.redraw, 1000);
}

export function runView(app) {
  const { session } = app;
  if (!session) return h("main", null, empty("No run", null));
  if (session.error && session.records.length === 0) return h("main", null, empty("The run cannot be shown", session.error.message, h("a", { href: "#/" }, "All runs")));
  keepTime(app);
  const [name, , view] = views.find(([one]) => one === app.route.view) ?? views[0];
  return h("main.run", { key: session.id, class: "view-" + (name || "overview") },
    head(app), confirmation(app), app.ui.forking ? forkForm(app) : null, tabs(app, name),
    session.missed ? h("p.note.bad", null, `${session.missed} records are nowhere any more: what is shown lacks them`) : null,
    h("div.view", { key: name, id: "view" }, session.records.length === 0 && session.link !== "over" ? empty("…", "The records are on their way") : view(app)),
    travel(app));
}

// What an address names is looked up in a map: an object has a "constructor".
const viewKeys = new Map([["document", documentKeys], ["timeline", timelineKeys], ["transcript", transcriptKeys], ["tree", treeKeys]]);

export function runKeys(app) {
  const table = {};
  views.forEach(([name, words], i) => { table[String(i + 1)] = [words, () => go("run", app.session.id, name)]; });
  table["f"] = ["fork it", () => { app.ui.forking = !app.ui.forking; app.redraw(); }];
  const own = viewKeys.get(app.route.view);
  return { ...table, ...travelKeys(app), ...own?.(app) };
}
