// The page of one run: how a case comes to it, what it reads there, and its pictures (`run.sh NAME "" DIR` writes them).
import { mkdirSync } from "node:fs";
import { join } from "node:path";

const pictures = process.argv[3];

export async function enter({ browser, server }, options) {
  const page = await browser.page(options);
  await page.go(server.door);
  await page.until(() => document.querySelector("main.runs"));
  return page;
}

export async function look(page, id, view = "") {
  await page.eval((hash) => { location.hash = hash; }, `#/run/${id}${view ? "/" + view : ""}`);
  await page.until((name) => document.querySelector("main.run.view-" + (name || "overview")) && globalThis.hocket.session?.records.length > 0, view);
}

export async function picture(page, name) {
  if (!pictures) return;
  mkdirSync(pictures, { recursive: true });
  await page.eval(() => new Promise((resolve) => setTimeout(resolve, 700)));
  await page.picture(join(pictures, name + ".png"));
}

// Texts of elements, without lists inside of them.
export const lines = (page, selector) => page.eval((one) => [...document.querySelectorAll(one)].map((item) => {
  const copy = item.cloneNode(true);
  for (const inner of copy.querySelectorAll("ul, kbd")) inner.remove();
  return copy.textContent.replace(/\s+/g, " ").trim();
}), selector);

/** Waits for words, whatever elements and lines they are in. */
export const reads = (page, words, selector) => page.until((wanted, one) => document.querySelector(one)?.innerText.replace(/\s+/g, " ").replace(/ ([:,.])/g, "$1").includes(wanted), words, selector);
