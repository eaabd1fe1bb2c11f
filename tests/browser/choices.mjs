// On the page: answers that are assumed, what a planner has read for others, a handoff that the model chooses, plan mode with a to-do list, and tokens
// from a provider's cache. `run.sh choices "" DIR` writes pictures of them.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Server } from "./support/server.mjs";
import { ok, run, same, test } from "./support/check.mjs";
import { enter, lines, look, picture, reads } from "./support/run_page.mjs";

const agent = (name, more = "", prompt = "") => `---\nname: ${name}\ndescription: Does what ${name} does\n${more}---\nYou are ${name}. ${prompt}\n`;
const rules = Array.from({ length: 100 }, (_, i) => `Rule ${i}: you judge each village by what its people have built, and by nothing else.`).join("\n");

const files = {
  "soil.txt": "The soil is clay.\n",
  "house/agents/planner.md": agent("planner", "agents: [mason, roofer]\nexplore: true\ntools: [read_file]\napprove_plan: true\n", "{{specialists}}"),
  "house/agents/mason.md": agent("mason", "tools: [read_file]\n"),
  "house/agents/roofer.md": agent("roofer", "tools: [read_file]\n"),
  "house/house.lua": `local hocket = require "hocket"
local team = hocket.agents "house/agents"
return function(request)
  return hocket.patterns.planner.run { request = request, team = team, planner = team.planner, retries = 0, backoff = 0 }
end`,
  "house/sim.lua": `local json = require "hocket.json"
local function read() return { calls = { { name = "read_file", arguments = { path = "soil.txt" } } } } end
return function(request)
  local who, last = request.system:match "You are (%w+)", request.last.text
  if who == "planner" then
    if request.turn == 1 and request.last.role ~= "tool" and #request.messages == 1 then return read() end
    local first = request.messages[1].text
    local where = last:match "The answer is now: ([^\\n]*)" or last:match "The user answers:%s*([^\\n]*)" or first:match "Which side%?%s+([^\\n]*)"
    if not where then return json.encode { type = "task", clarification_needed = true, questions = { "Which side?" } } end
    return json.encode { type = "task", tasks = { { id = "walls", specialist = "mason", description = "Walls at " .. where, findings = { 1 } },
      { id = "roof", specialist = "roofer", description = "A roof" } } }
  end
  if who == "roofer" and request.turn == 1 then return read() end
  return who .. " builds on " .. (request.messages[1].text .. last):match "The soil is (%w+)"
end`,
  "desk/agents/desk.md": agent("desk", "handoff: [{agent: legal, when: it is about contracts, pass: conversation}, {agent: money}]\n"),
  "desk/agents/legal.md": agent("legal"),
  "desk/agents/money.md": agent("money"),
  "desk/agents/sim.lua": `return function(request)
  if request.system:find "You are legal" then return "It ends in May." end
  return { text = "I look who is there.", calls = { { name = "handoff_to", arguments = { agent = "legal", reason = "it is a contract", response = "A contract of one year." } } } }
end`,
  "clerk/clerk.md": agent("clerk", "tools: [todo, write_file]\n"),
  "clerk/sim.lua": `local function todo(a, b)
  return { calls = { { name = "todo", arguments = { items = {
    { content = "Plan", active_form = "Planning", status = a }, { content = "Write a.txt", active_form = "Writing a.txt", status = b } } } } } }
end
local write = { calls = { { name = "write_file", arguments = { path = "a.txt", content = "x" } } } }
local present = { calls = { { name = "present_plan", arguments = { plan = "1. Write a.txt" } } } }
return function(request)
  local steps, done = { todo("in_progress", "pending"), write, present, todo("completed", "in_progress"), write, todo("completed", "completed") }, 0
  for _, message in ipairs(request.messages) do done = done + (message.role == "tool" and 1 or 0) end
  return steps[done + 1] or "It is written."
end`,
  "fan/judge.md": `---\nname: judge\ndescription: Judges\nmodel: sim-anthropic/claude-sonnet-5\nwarm_cache: true\n---\n${rules}\n`,
  "fan/head.md": "---\nname: head\ndescription: Has villages judged\nmodel: sim-anthropic/claude-sonnet-5\nagents: [judge]\n---\nYou have four villages judged.\n",
  "fan/sim.lua": `return { cache = true, reply = function(request)
  if not request.system:find "four villages" then return { text = "Village " .. request.last.text .. " is good.", latency = 0.3 } end
  if request.turn > 1 then return "All are good." end
  local calls = {}
  for i = 1, 4 do calls[i] = { name = "delegate", arguments = { agent_name = "judge", prompt = "V" .. i } } end
  return { calls = calls }
end }`,
};

const transcript = (page, who) => page.click("nav.agents-side button", who);

test("what a person has answered is assumed in the next plan, and corrected there; what the planner has read is not read again", async ({ browser, server }) => {
  const page = await enter({ browser, server }, { height: 1100 });
  const first = await server.begin("house", "A house of stone");
  await look(page, first);
  await page.shows("Which side?", "main.run form.answer");
  await page.type("the south", "main.run form.answer textarea");
  await page.click("main.run form.answer button", "Answer");
  await page.shows("walls (mason): Walls at the south", "main.run form.answer");
  await page.click("main.run form.answer button", "Go ahead");
  await server.state(first, "done");
  const id = await server.begin("house", "A house of brick");
  await look(page, id);
  await reads(page, "Which side? the south", "main.run form.answer");
  await page.shows("the south", ".card.plan");
  await picture(page, "assumed");
  await page.type("1: the north", "main.run form.answer textarea");
  await page.click("main.run form.answer button", "Ask for changes");
  await page.shows("walls (mason): Walls at the north", "main.run form.answer");
  await page.click("main.run form.answer button", "Go ahead");
  const { result } = await server.state(id, "done");
  ok(result.text.includes("mason builds on clay") && result.text.includes("roofer builds on clay"), result.text);
  await look(page, id, "transcript");
  await transcript(page, "mason");
  await reads(page, "has what planner read, without a call: read_file", ".items");
  await transcript(page, "roofer");
  await reads(page, "has what planner read, without a call: read_file", ".items");
  await picture(page, "read");
  const { body } = await server.ask("GET", `/api/runs/${id}/records?from=1`);
  same(body.records.filter((one) => one.type === "finding_reused").length, 2);
  const again = await server.begin("house", "A house of wood");
  await look(page, again);
  await reads(page, "Which side? the north", "main.run form.answer"); // the person's correction was kept
  same(page.errors, []);
  await page.close();
});

test("a handoff that the model chooses: who got it, and why; its answer is the answer", async ({ browser, server }) => {
  const page = await enter({ browser, server });
  const id = await server.begin("desk", "When does my contract end?");
  await server.state(id, "done");
  await look(page, id);
  await page.shows("It ends in May.", "#view");
  await look(page, id, "transcript");
  await transcript(page, "desk");
  await reads(page, "desk hands on to legal: it is a contract", ".items");
  await picture(page, "handoff");
  await transcript(page, "legal");
  await page.shows("It ends in May.", ".items");
  same(page.errors, []);
  await page.close();
});

test("plan mode: the plan is agreed to on the page, before that nothing is written; the to-do list is the board", async ({ browser, server }) => {
  const page = await enter({ browser, server });
  const id = await server.begin("clerk", "Write it", { mode: "plan", interactive: true });
  await look(page, id);
  await page.shows("Write a.txt", "main.run form.answer");
  ok(!existsSync(join(server.dir, "a.txt")), "written before the yes");
  await picture(page, "plan-mode");
  await look(page, id, "board");
  await page.shows("Planning", "#view"); // it is in progress
  await picture(page, "todo");
  await look(page, id);
  await page.click("main.run form.answer button", "Go ahead");
  await server.state(id, "done");
  ok(existsSync(join(server.dir, "a.txt")), "not written after it");
  await look(page, id, "board");
  await page.until(() => document.querySelectorAll(".column-done .card.task").length === 2);
  same(await lines(page, ".column-done .card.task .task-text"), ["Plan", "Write a.txt"]);
  await look(page, id, "transcript");
  await transcript(page, "clerk");
  await reads(page, "plan mode only reads", ".items");
  same(page.errors, []);
  await page.close();
});

test("siblings that wait for a warm cache: who waited, and what was read from the cache", async ({ browser, server }) => {
  const page = await enter({ browser, server });
  const id = await server.begin("head", "Judge them");
  const { result } = await server.state(id, "done");
  ok(result.usage.cached > 3 * 1500, `${result.usage.cached} cached`);
  await look(page, id, "cost");
  await page.until(() => /\d+ % of the input came from the provider's cache/.test(document.querySelector("#view").innerText));
  await picture(page, "cache");
  await look(page, id, "transcript");
  await page.until(() => {
    for (const one of document.querySelectorAll("nav.agents-side button")) one.click();
    return /waited [\d.]+ s for the provider's cache/.test(document.querySelector(".items")?.innerText ?? "");
  });
  same(page.errors, []);
  await page.close();
});

await run(async () => {
  const server = await Server.open({ files, targets: ["house/house.lua", "desk/agents", "clerk/clerk.md", "fan/head.md"], options: ["-a", "write_file=allow"] });
  return { server, close: () => server.close(), after: () => server.clear() };
});
