// What was used: by model and by agent, beside the budget.
import { agentName, empty, who } from "../parts.js";
import { Scroll, windowed } from "../list.js";
import { knownCost, newUsage } from "../usage.js";
import { address } from "../route.js";
import { h } from "../view.js";
import * as format from "../format.js";

const scroll = new Scroll({ estimate: 38 });

function meter(words, used, limit, show) {
  const share = typeof limit === "number" && limit > 0 && typeof used === "number" ? Math.min(1, used / limit) : null;
  return h("div.meter", { class: share > 0.9 ? "bad" : share > 0.7 ? "attention" : "" },
    h("div.meter-head", null, h("span", null, words), h("span.grow", null), h("b", null, show(used)), limit !== undefined ? h("span.of", null, " of " + show(limit)) : h("span.of", null, " · no limit")),
    share === null ? null : h("div.progress-bar", { role: "img", aria: { label: Math.round(share * 100) + " %" } }, h("span", { style: { width: share * 100 + "%" } })));
}

const numbers = (sum) => [format.count(sum.calls), format.count(sum.input), format.count(sum.cached), format.count(sum.output), format.count(sum.reasoning), format.span(sum.ms), format.cost(knownCost(sum))];
const heads = ["calls", "input", "cached", "output", "reasoning", "time", "cost"];

function row(name, sum, most) {
  return h("div.cost-row", null, h("span.cost-name", null, name), h("span.cost-bar", { aria: { hidden: "true" } }, h("span", { style: { width: (most > 0 ? (100 * weigh(sum)) / most : 0) + "%" } })), numbers(sum).map((value, i) => h("span.number", { class: "col-" + heads[i] }, value)));
}

// By cost where one is known, else by tokens.
const weigh = (sum) => (sum.cost > 0 ? sum.cost * 1e9 : 0) + sum.input + sum.output;

function head(words) {
  return h("div.cost-row.head", null, h("span.cost-name", null, words), h("span.cost-bar", null), heads.map((name) => h("span.number", { class: "col-" + name }, name)));
}

// Agents of one name together: a specialist that is called twice is one line.
function byAgent(state) {
  const sums = new Map();
  for (const agent of state.agents) {
    let one = sums.get(agent.name);
    if (!one) sums.set(agent.name, one = { agent, sum: newUsage(), times: 0 });
    one.times++;
    for (const name in agent.usage) one.sum[name] += agent.usage[name];
  }
  return [...sums.values()].sort((a, b) => weigh(b.sum) - weigh(a.sum));
}

export function costs(app) {
  const { session } = app, { state } = session, budget = session.run?.options?.budget ?? {};
  if (state.usage.calls === 0) return empty("Nothing was used yet", "What model calls cost stands here, call by call.");
  const models = [...state.models].sort((a, b) => weigh(b[1]) - weigh(a[1])), agents = byAgent(state);
  const mostModel = Math.max(...models.map(([, sum]) => weigh(sum))), mostAgent = weigh(agents[0].sum);
  const cached = state.usage.input > 0 ? state.usage.cached / state.usage.input : 0;
  return h("div.costs", null,
    h("section.card.meters", null, meter("Cost", knownCost(state.usage), budget.cost, format.cost), meter("Tokens", state.usage.input + state.usage.output, budget.tokens, format.count),
      h("p.about", null, cached > 0 ? `${Math.round(cached * 100)} % of the input came from the provider's cache. ` : null, state.usage.unpriced ? `The price of ${state.usage.unpriced} calls is not known.` : null)),
    h("section", null, head("Model"), models.map(([name, sum]) => h("div", { key: name }, row(h("code", null, name), sum, mostModel)))),
    h("section", null, head("Agent"), agents.length <= 40 ? agents.map((one) => h("div", { key: one.agent.name }, agentRow(app, one, mostAgent)))
      : windowed("div.long", scroll, agents.length, (i) => agentRow(app, agents[i], mostAgent), { key: (i) => agents[i].agent.name })));
}

function agentRow(app, { agent, sum, times }, most) {
  const name = h("a", { href: address("run", app.session.id, "transcript") + "?op=" + encodeURIComponent(agent.op) }, who(agent.name, agentName(agent)), times > 1 ? h("span.of", null, ` ×${times}`) : null);
  return row(name, sum, most);
}

