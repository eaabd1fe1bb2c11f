// The page attacked: by what models, tools and files say, by other sites in the same browser, by names that lead here.
// Each case shows, too, that the attack works where the defence is taken away: else it would prove nothing.
import { createServer } from "node:http";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Server } from "./support/server.mjs";
import { HOSTILE, damage, hostileRun, lieInWait, lookAtAll } from "./support/hostile.mjs";
import { ok, run, same, test } from "./support/check.mjs";
import { until } from "./support/browser.mjs";
import { call, desk } from "./support/fixtures.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");

async function enter(browser, server) {
  const page = await browser.page();
  await lieInWait(page);
  await page.go(server.door);
  await page.until(() => document.querySelector("main.runs"));
  return page;
}

/** A site of somebody else's, which has these pages. */
async function elsewhere(pages) {
  const site = createServer((request, response) => {
    response.setHeader("content-type", "text/html");
    response.end(pages[request.url] ?? "");
  });
  await new Promise((resolve) => site.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${site.address().port}`, close: () => site.close() };
}

async function countRuns(server) {
  return (await server.ask("GET", "/api/runs?limit=100")).body.runs.length;
}

// ---- What a run says --------------------------------------------------------------------------------------------------

async function lookAtHostile(browser, server) {
  const page = await enter(browser, server);
  await page.until(() => document.querySelector(".runs-list")?.innerText.includes("onerror"));
  const found = await damage(page, server.url);
  await page.eval(() => { location.hash = "#/inbox"; });
  await page.until(() => document.querySelector("main.inbox")?.innerText.includes("onerror"));
  found.push(...await damage(page, server.url));
  await lookAtAll(page, HOSTILE);
  found.push(...await damage(page, server.url));
  await page.close();
  return [...new Set(found)];
}

test("texts of models, tools, files, agents, slots and the inbox stay texts", async ({ browser, server }) => {
  same(await lookAtHostile(browser, server), []);
});

// What the same look sees of the page with a change in one of its files, served from a directory; the run's own view is enough.
async function weakened(browser, changes, wanted, { bypass = false } = {}) {
  const dir = mkdtempSync(join(tmpdir(), "weak-"));
  cpSync(join(root, "page"), dir, { recursive: true });
  for (const [name, from, to] of changes) {
    const text = readFileSync(join(dir, name), "utf8");
    ok(text.includes(from), `${name} has no '${from}' any more: what is weakened here?`);
    writeFileSync(join(dir, name), text.replace(from, to));
  }
  process.env.HOCKET_PAGE_DIR = dir;
  let server;
  try {
    server = await Server.open({ ...desk, fill: hostileRun() });
    const page = await browser.page();
    await lieInWait(page);
    await page.send("Page.setBypassCSP", { enabled: bypass });
    await page.go(server.door);
    await page.eval((hash) => { location.hash = hash; }, `#/run/${HOSTILE}/transcript`);
    const found = await until(async () => {
      const seen = await damage(page, server.url);
      return seen.some(wanted) && seen;
    }, "it sees what is weakened");
    const came = await page.eval(() => globalThis.came);
    await page.close();
    return { found, came };
  } finally {
    delete process.env.HOCKET_PAGE_DIR;
    await server?.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

const text = "return document.createTextNode(described);";
const parsing = `{ const e = document.createElement("span"); e[KINDS] = { described: null, handlers: {}, children: [] }; e.innerHTML = described; return e; }`;

test("a page that parses texts is attacked with success where its policy is off, and held by the policy alone", async ({ browser }) => {
  const open = await weakened(browser, [["view.js", text, parsing]], (one) => one === "img", { bypass: true });
  ok(open.came.includes("img"), `the attacks are none: ${open.found}`);
  const held = await weakened(browser, [["view.js", text, parsing]], (one) => one.includes("TrustedHTML"));
  same(held.came, []);
});

test("links that lead anywhere, and elements out of JSON, are seen where the page makes some", async ({ browser }) => {
  await weakened(browser, [["view.js", "if (!/^(https?:\\/\\/|mailto:)/i.test(text)) return null;", ""],
    ["view.js", 'return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : null;', "return url.href;"]], (one) => one.startsWith("a href="));
  await weakened(browser, [["view.js", "else if (child instanceof Described) into.push(child);", "else if (child instanceof Described) into.push(child); else if (child?.tag) into.push(new Described('iframe', none, []));"],
    ["view.js", "const htmlTags = new Set((\"", "const htmlTags = new Set((\"iframe "], ["parts.js", "cut ? whole.slice(0, most) : whole)", "whole.startsWith(\"{\") ? JSON.parse(whole) : whole)"]], (one) => one === "<iframe>");
});

test("what an address says stays a text, too", async ({ browser, server }) => {
  const page = await enter(browser, server);
  for (const hash of ["#/run/<img src=x onerror=pwned('hash')>", "#/run/javascript:pwned('run')", "#/%3Cscript%3Epwned('place')%3C/script%3E", "#/__proto__", "#/constructor/constructor/constructor",
    "#/new/<img src=x onerror=pwned('new')>", "#/run/..%2f..%2fapi%2fruns", `#/run/${HOSTILE}/__proto__`, `#/run/${HOSTILE}/transcript?op=<img src=x onerror=pwned('op')>`, "#/%E0%A4%A"]) {
    await page.eval((one) => { location.hash = one; }, hash);
    await page.until(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(document.querySelector("main") !== null)))));
  }
  page.errors = page.errors.filter((one) => !one.includes("Failed to load resource")); // a run that is none is 400 or 404
  same(await damage(page, server.url), []);
  await page.close();
});

// ---- Other sites ---------------------------------------------------------------------------------------------------------

const tries = (url, agent) => `<script>
  const run = JSON.stringify({ target: ${JSON.stringify(agent)}, input: "say stolen" }), to = ${JSON.stringify(url)} + "/api/runs";
  globalThis.done = Promise.allSettled([
    fetch(to, { method: "POST", body: run, headers: { "content-type": "application/json" } }),
    fetch(to, { method: "POST", body: run, mode: "no-cors" }),
    fetch(to, { method: "POST", body: run, mode: "no-cors", credentials: "include" }),
    fetch(to, { method: "POST", body: new Blob([run], { type: "application/x-www-form-urlencoded" }), mode: "no-cors" }),
    fetch(to, { method: "POST", body: new Blob([run], { type: "" }), mode: "no-cors" }),
    Promise.resolve(navigator.sendBeacon(to, new Blob([run], { type: "text/plain" }))),
    Promise.resolve(navigator.sendBeacon(to, new Blob([run], { type: "application/json" }))),
    fetch(to).then((r) => r.text()), fetch(to, { mode: "no-cors" }),
  ]).then((all) => all.map((one) => one.status + (one.value?.type ?? (typeof one.value === "string" ? "READ" : ""))));
</script>`;

const form = (url, agent) => `<form method="post" enctype="text/plain" action="${url}/api/runs"><input name='{"target":"${agent}","input":"say stolen","x":"' value='"}'></form><script>document.forms[0].submit()</script>`;

test("other sites begin no runs and read none, also where no token is asked for", async ({ browser, server }) => {
  const open = await Server.open({ ...desk, options: ["--no-token"] });
  try {
    for (const one of [server, open]) {
      const before = await countRuns(one);
      const site = await elsewhere({ "/": tries(one.url, "guide"), "/form": form(one.url, "guide") });
      const page = await browser.page();
      await page.go(site.url + "/");
      const told = await page.until(() => globalThis.done);
      ok(!told.some((all) => all.includes("READ")), `it has read: ${told}`);
      await page.go(site.url + "/form");
      await page.until((where) => location.href.startsWith(where), one.url);
      ok(/"code"/.test(await page.text()), "the form was taken");
      same(await countRuns(one), before, "runs that another site has begun:");
      await page.close();
      site.close();
    }
    // The same request, of the page's own: so nothing else has stopped it.
    const page = await browser.page();
    await page.go(open.url + "/");
    same(await page.eval(async () => (await fetch("/api/runs", { method: "POST", body: JSON.stringify({ target: "guide", input: "say mine" }), headers: { "content-type": "application/json" } })).status), 201);
    await page.close();
  } finally {
    await open.close();
  }
});

test("an origin that was let in is the only one that is", async ({ browser }) => {
  const site = await elsewhere({}), other = await elsewhere({});
  const open = await Server.open({ ...desk, options: ["--origin", site.url] });
  try {
    for (const [from, may] of [[site, true], [other, false]]) {
      const page = await browser.page();
      await page.go(from.url + "/x");
      same(await page.eval((url, token) => fetch(url + "/api/agents", { headers: { authorization: "Bearer " + token } }).then((r) => r.ok, () => false), open.url, open.token), may, `${may}:`);
      await page.close();
    }
  } finally {
    await open.close();
    site.close();
    other.close();
  }
});

test("nobody frames it", async ({ browser, server }) => {
  const site = await elsewhere({ "/": `<iframe src="${server.url}/"></iframe><iframe src="/harmless"></iframe>`, "/harmless": "harmless" });
  const page = await browser.page();
  await page.go(site.url + "/");
  const { frameTree } = await page.send("Page.getFrameTree");
  const urls = frameTree.childFrames.map(({ frame }) => frame.url);
  ok(urls.some((one) => one.endsWith("/harmless")), `the other frame is not there: ${urls}`);
  ok(!urls.some((one) => one.startsWith(server.url)), "it was framed");
  await page.close();
  site.close();
});

test("a name that leads here is let in nowhere (DNS rebinding)", async ({ browser }) => {
  const open = await Server.open({ ...desk, options: ["--no-token"] }), named = await Server.open({ ...desk, options: ["--name", "friend.test"] });
  try {
    for (const [server, name, status] of [[open, "evil.test", 403], [open, "localhost.evil.test", 403], [open, "localhost", 200], [named, "evil.test", 403], [named, "friend.test", 401]]) {
      const page = await browser.page();
      await page.go(`http://${name}:${new URL(server.url).port}/`);
      same(await page.eval(() => fetch("/api/runs").then((r) => r.status)), status, `${name}:`);
      same(await page.eval(() => document.querySelector("#page") !== null), status !== 403, `the page as ${name}:`);
      await page.close();
    }
  } finally {
    await open.close();
    await named.close();
  }
});

test("a page elsewhere opens it, and gets nothing of it", async ({ browser, server }) => {
  const site = await elsewhere({ "/": "<script>globalThis.other = window.open(" + JSON.stringify(server.url + "/") + ")</script>" });
  const page = await browser.page();
  await page.go(site.url + "/");
  const told = await page.until(() => new Promise((resolve) => {
    const look = () => { // a window of another group is closed to us
      try {
        if (!globalThis.other || globalThis.other.closed) return resolve("closed");
        resolve(String(globalThis.other.document.title === undefined));
      } catch {
        resolve("closed");
      }
    };
    setTimeout(look, 100);
  }));
  same(told, "closed");
  await page.close();
  site.close();
});

test("what it is sent with", async ({ server }) => {
  const answer = await fetch(server.url + "/");
  const policy = answer.headers.get("content-security-policy");
  for (const word of ["default-src 'self'", "script-src 'self'", "object-src 'none'", "base-uri 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"]) ok(policy.includes(word), word);
  ok(!/unsafe|\*/.test(policy), policy);
  same(answer.headers.get("x-content-type-options"), "nosniff");
  same(answer.headers.get("referrer-policy"), "no-referrer");
  for (const path of ["/page/..%2f..%2fdesk%2fguide.md", "/page/%2e%2e/desk/guide.md", "/page/main.js%00", "/page/", "/page/serve-token"]) ok((await fetch(server.url + path)).status >= 400, path);
  // What a run has read is a file to be kept, never a page of this origin.
  const id = await server.begin("guide", call("ask_user", { question: "?" }));
  const { body } = await server.ask("GET", `/api/runs/${id}/files`);
  for (const { hash } of body.files ?? []) {
    const file = await fetch(`${server.url}/api/runs/${id}/files/${hash}`, { headers: { authorization: `Bearer ${server.token}` } });
    same([file.headers.get("content-disposition"), file.headers.get("x-content-type-options")], ["attachment", "nosniff"]);
  }
});

run(async () => {
  const server = await Server.open({ ...desk, fill: hostileRun() });
  return { server, after: () => server.clear(), close: () => server.close() };
}, ["--host-resolver-rules=MAP *.test 127.0.0.1"]);
