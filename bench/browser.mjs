// What the page of `hocket serve` takes of a browser with a run of 1,000 agents and 100,000 events, as a line of JSON. Exits with 77 where
// no browser is.
//
//     picture   ms from the address to the first picture of it, kept      all     ms to all of its records
//     frame     ms, the longest that the page held up the browser while they came live (at most 50 is told as 50)
//     watched   s that the live run took with the page looking on         alone   s without        events   of one run
import { Browser, until } from "../tests/browser/support/browser.mjs";
import { Server } from "../tests/browser/support/server.mjs";
import { readFileSync } from "node:fs";

const [turns = "32"] = process.argv.slice(2);
const script = (name) => readFileSync(new URL(`scripts/${name}`, import.meta.url), "utf8");

const browser = await Browser.open(process.env.CHROMIUM ?? "chromium");
if (!browser) {
  console.error(`the browser does not start here: ${Browser.why}`);
  process.exit(77);
}
const server = await Server.open({ files: { "page.lua": script("page.lua"), "sim.lua": script("page_sim.lua") }, targets: ["page.lua"], options: ["--trust"] });

async function timed(id) {
  const { state, created_ms, updated_ms } = await until(async () => {
    const { body } = await server.ask("GET", `/api/runs/${id}`);
    return !["running", "waiting", "queued"].includes(body.state) && body;
  }, "the run ends");
  if (state !== "done") throw new Error(`the run is ${state}`);
  return (updated_ms - created_ms) / 1000;
}

async function open(hash) {
  const page = await browser.page({ width: 1400, height: 900 });
  await page.go(server.door);
  await page.until(() => document.querySelector("main.runs"));
  await page.send("Page.addScriptToEvaluateOnNewDocument", { source: `globalThis.longest = 50; new PerformanceObserver((list) => {
    for (const one of list.getEntries()) globalThis.longest = Math.max(globalThis.longest, one.duration); }).observe({ type: "longtask", buffered: true });
    const look = () => { if (!globalThis.first && document.querySelector("main.run .metrics")) globalThis.first = performance.now();
      if (!globalThis.all && globalThis.hocket?.session?.loaded) globalThis.all = performance.now(); requestAnimationFrame(look); }; requestAnimationFrame(look);` });
  const before = page.loads;
  await page.eval((to) => { history.replaceState(null, "", to); location.reload(); }, hash);
  await until(() => page.loads > before, "it is loaded");
  return page;
}

try {
  await timed(await server.begin("page", "1"));
  const alone = await timed(await server.begin("page", turns));
  const id = await server.begin("page", turns);
  const live = await open(`#/run/${id}`);
  const watched = await timed(id);
  await live.until(() => globalThis.hocket.session.loaded);
  const events = await live.eval(() => globalThis.hocket.session.records.length);
  const frame = await live.eval(() => Math.max(globalThis.longest, globalThis.hocket.frames.longest));
  await live.close();
  const kept = await open(`#/run/${id}`);
  await kept.until(() => globalThis.first && globalThis.all);
  const [first, all] = await kept.eval(() => [globalThis.first, globalThis.all]);
  console.log(JSON.stringify({ picture: first, all, frame, watched, alone, events }));
} finally {
  await server.close();
  await browser.close();
}
process.exit(0);
