// The prompt as it was sent, with the tools that were offered: asked of the server when somebody wants to see it, since records hold what is
// new and never the whole prompt.
import { button, verbatim } from "../parts.js";
import { h } from "../view.js";
import * as api from "../api.js";
import * as format from "../format.js";

const MOST_KEPT = 20;
const asked = new Map(); // by run, operation and length: {answer} or {error}, or {} while it is on its way

function keyOf(app, agent, span) {
  return [app.session.id, agent.op, span.record.messages].join(" ");
}

async function ask(app, agent, span) {
  const key = keyOf(app, agent, span), one = {};
  if (asked.size >= MOST_KEPT) asked.delete(asked.keys().next().value);
  asked.set(key, one);
  app.redraw();
  const count = Number.isInteger(span.record.messages) ? "&messages=" + span.record.messages : "";
  try {
    one.answer = await api.get(`/api/runs/${encodeURIComponent(app.session.id)}/prompts?op=${encodeURIComponent(agent.op)}${count}`);
  } catch (error) {
    one.error = error.message;
  }
  app.redraw();
}

function call(one) {
  return h("div.prompt-call", null, h("code.tool", null, format.text(one?.name)), verbatim(format.pretty(one?.arguments)));
}

function message(one) {
  const role = format.text(one?.role), calls = Array.isArray(one?.calls) ? one.calls : [];
  return h("article.said-item", { class: role === "user" ? "told" : "" }, h("header", null, role === "tool" ? ["result of ", h("code.tool", null, format.text(one.name))] : role),
    one?.reasoning ? h("details", null, h("summary", null, "Reasoning"), verbatim(one.reasoning)) : null, one?.text ? verbatim(one.text) : null, calls.map(call));
}

function tool(one) {
  return h("details.prompt-tool", null, h("summary", null, h("code", null, format.text(one?.name)), h("span.op-rest", null, format.line(one?.description, 120))), h("p", null, format.text(one?.description)), verbatim(format.pretty(one?.parameters)));
}

function shown(answer) {
  const tools = Array.isArray(answer.tools) ? answer.tools : [], messages = Array.isArray(answer.messages) ? answer.messages : [];
  return [
    answer.shorter ? h("p.attention-words", null, "The conversation was made shorter since: this is what is left of it.") : null,
    h("section", null, h("h4", null, "System prompt"), verbatim(answer.system)),
    h("section", null, h("h4", null, `${tools.length} tools`), tools.map(tool)),
    h("section", null, h("h4", null, `${messages.length} messages`), messages.map(message)),
    answer.cut ? h("p.note", null, "More was too long to be sent.") : null,
  ];
}

/** What a call of a model was sent. */
export function prompt(app, agent, span) {
  if (!app.source.live) return null;
  const one = asked.get(keyOf(app, agent, span));
  if (!one) return h("p", null, button("The prompt as it was sent", () => ask(app, agent, span)));
  if (one.error) return h("p.bad", null, one.error, " ", button("Again", () => ask(app, agent, span), { kind: "quiet" }));
  return one.answer ? h("div.prompt", null, shown(one.answer)) : h("p.note", null, "It is being put together…");
}
