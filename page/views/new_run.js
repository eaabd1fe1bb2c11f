// Beginning a run: which agent, what it is asked (by a form where it has a schema of its input), and what it may spend.
import { address, go } from "../route.js";
import { Asked } from "../asked.js";
import { button, empty, who } from "../parts.js";
import { fields, hasForm, read } from "./form.js";
import { h } from "../view.js";
import { isSending } from "../keys.js";
import * as api from "../api.js";
import * as format from "../format.js";

const typed = new Map(); // by agent, so that nothing is lost on the way to another one

function load(app) {
  app.asked ??= new Asked(async () => (await api.get("/api/agents")).agents, app.redraw);
  app.agents = app.asked.get();
}

function valuesOf(name) {
  if (!typed.has(name)) typed.set(name, { input: Object.create(null), options: Object.create(null), variables: Object.create(null) });
  return typed.get(name);
}

function optionsOf(agent, values) {
  const given = values.options, options = {}, budget = {};
  if (given.model) options.model = given.model.trim();
  if (given.cost) budget.cost = Number(given.cost);
  if (given.tokens) budget.tokens = Number(given.tokens);
  if (Object.keys(budget).length > 0) options.budget = budget;
  if (given.conversation) options.conversation = true;
  const variables = Object.fromEntries(Object.entries(values.variables).filter(([, value]) => value !== ""));
  if (Object.keys(variables).length > 0) options.variables = variables;
  return options;
}

function inputOf(agent, values) {
  if (!hasForm(agent.input)) return { value: values.input[""] ?? "" };
  const told = read(agent.input, values.input);
  return told.wrong ? told : { value: JSON.stringify(told.value) };
}

async function begin(app, agent) {
  const values = valuesOf(agent.name), input = inputOf(agent, values);
  if (input.wrong) {
    app.notice(input.wrong, "bad");
    return document.getElementById("field-" + input.path)?.focus();
  }
  values.busy = true;
  app.redraw();
  const begun = await app.tell("/api/runs", { target: agent.name, input: input.value || undefined, options: optionsOf(agent, values) });
  values.busy = false;
  app.redraw();
  if (!begun) return;
  typed.delete(agent.name);
  go("run", begun.id);
}

function choose(app) {
  return h("ul.agents", null, app.agents.map((agent) => h("li", { key: agent.name }, h("a.card.agent", { href: address("new", agent.name) },
    h("span.agent-name", null, who(agent.name, agent.display_name ?? agent.name)), h("span.about", null, format.line(agent.description, 300)), agent.kind !== "agent" ? h("span.tag", null, agent.kind) : null))));
}

function option(values, set, name, words, props, about) {
  return h("label.field", { key: name }, h("span.field-name", null, words), about ? h("span.about", null, about) : null, h("input", { id: "option-" + name, value: values.options[name] ?? "", oninput: (e) => set("options", name, e.target.value), ...props }));
}

function form(app, agent) {
  const values = valuesOf(agent.name);
  const set = (part, name, value) => {
    values[part][name] = value;
    app.redraw();
  };
  const submit = (event) => {
    event?.preventDefault();
    begin(app, agent);
  };
  const quick = (event) => isSending(event) && submit(event);
  return h("form.card.begin", { key: agent.name, onsubmit: submit, onkeydown: quick },
    h("h1", null, who(agent.name, agent.display_name ?? agent.name)), h("p.about", null, agent.description),
    hasForm(agent.input) ? fields(agent.input, values.input, (path, value) => set("input", path, value))
      : h("label.field", null, h("span.field-name", null, "Request"), h("textarea", { id: "field-", rows: 5, value: values.input[""] ?? "", oninput: (e) => set("input", "", e.target.value), made: (e) => e.focus() })),
    (agent.variables ?? []).map((name) => h("label.field", { key: "variable " + name }, h("span.field-name", null, name), h("input", { type: "text", value: values.variables[name] ?? "", oninput: (e) => set("variables", name, e.target.value) }))),
    h("details", null, h("summary", null, "Model, budget, conversation"),
      h("div.grid", null,
        option(values, set, "model", "Model", { type: "text", placeholder: agent.model ?? "as the server has it", spellcheck: "false" }),
        option(values, set, "cost", "Most cost (USD)", { type: "number", min: 0, step: "any" }),
        option(values, set, "tokens", "Most tokens", { type: "number", min: 0, step: 1 })),
      h("label.field.check", null, h("span.field-name", null, "A conversation: it waits for what you say next"), h("input", { type: "checkbox", checked: values.options.conversation === true, onchange: (e) => set("options", "conversation", e.target.checked) }))),
    h("div.actions", null, h("button.button.primary", { type: "submit", disabled: values.busy === true }, "Begin", h("kbd", { aria: { hidden: "true" } }, "Ctrl ↵")), h("a.button.quiet", { href: address("new") }, "Another agent")));
}

export function newRun(app) {
  load(app);
  if (!app.agents && app.asked.error) return h("main", null, empty("The agents cannot be listed", app.asked.error.message));
  if (!app.agents) return h("main", null, empty("…"));
  if (app.agents.length === 0) return h("main", null, empty("Nothing is offered", "Start the server with a directory of agents: hocket serve agents"));
  const agent = app.agents.find((one) => one.name === app.route.id) ?? (app.agents.length === 1 ? app.agents[0] : null);
  return h("main.new", null, agent ? form(app, agent) : [h("h1", null, "Who is to do it?"), choose(app)], h("span", null, button("All runs", () => go(), { kind: "quiet" })));
}
