// A plan on the page: a saved one that is offered as a draft and approved; on the board the tree of a split task, a blocker while it waits, a check that
// failed and was mended, and the path of alternates. `run.sh plans "" DIR` writes pictures of them.
import { Server } from "./support/server.mjs";
import { ok, run, same, test } from "./support/check.mjs";
import { enter, lines, look, picture } from "./support/run_page.mjs";

const agent = (name, more = "", prompt = "") => `---\nname: ${name}\ndescription: Does what ${name} does\n${more}---\nYou are ${name}. ${prompt}\n`;

const files = {
  "house/agents/planner.md": agent("planner", "agents: [surveyor, mason, engineer, gardener, paver]\nchecks: true\napprove_plan: true\n", "{{specialists}}"),
  "house/agents/surveyor.md": agent("surveyor"),
  "house/agents/mason.md": agent("mason", "alternates: [engineer]\n"),
  "house/agents/engineer.md": agent("engineer"),
  "house/agents/gardener.md": agent("gardener", "tools: [split_task]\n"),
  "house/agents/paver.md": agent("paver", "tools: [report_blocker]\n"),
  "house/house.lua": `local hocket = require "hocket"
local team = hocket.agents "house/agents"
return function(request)
  return hocket.patterns.planner.run { request = request, team = team, planner = team.planner, retries = 0, backoff = 0 }
end`,
  "plans/garden-house.md": `---
plan: garden-house
request: A garden house for us
---

## plot

- owner: surveyor
- expected: a slope
- check: {schema: {type: object, required: [slope]}}

Measure the plot.

## walls

- owner: mason

Plan the walls.

## garden

- owner: gardener

Lay out the garden.
`,
  "house/sim.lua": `local json = require "hocket.json"
local function call(name, arguments) return { calls = { { name = name, arguments = arguments } } } end
return function(request)
  local who, last = request.system:match "You are (%w+)", request.last.text
  if who == "planner" then
    if last:find "is blocked" then return json.encode { type = "task", tasks = { { id = "slabs", specialist = "engineer", description = "Order twelve slabs" } } } end
    return json.encode { type = "task", tasks = { { id = "anew", specialist = "engineer", description = "Plan it in another way" } } }
  end
  if who == "surveyor" then return last:find "check failed" and '{"length": 6, "slope": 10}' or '{"length": 6}' end
  if who == "mason" then return "FAILED: I cannot found a wall on a slope." end
  if who == "gardener" and last:find "Lay out" then
    return call("split_task", { id = "garden", tasks = { { id = "beds", specialist = "gardener", description = "Plan the beds" }, { id = "path", specialist = "paver", description = "Pave the path" } } })
  end
  if who == "paver" and not last:find "You reported a blocker" then return call("report_blocker", { id = "garden.path", what = "There are no slabs.", needs = "12 slabs" }) end
  return who .. " did it"
end`,
};

test("a saved plan is a draft: its blocker waits, its parts stand below it, its check was mended, another one did the walls", async ({ browser, server }) => {
  const page = await enter({ browser, server }, { height: 1100 });
  const id = await server.begin("house", "A garden house for us");
  await look(page, id);
  await page.shows("A draft: the saved plan 'garden-house'", "main.run form.answer");
  await page.shows("Offered as a draft: the saved plan garden-house plans/garden-house.md", ".card.plan");
  same(await lines(page, "main.run form.answer button"), ["Go ahead", "Refuse", "New plan", "Ask for changes"]);
  await picture(page, "draft");
  await page.click("main.run form.answer button", "Go ahead");
  await page.shows("garden.beds (gardener)", "main.run form.answer"); // the parts want an approval, as the plan does
  await page.click("main.run form.answer button", "Go ahead");
  await page.shows("slabs (engineer)", "main.run form.answer"); // and so do the tasks that remove the blocker
  await look(page, id, "board");
  await page.shows("is blocked: There are no slabs. (it needs: 12 slabs)", "#view");
  await page.until(() => [...document.querySelectorAll(".task-tree li")].some((one) => one.innerText.includes("garden.path") && one.innerText.includes("is blocked")));
  await picture(page, "blocked");
  await look(page, id);
  await page.click("main.run form.answer button", "Go ahead");
  await server.state(id, "done");
  await look(page, id, "board");
  await page.until(() => document.querySelectorAll(".task-tree li.is-done").length === 6);
  same(await lines(page, ".task-tree li"), ["✓ #1 Measure the plot. surveyor mended", "✓ #2 Plan the walls. mason → engineer", "✓ #3 Lay out the garden. gardener",
    "✓ #4 garden.beds: Plan the beds gardener", "✓ #5 garden.path: Pave the path paver", "✓ #6 Order twelve slabs engineer"]);
  same(await page.eval(() => [...document.querySelectorAll(".task-tree li")].map((one) => one.getAttribute("aria-level"))), ["1", "1", "1", "2", "2", "3"]);
  await page.shows("check holds, mended after 1 failed", "#view");
  await page.shows("expected: a slope", "#view");
  ok(!(await page.text("#view")).includes("is blocked"), "it goes on, and is shown as blocked");
  await picture(page, "board");
  await look(page, id);
  await page.shows("6 of 6 tasks are done", ".card.plan");
  await picture(page, "done");
  await look(page, id, "transcript");
  await page.click("nav.agents-side button", "surveyor");
  await page.shows("its check fails (plot): the answer does not fit", ".items");
  await page.shows("its check holds (plot)", ".items");
  await picture(page, "transcript");
  same(page.errors, []);
  await page.close();
});

test("a new plan instead of the draft, in one click", async ({ browser, server }) => {
  const page = await enter({ browser, server }, { width: 380, height: 760 });
  const id = await server.begin("house", "a  garden house FOR US");
  await look(page, id);
  await page.shows("A draft: the saved plan 'garden-house'", "main.run form.answer");
  await picture(page, "phone");
  await page.until(() => document.scrollingElement.scrollWidth <= innerWidth);
  await page.click("main.run form.answer button", "New plan");
  await page.shows("anew (engineer)", "main.run form.answer");
  await page.until(() => ![...document.querySelectorAll("main.run form.answer button")].some((one) => one.innerText === "New plan"));
  await page.click("main.run form.answer button", "Refuse");
  await page.until(() => !document.querySelector("main.run form.answer"));
  same((await server.state(id, "failed")).result.error.code, "declined");
  same(page.errors, []);
  await page.close();
});

await run(async () => {
  const server = await Server.open({ files, targets: ["house/house.lua"] });
  return { server, close: () => server.close(), after: () => server.clear() };
});
