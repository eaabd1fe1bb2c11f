// The page of `hocket serve`, used as a person would: by the mouse and by keys, from its door to what a run has come to.
import { readFileSync } from "node:fs";
import { Server } from "./support/server.mjs";
import { ok, run, same, test } from "./support/check.mjs";
import { until } from "./support/browser.mjs";
import { call, desk, inOrder } from "./support/fixtures.mjs";

const views = ["", "board", "document", "timeline", "tree", "transcript", "cost", "events"];
const shown = (id, view = "") => `#/run/${id}${view ? "/" + view : ""}`;

async function enter({ browser, server }, options) {
  const page = await browser.page(options);
  await page.go(server.door);
  await page.until(() => document.querySelector("main.runs"));
  return page;
}

async function look(page, id, view) {
  await page.eval((hash) => { location.hash = hash; }, shown(id, view));
  await page.until((hash) => location.hash === hash && globalThis.hocket.session?.loaded | globalThis.hocket.session?.records.length > 0, shown(id, view));
}

/** Nothing went wrong, nobody else was asked, and no address has the token. */
function clean(page, server) {
  same(page.errors.filter((one) => !/^Failed to load resource.*\/api\//.test(one)), []); // what the server refuses, the page says
  same(page.dialogs, []);
  same(page.requests.filter(({ url }) => !url.startsWith(server.url + "/") && !/^(data|blob):/.test(url)).map(({ url }) => url), []);
  same(page.requests.filter(({ url }) => url.slice(server.url.length).replace(/#.*/, "").includes(server.token)).map(({ url }) => url), []);
}

// One run of the team is looked at by several cases.
let planned;

test("the token: asked for, taken out of the address, kept for the tab alone", async ({ browser, server }) => {
  const page = await browser.page();
  await page.go(server.url);
  await page.shows("Who is there?");
  const refused = () => page.errors.filter((one) => one.includes("401")).length, before = refused();
  await page.type("wrong", "input[name=token]");
  await page.key("Enter");
  await until(() => refused() > before, "a wrong token is refused");
  await page.until(() => { // the form comes back
    const field = document.querySelector("input[name=token]");
    if (field) field.value = "";
    return field !== null;
  });
  await page.type(server.token, "input[name=token]");
  await page.click("button", "Enter");
  await page.until(() => document.querySelector("main.runs"));
  await page.close();

  const other = await enter({ browser, server });
  ok(!(await other.eval(() => location.href)).includes(server.token), "the token stays in the address");
  same(await other.eval(() => [document.cookie, localStorage.length]), ["", 0]);
  ok(!(await other.eval(() => history.state)), "the token may stand in the history");
  clean(other, server);
  await other.close();
});

test("a run is begun, watched from its first event, asked, answered", async ({ browser, server }) => {
  const page = await enter({ browser, server });
  await page.click("a", "New run");
  await page.click("a", "guide");
  await page.type(call("ask_user", { question: "Which city?" }, "Lisbon it is, **of course**"), "textarea");
  await page.click("button", "Begin");
  await page.shows("Which city?", "main.run form.answer");
  const seen = await page.eval(() => globalThis.hocket.session.records.map(({ seq }) => seq));
  same(seen, seen.map((_, i) => i + 1), "each record once, in its order:");
  ok(seen.length > 0 && !(await page.eval(() => globalThis.hocket.session.state.answer)), "the answer is there before it was given");
  await page.type("Lisbon", "main.run form.answer textarea");
  await page.click("main.run button", "Answer");
  await page.shows("Lisbon it is, of course", "main.run");
  await page.until(() => document.querySelector(".run-title .chip")?.innerText.includes("done"));
  ok(await page.eval(() => [...document.querySelectorAll("#view strong")].some((one) => one.innerText === "of course")), "its Markdown is not shown as such");
  const last = await page.eval(() => globalThis.hocket.session.records.map(({ seq }) => seq));
  same(last, last.map((_, i) => i + 1), "each record once, in its order:");
  clean(page, server);
  await page.close();
});

test("a plan is approved, and all views show what came of it", async ({ browser, server }) => {
  const page = await enter({ browser, server });
  planned = await server.begin("lead", "Two days in Rome");
  await page.eval(() => { location.hash = "#/inbox"; });
  await page.click("button", "Go ahead");
  await server.state(planned, "done");
  await page.shows("Nothing waits for you");
  for (const view of views) {
    await look(page, planned, view);
    await page.until((name) => document.querySelector("main.run.view-" + (name || "overview")) && document.querySelector("#view").innerText.trim() !== "", view);
  }
  await look(page, planned, "board");
  await page.until(() => /done|completed/i.test(document.querySelector("#view").innerText));
  await look(page, planned, "timeline");
  await page.until(() => document.querySelector("#view svg, #view canvas, #view .bar, #view [class*=bar]"));
  await page.size(1200, 800);
  clean(page, server);
  await page.close();
});

test("a call is changed, allowed and denied in the inbox", async ({ browser, server }) => {
  const page = await enter({ browser, server });
  const first = await server.begin("guide", call("write_file", { path: "first.txt", content: "one\n" }, "written"));
  await page.eval(() => { location.hash = "#/inbox"; });
  await page.shows("write_file");
  await page.shows("first.txt");
  await page.shows("one", ".diff");
  // Just after something came the keys are not taken for it.
  await page.keys(["e"], () => [...document.querySelectorAll("main.inbox textarea")].some((one) => one.value.includes("first.txt")));
  await page.eval(() => {
    const field = [...document.querySelectorAll("main.inbox textarea")].find((one) => one.value.includes("first.txt"));
    field.value = field.value.replace("one", "two");
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
  });
  await page.click("main.inbox button", "Allow");
  await page.shows("Nothing waits for you");
  await server.state(first, "done");
  same(readFileSync(server.dir + "/first.txt", "utf8"), "two\n");
  const id = await server.begin("guide", call("write_file", { path: "second.txt", content: "x" }, "after all"));
  await page.shows("second.txt");
  await page.keys(["d"], () => document.querySelector("main.inbox").innerText.includes("Nothing waits for you"));
  await server.state(id, "done");
  let there = true;
  try {
    readFileSync(server.dir + "/second.txt");
  } catch {
    there = false;
  }
  ok(!there, "what was denied was done");
  clean(page, server);
  await page.close();
});

test("a link opens its question on a phone, and nothing else", async ({ browser, server }) => {
  const id = await server.begin("guide", call("write_file", { path: "linked.txt", content: "x" }, "written"));
  await server.state(id, "waiting");
  const link = String(server.run("answer", id, "a1", "--link", "--url", server.url).stdout).trim();
  const page = await browser.page({ width: 380, height: 700 });
  await page.go(link);
  await page.shows("linked.txt");
  ok(!(await page.eval(() => location.href)).includes("hkl_"), "the token stays in the address");
  same(await page.eval(() => [...document.querySelectorAll("main button")].map((one) => one.innerText.trim().split("\n")[0])), ["Allow", "Deny"]);
  same(await page.eval(() => document.querySelectorAll("nav a").length), 0);
  ok(await page.eval(() => document.documentElement.scrollWidth <= 380), "it stands out to the side");
  await page.until(() => document.querySelectorAll("main button:disabled").length === 0);
  await page.click("main button", "Allow");
  await page.shows("Your answer is kept");
  await server.state(id, "done");
  same(page.requests.filter(({ url }) => url.includes("/api/")).map(({ method, url }) => method + new URL(url).pathname), ["GET/api/inbox", "POST/api/runs/" + id + "/answers"]);
  await page.go("about:blank");
  await page.go(link);
  await page.shows("has been used");
  await page.close();
});

// How often something was answered. What is refused by the page asks nobody.
const answers = (page) => page.requests.filter(({ method, url }) => method === "POST" && url.endsWith("/answers")).length;

async function fourCalls({ browser, server }) {
  const page = await enter({ browser, server });
  await page.eval(() => { location.hash = "#/inbox"; });
  const ids = [];
  for (let i = 1; i <= 4; i++) {
    ids.push(await server.begin("guide", call("write_file", { path: `held${i}.txt`, content: "x" }, "written")));
    await page.until((n) => document.querySelectorAll("main.inbox .open").length === n, i);
  }
  await page.until(() => [...document.querySelectorAll("main.inbox .open")].every((card) => !card.querySelector("button:disabled")));
  return { page, ids };
}

test("a key that is held down answers one call", async ({ browser, server }) => {
  const { page } = await fourCalls({ browser, server });
  // Held for two seconds, and at least until the next one could be answered.
  await page.eval(async () => {
    const cards = () => [...document.querySelectorAll("main.inbox .open")], frame = () => new Promise(requestAnimationFrame), began = performance.now();
    const press = (repeat) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "a", repeat, bubbles: true, cancelable: true }));
    press(false);
    while (performance.now() < began + 2000 || cards().length === 4 || cards()[0]?.querySelector("button:disabled")) {
      press(true);
      await frame();
    }
  });
  same(await page.eval(() => document.querySelectorAll("main.inbox .open").length), 3);
  same(answers(page), 1, "calls answered:");
  // Pressed anew it answers the next, and that one alone, however quickly it is pressed.
  await page.eval(async () => {
    const count = () => document.querySelectorAll("main.inbox .open").length;
    for (let i = 0; count() === 3; i++) {
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true, cancelable: true }));
      await new Promise(requestAnimationFrame);
    }
    for (let i = 0; i < 5; i++) document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true, cancelable: true }));
  });
  await page.until(() => document.querySelector("main.inbox .open") && !document.querySelector("main.inbox .open button:disabled"));
  same(answers(page), 2, "calls answered:");
  clean(page, server);
  await page.close();
});

test("a card that has just come, or has moved, takes no answer", async ({ browser, server }) => {
  const { page } = await fourCalls({ browser, server });
  const waited = await page.eval(async () => {
    const cards = () => [...document.querySelectorAll("main.inbox .open")], allow = () => [...cards()[0].querySelectorAll("button")].find((one) => one.innerText.startsWith("Allow"));
    const box = allow().getBoundingClientRect(), x = box.x + box.width / 2, y = box.y + box.height / 2;
    const press = () => document.elementFromPoint(x, y)?.closest("button")?.click();
    let since;
    press();
    while (cards().length === 4) { // the next one slides under the pointer
      since = performance.now();
      press();
      await new Promise(requestAnimationFrame);
    }
    while (cards()[0].querySelector("button:disabled")) {
      press();
      await new Promise(requestAnimationFrame);
    }
    return performance.now() - since;
  });
  same(answers(page), 1, "calls answered by clicks at one place:");
  ok(waited >= 500, `it could be answered after ${waited} ms`);
  // What grows above it moves it, without a word from the server.
  const moved = await page.eval(async () => {
    const cards = () => [...document.querySelectorAll("main.inbox .open")];
    cards()[0].querySelector("summary").click();
    for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
    return [...cards()[1].querySelectorAll("button")].find((one) => one.innerText.startsWith("Allow")).disabled;
  });
  ok(moved, "a card that has moved can be answered");
  await page.click("main.inbox .open:nth-of-type(2) button", "Allow");
  await page.until(() => document.querySelectorAll("main.inbox .open").length === 2);
  same(answers(page), 2, "calls answered:");
  clean(page, server);
  await page.close();
});

test("what cannot be undone is confirmed elsewhere than it was asked for", async ({ browser, server }) => {
  const page = await enter({ browser, server });
  const id = await server.begin("guide", "say it is done");
  await server.state(id, "done");
  await look(page, id);
  const { x, y } = await page.place("main.run .run-head button", "Remove");
  for (let clicks = 1; clicks <= 3; clicks++) {
    for (const type of ["mousePressed", "mouseReleased"]) await page.send("Input.dispatchMouseEvent", { type, x, y, button: "left", clickCount: clicks });
  }
  await page.shows("Remove this run?", ".confirm");
  ok(await page.eval((at) => !document.elementFromPoint(at.x, at.y)?.closest(".confirm"), { x, y }), "it is confirmed where it was asked for");
  same((await server.ask("GET", `/api/runs/${id}`)).status, 200);
  await page.key("Escape");
  await page.until(() => !document.querySelector(".confirm"));
  await page.click("main.run .run-head button", "Remove");
  await page.click(".confirm button", "Remove the run");
  await page.until(() => document.querySelector("main.runs"));
  same((await server.ask("GET", `/api/runs/${id}`)).status, 404);
  clean(page, server);
  await page.close();
});

test("the document: its slider goes through the versions, by the mouse and by keys", async ({ browser, server }) => {
  const page = await enter({ browser, server });
  await look(page, planned, "document");
  const version = () => page.eval(() => Number(document.querySelector(".versions input[type=range]").value));
  await page.until(() => document.querySelector(".versions input[type=range]")?.value > 1);
  const last = await version(), text = await page.text(".paper");
  await page.click(".versions button", "‹");
  await page.until((n) => document.querySelector(".versions input").value === String(n), last - 1);
  await page.eval(() => {
    const range = document.querySelector(".versions input");
    range.value = "1";
    range.dispatchEvent(new InputEvent("input", { bubbles: true }));
  });
  await page.shows("version 1", ".version-words");
  const first = await page.text(".paper");
  ok(first !== text && first.trim() !== "", "version 1 is the last one");
  await page.eval(() => document.activeElement.blur());
  await page.key("]");
  await page.shows("version 2", ".version-words");
  for (let i = 2; i < last; i++) await page.key("]");
  await page.shows(`version ${last}`, ".version-words");
  same(await page.text(".paper"), text, "forth and back:");
  clean(page, server);
  await page.close();
});

test("the document's slots stand in their declared order, whenever they were written", async ({ browser, server }) => {
  const page = await enter({ browser, server });
  const id = JSON.parse(server.run("run", "-q", "--json", "jobs/slots.lua").stdout).run;
  const told = (page) => page.eval(() => document.querySelector("#view").innerText.match(/Of \d, \w+\./g));
  await look(page, id, "document");
  await page.shows("Of 1, evening.", "#view");
  same(await told(page), inOrder);
  await page.eval(() => document.activeElement.blur());
  await page.key("[");
  await page.key("[");
  await page.shows("version 3", ".version-words");
  same(await told(page), ["Of 1, morning.", "Of 1, evening.", "Of 2, morning."], "of version 3:");
  clean(page, server);
  await page.close();
  // And in its export.
  same(server.run("show", id, "--html", "slots.html").status, 0);
  const file = await browser.page();
  await file.go(`file://${server.dir}/slots.html#/run/${id}/document`);
  await file.shows("Of 1, evening.", "#view");
  same(await told(file), inOrder, "in the export:");
  await file.close();
});

test("time travel: to the beginning, by steps, back to the end", async ({ browser, server }) => {
  const page = await enter({ browser, server });
  await look(page, planned);
  await page.until(() => globalThis.hocket.session.loaded);
  const at = () => page.eval(() => globalThis.hocket.session.at);
  const last = await page.eval(() => globalThis.hocket.session.last);
  await page.key("Home");
  await page.until(() => globalThis.hocket.session.at === 1);
  ok(!(await page.text(".view")).includes("6 of 6"), "the end is shown at the beginning");
  await page.key(".");
  await page.until(() => globalThis.hocket.session.at === 2);
  await page.key(",");
  await page.until(() => globalThis.hocket.session.at === 1);
  // At each moment it is what the records up to it make, whichever way one came.
  const states = await page.eval((end) => {
    const { session } = globalThis.hocket, told = (s) => JSON.stringify([s.at, s.agents.map((a) => [a.op, a.state]), s.boards, s.usage]);
    const forth = [], back = [];
    for (let i = 1; i <= end; i++) { session.goTo(i); forth.push(told(session.state)); }
    for (let i = end; i >= 1; i--) { session.goTo(i); back.unshift(told(session.state)); }
    return forth.findIndex((one, i) => one !== back[i]);
  }, last);
  same(states, -1, "a moment that is not the same forth and back:");
  await page.key("End");
  await page.until(() => globalThis.hocket.session.at === null);
  same(await at(), null);
  clean(page, server);
  await page.close();
});

test("a run is forked, and goes on by itself", async ({ browser, server }) => {
  const page = await enter({ browser, server });
  const id = await server.begin("guide", "say the first");
  await server.state(id, "done");
  await look(page, id);
  await page.key("f");
  await page.type("say the second", "form.fork textarea");
  await page.click("form.fork button", "Fork");
  await page.until((old) => location.hash !== old, shown(id));
  await page.shows("fork of", ".run-title");
  await page.until(() => document.querySelector(".run-title .chip")?.innerText.includes("done"));
  await page.shows("the second", "#view");
  same((await server.ask("GET", `/api/runs/${id}`)).body.input, "say the first");
  clean(page, server);
  await page.close();
});

test("a run is put away and gone on with, and cancelled", async ({ browser, server }) => {
  const page = await enter({ browser, server });
  const id = await server.begin("guide", call("ask_user", { question: "Still there?" }, "yes, still"));
  await look(page, id);
  await page.shows("Still there?", "main.run form.answer");
  await page.click("main.run .actions button", "Pause");
  await page.until(() => document.querySelector(".run-title .chip")?.innerText.includes("parked"));
  await page.click("main.run .actions button", "Resume");
  await page.until(() => !document.querySelector(".run-title .chip")?.innerText.includes("parked"));
  await page.shows("Still there?", "main.run form.answer");
  await page.click("main.run .run-head button", "Cancel");
  await page.click(".confirm button", "Cancel the run");
  await page.until(() => document.querySelector(".run-title .chip")?.innerText.includes("cancelled"));
  clean(page, server);
  await page.close();
});

test("something is said to an agent at work, and heard before its next call", async ({ browser, server }) => {
  const page = await enter({ browser, server });
  const id = await server.begin("guide", call("ask_user", { question: "Which city?" }, "nothing was said"));
  await look(page, id);
  await page.shows("asks", ".agent-card");
  await page.shows("waits for an answer", ".agent-card");
  await look(page, id, "transcript");
  await page.type("say I was told so", "form.say textarea");
  await page.click("form.say button", "Say it");
  await page.shows("waits to be heard", ".items");
  await look(page, id);
  await page.type("Lisbon", "main.run form.answer textarea");
  await page.click("main.run form.answer button", "Answer");
  await server.state(id, "done");
  await look(page, id, "transcript");
  await page.shows("I was told so", ".items");
  await page.until(() => !document.querySelector(".items").innerText.includes("waits to be heard") && !document.querySelector("form.say"));
  same((await page.text(".said-item.final")).trim().split("\n").at(-1), "I was told so", "its answer:");
  clean(page, server);
  await page.close();
});

test("workers and pools: what nobody takes is seen, and goes when somebody does", async ({ browser, server }) => {
  const page = await enter({ browser, server });
  const id = server.submit("jobs/wait.lua", "gpu");
  await page.keys(["g", "w"], () => location.hash === "#/workers");
  await page.shows("There is none", "main.workers");
  await page.shows("nobody takes it", ".pool-row.unserved");
  const worker = server.work("--pool", "gpu");
  await page.shows("1 worker", ".pool-row");
  await page.until(() => document.querySelector(".worker-row .chip")?.innerText.includes("working") && !document.querySelector(".unserved"));
  await page.shows("1 of 8", ".worker-row");
  await server.ask("POST", `/api/runs/${id}/cancel`, {});
  await page.shows("0 of 8", ".worker-row");
  worker.kill("SIGTERM");
  await page.shows("There is none", "main.workers");
  clean(page, server);
  await page.close();
});

test("all by keys", async ({ browser, server }) => {
  const page = await enter({ browser, server });
  await page.until(() => document.querySelectorAll(".runs-list a, .runs-list button, .runs-list [role=row]").length > 0);
  await page.key("?");
  await page.shows("Keys");
  await page.key("Escape");
  await page.keys(["g", "i"], () => location.hash === "#/inbox");
  await page.keys(["g", "w"], () => location.hash === "#/workers");
  await page.keys(["g", "n"], () => location.hash === "#/new");
  await page.keys(["Escape", "g", "r"], () => document.querySelector("main.runs") !== null);
  await page.key("j");
  await page.key("Enter");
  await page.until(() => document.querySelector("main.run"));
  for (let i = 1; i <= 8; i++) {
    await page.key(String(i));
    await page.until((view) => document.querySelector("main.run.view-" + (view || "overview")), views[i - 1]);
  }
  // All that can be done has a place for the focus, and a name.
  const nameless = await page.eval(() => [...document.querySelectorAll("button, a[href], input, select, textarea, [role=button]")]
    .filter((e) => !(e.innerText?.trim() || e.getAttribute("aria-label") || e.title || e.labels?.length || e.placeholder)).map((e) => e.outerHTML.slice(0, 120)));
  same(nameless, [], "without a name:");
  clean(page, server);
  await page.close();
});

test("at 380 px nothing stands out to the side, light and dark", async ({ browser, server }) => {
  for (const dark of [false, true]) {
    const page = await enter({ browser, server }, { width: 380, height: 760, dark, reduced: true });
    const fits = (where) => page.until(() => document.scrollingElement.scrollWidth <= innerWidth).catch(() => { throw new Error(`${where} is wider than the screen`); });
    for (const place of ["#/", "#/inbox", "#/workers", "#/new", "#/new/guide"]) {
      await page.eval((hash) => { location.hash = hash; }, place);
      await page.until(() => document.querySelector("main"));
      await fits(place);
    }
    for (const view of views) {
      await look(page, planned, view);
      await page.until((name) => document.querySelector("main.run.view-" + (name || "overview")), view);
      await fits(view || "overview");
    }
    same(await page.eval(() => document.getAnimations().filter((one) => one.playState === "running" && one.effect.getTiming().iterations === Infinity).length), 0, "things that move for ever:");
    await page.close();
  }
});

test("what the server logs has no token", async ({ server }) => {
  ok(!readFileSync(server.log, "utf8").includes(server.token), "the access log has it");
  ok(!server.said.includes(server.token), "the server has said it");
});

run(async () => {
  const server = await Server.open(desk);
  return { server, after: () => server.clear(), close: () => server.close() };
});
