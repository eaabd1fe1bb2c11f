// Cases, one after the other, with one browser for all. A case that fails says why, and the rest goes on; the exit code tells.
import { Browser } from "./browser.mjs";

const cases = [];

export function test(name, fn) {
  cases.push({ name, fn });
}

export function ok(value, what) {
  if (!value) throw new Error(what ?? "not so");
}

export function same(a, b, what = "") {
  const x = JSON.stringify(a), y = JSON.stringify(b);
  if (x !== y) throw new Error(`${what} ${x} should be ${y}`);
}

/** Runs the cases; `only` (the first argument) is a part of their names. Skipped (77) where the browser cannot be started. */
export async function run(prepare = async () => ({}), flags = []) {
  const browser = await Browser.open(process.env.CHROMIUM ?? "chromium", flags);
  if (!browser) {
    console.log(`skipped: the browser does not start here: ${Browser.why}`);
    process.exit(77);
  }
  const only = process.argv[2] ?? "";
  let failed = 0, world = {};
  try {
    world = await prepare(browser);
    for (const { name, fn } of cases.filter((one) => one.name.includes(only))) {
      const began = Date.now();
      try {
        await fn({ ...world, browser });
        console.log(`ok ${name} (${Date.now() - began} ms)`);
      } catch (error) {
        failed++;
        console.log(`FAILED ${name}: ${error.stack}`);
      }
      await world.after?.();
    }
  } catch (error) {
    failed++;
    console.log(`FAILED: ${error.stack}`);
  } finally {
    await world.close?.();
    await browser.close();
  }
  process.exit(failed ? 1 : 0);
}
