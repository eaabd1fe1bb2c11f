// The static site of docs/ (docs/tools/site): its pages, its links, its search, and on a phone; from files, without any server.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ok, run, same, test } from "./support/check.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");

function pagesOf(dir) {
  return readdirSync(dir).flatMap((name) => {
    const path = join(dir, name);
    return statSync(path).isDirectory() ? pagesOf(path) : name.endsWith(".html") ? [path] : [];
  });
}

test("every link between pages leads to a page and a heading", async ({ browser, dir }) => {
  const page = await browser.page();
  const links = new Map(), ids = new Map(), paths = pagesOf(dir);
  ok(paths.length > 70, `${paths.length} pages`);
  for (const path of paths) {
    await page.go(`file://${path}`);
    const seen = await page.eval(() => ({ ids: [...document.querySelectorAll("[id]")].map((one) => one.id), links: [...document.querySelectorAll("main a")].map((one) => one.href), title: document.querySelector("main h1")?.innerText }));
    ok(seen.title, `${path} has no title`);
    ids.set(`file://${path}`, new Set(seen.ids));
    for (const link of seen.links) links.set(link, path);
  }
  const wrong = [];
  for (const [link, path] of links) {
    const [file, name] = link.split("#");
    if (!file.startsWith(`file://${dir}`) || !file.endsWith(".html")) continue;
    if (!ids.has(file) || name && !ids.get(file).has(decodeURIComponent(name))) wrong.push(`${path}: ${link}`);
  }
  same(wrong, []);
  same(page.errors, []);
  same([...new Set(page.requests.map(({ url }) => url.split(":")[0]))], ["file"], "something else than files was asked for:");
  await page.close();
});

test("the search finds sections, and leads to them", async ({ browser, dir }) => {
  const page = await browser.page();
  await page.go(`file://${dir}/guides/tools.html`);
  const first = (words) => page.eval((text) => {
    const box = document.querySelector("#search");
    box.value = text;
    box.dispatchEvent(new Event("input"));
    return document.querySelector("#results a")?.innerText ?? "";
  }, words);
  for (const [words, expected] of [["human in the loop", "Human in the loop"], ["prompt injection", "Guardrails and prompt injection"], ["structured output", "Structured output"],
    ["faq", "FAQ and troubleshooting"], ["hocket.flow", "hocket.flow"], ["quick start", "Documentation › Quick start"]]) same(await first(words), expected, `for '${words}':`);
  same(await first("xyzzyplugh"), "");
  ok((await first("named hosts")).includes("Named hosts"), "a section is found");
  await page.eval(() => document.querySelector("#results a").click());
  await page.until(() => location.hash === "#named-hosts" && document.querySelector("#results").hidden && document.querySelector("#named-hosts").getBoundingClientRect().top < innerHeight);
  same(page.errors, []);
  await page.close();
});

test("on a phone nothing is wider than the screen", async ({ browser, dir }) => {
  const page = await browser.page({ width: 360, height: 740, dark: true });
  const wide = [];
  for (const path of pagesOf(dir)) {
    await page.go(`file://${path}`);
    const over = await page.eval(() => document.documentElement.scrollWidth - innerWidth);
    if (over > 0) wide.push(`${path} by ${over} px`);
  }
  same(wide, []);
  await page.close();
});

run(async () => {
  const dir = mkdtempSync(join(tmpdir(), "site-"));
  const made = spawnSync(process.env.HOCKET, ["run", "-q", "--store", "off", "docs/tools/site/site.lua", dir], { cwd: root, encoding: "utf8" });
  same(made.status, 0, made.stderr);
  return { dir, close: () => rmSync(dir, { recursive: true, force: true }) };
});
