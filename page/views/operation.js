// One operation whole: an agent, a call of a model, of a tool, a wait.
import { agentName, button, chip, stateOf, verbatim, who } from "../parts.js";
import { address } from "../route.js";
import { h } from "../view.js";
import { knownCost } from "../usage.js";
import { markdown } from "../markdown.js";
import { prompt } from "./prompt.js";
import * as format from "../format.js";

function facts(pairs) {
  return h("dl.facts", null, pairs.filter(([, value]) => value !== undefined && value !== null && value !== "").map(([name, value]) => h("div", { key: name }, h("dt", null, name), h("dd", null, value))));
}

const section = (words, ...content) => h("section", { key: words }, h("h4", null, words), content);

function ofAgent(app, agent) {
  const { usage } = agent, until = agent.ended ?? app.session.now;
  return [
    facts([["state", chip(stateOf(agent))], ["called as", format.words(agent.trigger)], ["model", agent.model], ["time", format.span(until - agent.began)], ["calls", usage.calls], ["tool calls", usage.toolCalls || undefined],
      ["input", format.count(usage.input)], ["cached", format.count(usage.cached)], ["output", format.count(usage.output)], ["cost", format.cost(knownCost(usage))], ["retries", agent.retries || undefined], ["cut short", agent.cut], ["tasks", agent.taskIds.join(", ")]]),
    agent.message ? section("It was asked", markdown(agent.message)) : null,
    agent.error ? section("Error", h("p.bad", null, agent.error)) : null,
    agent.answer ? section("It answered", markdown(agent.answer)) : null,
    h("p", null, h("a", { href: address("run", app.session.id, "transcript") + "?op=" + encodeURIComponent(agent.op) }, "Its transcript")),
  ];
}

function ofModel(app, agent, span) {
  const request = span.record, reply = span.reply ?? {}, usage = reply.usage !== null && typeof reply.usage === "object" ? reply.usage : {};
  const to = span.to ?? app.session.now, share = usage.input > 0 && typeof usage.cached === "number" ? ` (${Math.round((100 * usage.cached) / usage.input)} %)` : "";
  return [
    facts([["model", span.name], ["turn", request.turn], ["messages", request.messages], ["time", format.span(to - span.from)], ["first token", span.first !== null ? format.span(span.first - span.from) : undefined], ["end", format.words(reply.finish)],
      ["input", format.count(usage.input)], ["cached", typeof usage.cached === "number" ? format.count(usage.cached) + share : undefined], ["written to cache", usage.cache_write ? format.count(usage.cache_write) : undefined],
      ["output", format.count(usage.output)], ["reasoning", usage.reasoning ? format.count(usage.reasoning) : undefined], ["cost", format.cost(usage.cost)], ["tool calls", reply.calls], ["attempts", reply.attempts > 1 ? reply.attempts : undefined]]),
    span.retries.length > 0 ? section("Retries", h("ul", null, span.retries.map((one) => h("li", { key: one.seq }, h("b", null, format.words(one.reason)), ` after ${format.text(one.delay)} s: `, format.text(one.error))))) : null,
    prompt(app, agent, span),
  ];
}

function ofTool(app, agent, span) {
  const { record } = span;
  return [
    facts([["tool", h("code", null, span.name)], ["time", format.span((span.to ?? app.session.now) - span.from)], ["state", span.to === null ? "runs" : undefined], ["called by", record.by], ["failed", span.failed ? "yes" : undefined], ["reason", record.reason]]),
    record.arguments !== undefined ? section("Arguments", verbatim(format.pretty(record.arguments))) : null,
    record.result !== undefined ? section(span.failed ? "Error" : "Result", verbatim(format.pretty(record.result))) : null,
  ];
}

function ofWait(app, agent, span) {
  const { record } = span, asked = Array.isArray(record.questions) ? record.questions : [];
  return [facts([["for", span.name], ["time", format.span((span.to ?? app.session.now) - span.from)], ["reason", record.reason]]), asked.map((one) => markdown(one)), record.arguments !== undefined ? section("The call", verbatim(format.pretty(record.arguments))) : null];
}

const kinds = { model: ofModel, tool: ofTool, wait: ofWait };

/** What is known of an operation: `span` is none for the agent itself. */
export function operation(app, agent, span, close) {
  const title = span ? { model: "Model call", tool: "Tool call", wait: "Wait" }[span.kind] : agentName(agent);
  return h("aside.card.detail", { key: "detail", aria: { label: "Details" } },
    h("header", null, h("b", null, title), who(agent.name, agentName(agent)), h("span.grow", null), span ? button("Go there", () => app.session.goTo((span.reply ?? span.record).seq), { kind: "quiet" }) : null, button("×", close, { kind: "quiet round", title: "Close (Esc)" })),
    h("div.detail-body", null, span ? kinds[span.kind](app, agent, span) : ofAgent(app, agent)));
}
