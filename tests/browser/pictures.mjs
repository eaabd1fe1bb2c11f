// Pictures of the page to be looked at: run.sh pictures DIR [VIEW]. Each view in four sizes, light and dark; no test.
import { mkdirSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Browser } from "./support/browser.mjs";
import { Server } from "./support/server.mjs";
import { call, desk } from "./support/fixtures.mjs";

const [dir = "pictures", only = ""] = process.argv.slice(2);
const sizes = [[380, 760], [768, 1024], [1280, 800], [1920, 1080]];
const travel = new URL("../../examples/travel/", import.meta.url);
const files = { ...desk.files };
for (const name of readdirSync(new URL("agents/", travel))) files[`travel/agents/${name}`] = readFileSync(new URL(`agents/${name}`, travel), "utf8");
files["travel/sim.lua"] = readFileSync(new URL("sim.lua", travel), "utf8");

files["jobs/calls.lua"] = 'local one = assert(require("hocket").submit("jobs/wait.lua", "", { pool = "north" })) return assert(one:wait()).text';

mkdirSync(dir, { recursive: true });
const browser = await Browser.open(process.env.CHROMIUM ?? "chromium");
const server = await Server.open({ files, targets: ["desk", "travel"] });
try {
  const { body } = await server.ask("GET", "/api/agents");
  const planner = body.agents.find(({ name }) => name !== "guide").name;
  const trip = await server.begin(planner, "Three days in Lisbon with children");
  await server.state(trip, "done");
  const talk = await server.begin("guide", "say ## Hello\n");
  await server.state(talk, "done");
  const open = await server.begin("guide", call("write_file", { path: "notes/lisbon.md", content: "# Lisbon\n\nGrilled sardines at noon.\n" }));
  const asked = await server.begin("guide", call("ask_user", { question: "Which **city** is it, and how many days?" }));
  await server.ask("POST", `/api/runs/${open}/say`, { text: "Put **Porto** in as well, and no museums." });
  for (const pool of ["default", "default", "default", "gpu"]) server.submit("jobs/wait.lua", pool);
  server.submit("jobs/calls.lua", "north");
  server.work("--runs", "4", "--pool", "default", "--pool", "north");
  await new Promise((resolve) => setTimeout(resolve, 3000));
  const places = {
    workers: "#/workers", runs: "#/", inbox: "#/inbox", new: "#/new", begin: "#/new/guide", waiting: `#/run/${open}`, saying: `#/run/${open}/transcript`,
    asking: `#/run/${asked}/timeline`,
  };
  for (const view of ["overview", "board", "document", "timeline", "tree", "transcript", "cost", "events"]) places[view] = `#/run/${trip}/${view === "overview" ? "" : view}`;
  for (const dark of [false, true]) {
    for (const [width, height] of sizes) {
      const page = await browser.page({ width, height, dark, reduced: true });
      await page.go(server.door);
      for (const [name, hash] of Object.entries(places).filter(([one]) => one.includes(only))) {
        await page.eval((to) => { location.hash = to; }, hash);
        await page.until(() => document.querySelector("main")?.innerText.trim() && (!location.hash.startsWith("#/run/") || globalThis.hocket.session?.records.length > 0));
        await page.eval(() => new Promise((resolve) => setTimeout(resolve, 400)));
        await page.picture(join(dir, `${name}-${width}-${dark ? "dark" : "light"}.png`));
      }
      await page.close();
    }
  }
} finally {
  await server.close();
  await browser.close();
}
process.exit(0);
