// What a run waits for, and the answer to it: a question, permission for a call with all that it would do, what a conversation hears next.
import { button, runLink, unified, verbatim, who } from "../parts.js";
import { canAnswer, isSettled, settling } from "../settle.js";
import { h } from "../view.js";
import { isSending } from "../keys.js";
import { markdown } from "../markdown.js";
import * as format from "../format.js";

const drafts = new Map(); // what was typed so far, by run and question

const keyOf = (open) => open.run + " " + open.id;

function draftOf(open) {
  const key = keyOf(open);
  if (!drafts.has(key)) drafts.set(key, { text: "", reason: "", arguments: null });
  return drafts.get(key);
}

// Nothing is answered that is being answered, or that has just come or moved.
const isClosed = (open) => draftOf(open).busy === true || !isSettled(keyOf(open));

// Says it to the server, once. What was answered stays closed until it is gone from what is open; or for so long, where it never goes.
const ANSWERED = 5000;

async function send(app, open, what, body, words) {
  const draft = draftOf(open), key = keyOf(open);
  if (draft.busy || !canAnswer(key)) return null;
  draft.busy = true;
  app.redraw();
  const done = await app.tell(`/api/runs/${open.run}/${what}`, body, words);
  if (!done) draft.busy = false;
  else setTimeout(() => { drafts.delete(key); app.redraw(); }, ANSWERED);
  return done;
}

async function answer(app, open, text, words) {
  if (text === "") return;
  const done = await send(app, open, "answers", { question: open.id, text }, words);
  app.runs.askInbox();
  app.session?.refresh();
  if (done && app.session?.id === open.run && app.session.link === "over") app.session.reopen();
  app.redraw();
}

function compact(text) {
  try {
    const value = JSON.parse(text);
    return value !== null && typeof value === "object" && !Array.isArray(value) ? JSON.stringify(value) : null;
  } catch {
    return null;
  }
}

/** What is said to a call: "allow", "deny", "always" as `hocket answer` knows them. */
export function decide(app, open, decision) {
  const draft = draftOf(open);
  if (decision === "always") return answer(app, open, "always", "Allowed, always");
  if (decision === "deny") return answer(app, open, draft.reason.trim() ? "deny: " + draft.reason.trim() : "deny", "Denied");
  if (draft.arguments === null || draft.arguments === format.pretty(open.arguments)) return answer(app, open, "allow", "Allowed");
  const given = compact(draft.arguments);
  if (given === null) return app.notice("The arguments have to be one JSON object", "bad");
  return answer(app, open, "edit " + given, "Allowed as you changed it");
}

// A plan is a question whose last words are these: then yes and no are enough.
const isPlan = (asked) => asked.length > 1 && format.text(asked[asked.length - 1]).startsWith("Go ahead?");

// One that a saved plan is the draft of: another one can be made.
const isDraft = (asked) => isPlan(asked) && format.text(asked[0]).startsWith("A draft: ");

function question(app, open) {
  const draft = draftOf(open);
  const asked = Array.isArray(open.questions) ? open.questions : [];
  const plan = isPlan(asked);
  const submit = (event) => {
    event?.preventDefault();
    answer(app, open, draft.text.trim(), "Answered");
  };
  return h("form.answer", { onsubmit: submit },
    h("div.asked", null, asked.length > 0 ? asked.map((one) => markdown(one?.question ?? one)) : open.kind === "input" ? h("p", null, "It waits for what you say next.") : null),
    h("textarea", { rows: 2, value: draft.text, placeholder: plan ? "What to change" : open.kind === "input" ? "Say something" : "Your answer", aria: { label: "Answer" }, oninput: (e) => { draft.text = e.target.value; }, onkeydown: (e) => isSending(e) && submit(e) }),
    h("div.actions", null,
      plan ? [button("Go ahead", () => answer(app, open, "yes", "The plan is approved"), { kind: "primary", disabled: isClosed(open) }), button("Refuse", () => answer(app, open, "no", "The plan is refused"), { kind: "bad", disabled: isClosed(open) })] : null,
      isDraft(asked) ? button("New plan", () => answer(app, open, "new", "A new plan is made"), { kind: "quiet", disabled: isClosed(open) }) : null,
      h("button.button", { type: "submit", class: plan ? "quiet" : "primary", disabled: isClosed(open) }, plan ? "Ask for changes" : open.kind === "input" ? "Say it" : "Answer", h("kbd", { aria: { hidden: "true" } }, "Ctrl ↵"))));
}

function changed(change) {
  if (change === null || typeof change !== "object") return null;
  const lines = [change.added !== undefined ? `+${change.added}` : null, change.removed !== undefined ? `−${change.removed}` : null].filter(Boolean).join(" ");
  return h("div.change", null,
    h("p", null, format.words(change.kind), " ", h("code", null, change.from ? `${change.from} → ${change.path}` : change.path), lines ? h("span.of", null, " " + lines) : null),
    change.refused ? h("p.bad", null, "This call would fail: " + change.refused) : null,
    change.diff ? unified(change.diff) : null,
    change.cut || change.left_out ? h("p.attention-words", null, `Not all of it is shown${change.left_out ? ` (${change.left_out} lines more)` : ""}: the arguments have all.`) : null,
    change.note ? h("p.note", null, change.note) : null);
}

function approval(app, open) {
  const draft = draftOf(open);
  const editing = draft.arguments !== null;
  const edit = () => {
    draft.arguments = editing ? null : format.pretty(open.arguments);
    app.redraw();
  };
  return h("div.answer", null,
    h("p", null, who(open.agent ?? "?"), " wants to call ", h("code.tool", null, open.tool ?? "?"), open.reason ? h("span.about", null, " — " + open.reason) : null),
    changed(open.change),
    editing ? h("textarea.code", { rows: Math.min(20, draft.arguments.split("\n").length + 1), value: draft.arguments, spellcheck: "false", aria: { label: "Arguments" }, oninput: (e) => { draft.arguments = e.target.value; } })
      : h("details", { open: !open.change }, h("summary", null, "The whole call"), verbatim(format.pretty(open.arguments), { most: 200000 })),
    h("label.field", null, h("span.field-name", null, "Why not, or what instead"), h("input", { type: "text", value: draft.reason, placeholder: "the agent reads it when you deny", oninput: (e) => { draft.reason = e.target.value; } })),
    h("div.actions", null,
      button(editing ? "Allow as changed" : "Allow", () => decide(app, open, "allow"), { kind: "primary", hint: "a", disabled: isClosed(open) }),
      button("Deny", () => decide(app, open, "deny"), { kind: "bad", hint: "d", disabled: isClosed(open) }),
      open.always ? button("Always", () => decide(app, open, "always"), { kind: "quiet", title: open.always, disabled: isClosed(open) }) : null,
      open.once ? null : button(editing ? "As it was" : "Edit", edit, { kind: "quiet", hint: "e" })),
    open.always ? h("p.note", null, "Always: " + open.always) : null);
}

// A message to hocket.signal: JSON, or a text.
function valueOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

async function sendSignal(app, open, event) {
  event.preventDefault();
  const { text } = draftOf(open);
  await send(app, open, "signals", { name: open.name, value: text === "" ? undefined : valueOf(text) }, "Sent");
  app.session?.refresh();
  app.redraw();
}

function signal(app, open) {
  const draft = draftOf(open);
  return h("form.answer", { onsubmit: (event) => sendSignal(app, open, event) }, h("p", null, "It waits for the message ", h("code.tool", null, format.text(open.name)), " from outside."),
    h("label.field", null, h("span.field-name", null, "What it is told"), h("textarea.code", { rows: 2, value: draft.text, placeholder: "a text, or JSON", spellcheck: "false", oninput: (e) => { draft.text = e.target.value; } })),
    h("div.actions", null, h("button.button", { type: "submit", disabled: isClosed(open) }, "Send")));
}

function otherRun(app, open) {
  return h("p", null, open.kind === "run" ? "Its work is done by another run, " : "It has asked the run that called it, ", runLink(open.child ?? open.caller),
    open.pool ? [", of the pool ", h("b", null, format.text(open.pool))] : null, ".");
}

function budget(app, open) {
  return h("p", null, "The budget of the project ", h("b", null, format.text(open.project)), ` (${format.text(open.limit)}) is used up until ${format.text(open.until)}. It goes on then, or when there is more: `,
    h("code", null, `hocket budget set ${format.text(open.project)}`));
}

const bodies = new Map([["approval", approval], ["question", question], ["input", question], ["signal", signal], ["run", otherRun], ["caller", otherRun], ["budget", budget]]);

function body(app, open) {
  const show = bodies.get(open.kind);
  return show ? show(app, open) : h("p", null, "It waits for ", h("code", null, format.text(open.tool ?? open.name ?? open.id)), " from a program.");
}

/** One thing that a run waits for: `open` as /api/inbox has it. */
export function openCard(app, open, { chosen = false, onchoose, head } = {}) {
  const plan = Array.isArray(open.questions) && isPlan(open.questions);
  const kind = open.kind === "approval" ? "permission" : open.kind === "input" ? "your turn" : plan ? "plan" : open.kind;
  return h("article.card.open", { key: keyOf(open), class: (chosen ? "chosen " : "") + "kind-" + open.kind, ...settling(keyOf(open)), onfocusin: onchoose, onclick: onchoose, tabindex: -1 },
    h("header", null, h("span.tag.attention", null, kind), open.agent && open.kind !== "approval" ? who(open.agent) : null, head),
    body(app, open));
}

/** Begins to change the arguments of a call. */
export function startEditing(app, open) {
  if (open.kind !== "approval") return;
  const draft = draftOf(open);
  draft.arguments ??= format.pretty(open.arguments);
  app.redraw();
}
