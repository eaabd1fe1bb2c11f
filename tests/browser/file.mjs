// `hocket show --html`: the page from a file, without a server, and what is in it hostile.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HOSTILE, damage, hostileRun, lieInWait, lookAtAll, views } from "./support/hostile.mjs";
import { ok, run, same, test } from "./support/check.mjs";

const GOOD = "01KANC3V0QZJ9E4W2X6T8B5M7A";

function goodRun() {
  const lines = [`run ${GOOD} done trip/agents`, "input Three days in Lisbon", "put"];
  const events = [{ type: "workflow_started", message: "Three days in Lisbon" }, { op: "o1", agent: "lead", type: "model_request", model: "sim/x", turn: 1 },
    { op: "o1", agent: "lead", type: "tasks_created", board: 1, tasks: [{ id: 1, text: "Where to eat", assigned_to: "food" }] },
    { op: "o2", agent: "food", type: "agent_started", caller: "o1", message: "Work on task 1", task_ids: [1], board: 1 },
    { op: "o2", agent: "food", type: "document_updated", document: 1, version: 1, author: "food", content: "Grilled sardines.", change: "append", change_description: "added to Day 1", slot: { day: 1 } },
    { op: "o2", agent: "food", type: "agent_finished" }, { type: "task_updated", board: 1, id: 1, status: "done" },
    { type: "final_answer", content: "# Lisbon\n\nEat **sardines**." }, { type: "workflow_finished" }];
  events.forEach((event, i) => lines.push("event " + JSON.stringify({ seq: i + 1, time: `2026-11-21T09:00:0${i}.000Z`, run: GOOD, ...event })));
  return lines.join("\n") + "\nrelease\n";
}

async function open(browser, dir, id, options) {
  const page = await browser.page(options);
  await lieInWait(page);
  await page.go(`file://${dir}/${id}.html`);
  await page.until(() => document.querySelector("main.run"));
  return page;
}

test("it opens from a file, shows all views, and asks nobody", async ({ browser, dir }) => {
  const page = await open(browser, dir, GOOD);
  await page.shows("Eat sardines.", "main.run");
  for (const view of views) {
    await page.eval((hash) => { location.hash = hash; }, `#/run/${GOOD}/${view}`);
    await page.until((name) => document.querySelector("main.run.view-" + (name || "overview")) && document.querySelector("#view").innerText.trim(), view);
  }
  await page.shows("workflow finished", "main.run");
  await page.key("Home");
  await page.until(() => globalThis.hocket.session.at === 1);
  await page.key("End");
  same(await page.eval(() => document.querySelectorAll(".actions button, nav .nav-link").length), 0, "what only a server can do is offered:");
  same(page.requests.map(({ url }) => url.replace(/#.*/, "")), [`file://${dir}/${GOOD}.html`]);
  same(page.errors, []);
  // Its policy lets nothing out, whoever asks for it.
  same(await page.eval(() => Promise.all([fetch("http://127.0.0.1:9/").then(() => "sent", () => "held"),
    new Promise((resolve) => { const i = new Image(); i.onload = () => resolve("sent"); i.onerror = () => resolve("held"); i.src = "http://127.0.0.1:9/x.png"; })])), ["held", "held"]);
  ok(page.errors.every((one) => /Content Security Policy|violates/.test(one)) && page.errors.length >= 2, `its policy has not held it: ${page.errors}`);
  await page.close();
});

test("a hostile run stays data in it", async ({ browser, dir }) => {
  const page = await open(browser, dir, HOSTILE);
  await lookAtAll(page, HOSTILE);
  same([...new Set(await damage(page, "file://"))], []);
  await page.close();
});

test("at 380 px, too", async ({ browser, dir }) => {
  const page = await open(browser, dir, HOSTILE, { width: 380, height: 760, dark: true });
  for (const view of views) {
    await page.eval((hash) => { location.hash = hash; }, `#/run/${HOSTILE}/${view}`);
    await page.until((name) => document.querySelector("main.run.view-" + (name || "overview")), view);
    await page.until(() => document.scrollingElement.scrollWidth <= innerWidth);
  }
  await page.close();
});

run(async () => {
  const dir = mkdtempSync(join(tmpdir(), "files-"));
  const env = { ...process.env, HOME: dir, HOCKET_STORE: join(dir, "runs.db") };
  const close = () => rmSync(dir, { recursive: true, force: true });
  for (const [program, args, input] of [[process.env.FILL, [env.HOCKET_STORE], goodRun() + hostileRun()], ...[GOOD, HOSTILE].map((id) => [process.env.HOCKET, ["show", id, "--html", `${id}.html`], ""])]) {
    const made = spawnSync(program, args, { cwd: dir, env, input });
    if (made.status !== 0) {
      close();
      throw new Error(`${args}: ${made.stderr}`);
    }
  }
  return { dir, close };
});
