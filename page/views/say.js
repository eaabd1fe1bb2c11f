// Something said to an agent at work, which it hears before its next model call; and what waits to be heard.
import { agentName } from "../parts.js";
import { h } from "../view.js";
import { isSending } from "../keys.js";
import { markdown } from "../markdown.js";
import { text } from "../format.js";

const drafts = new Map(); // what was typed so far, by run and agent

/** Whether somebody may still hear it. */
export function canSay(app, agent) {
  const { session } = app;
  return app.source.live && session.at === null && ["running", "waiting", "parked", "queued", "cut_off"].includes(session.run?.state) && agent.ended === null;
}

async function say(app, agent, draft) {
  if (draft.busy || draft.text.trim() === "") return;
  draft.busy = true;
  app.redraw();
  const done = await app.tell(`/api/runs/${app.session.id}/say`, { text: draft.text, agent: agent.op }, "Said");
  draft.busy = false;
  if (done) draft.text = "";
  app.session?.refresh();
  app.redraw();
}

/** The field under a transcript. */
export function sayField(app, agent) {
  const key = app.session.id + " " + agent.op;
  if (!drafts.has(key)) drafts.set(key, { text: "" });
  const draft = drafts.get(key), name = agentName(agent);
  const submit = (event) => {
    event.preventDefault();
    say(app, agent, draft);
  };
  return h("form.say", { key: "say" + agent.op, onsubmit: submit },
    h("textarea", { rows: 1, value: draft.text, placeholder: `Say something to ${name}`, title: "It is heard before the next model call", aria: { label: `Say something to ${name}` }, oninput: (e) => { draft.text = e.target.value; }, onkeydown: (e) => isSending(e) && submit(e) }),
    h("button.button", { type: "submit", disabled: draft.busy === true }, "Say it", h("kbd", { aria: { hidden: "true" } }, "Ctrl ↵")));
}

/** What was said to an agent and is not heard yet; what is for nobody by name stands with the first who works. */
export function unheard(state, agent) {
  const outermost = state.agents.find((one) => one.ended === null && one.caller === undefined) ?? state.agents[0];
  return [...state.said.values()].filter((one) => one.op === agent.op || (one.op === undefined && agent === outermost));
}

export function said(record, words) {
  return h("article.said-item.told", { class: words ? "unheard" : "" }, h("header", null, "you", words ? h("span.tag", { class: words === "was not heard" ? "bad" : "attention" }, words) : null), markdown(text(record.text)), text(record.reason) ? h("p.of", null, text(record.reason)) : null);
}

/** A line of an agent's transcript that is not told yet. */
export const waitsToBeHeard = (one) => h("div.item", null, said(one.record, "waits to be heard"));
