// What is asked of a server that is away.
import { assert, test } from "./harness.mjs";
import { Asked, pauseAfter } from "../page/asked.js";

const settle = async () => { for (let i = 0; i < 20; i++) await Promise.resolve(); };

// A server, a clock, and a view that draws itself whenever something has changed.
function watched() {
  const world = { now: 0, asked: 0, away: true, timers: [], drawn: 0 };
  const asked = new Asked(async () => { world.asked++; if (world.away) throw new Error("away"); return "agents " + world.asked; }, () => { world.drawn++; asked.get(); },
    { now: () => world.now, later: (fn, ms) => world.timers.push({ fn, at: world.now + ms }) });
  world.pass = async (ms) => {
    for (const end = world.now + ms; world.now < end; world.now += 50) {
      for (const timer of world.timers.splice(0)) timer.at <= world.now ? timer.fn() : world.timers.push(timer);
      asked.get(); // somebody moves the mouse
      await settle();
    }
  };
  return { world, asked };
}

const { world, asked } = watched();
await world.pass(60000);
const away = world.asked;
const error = asked.error?.message;
world.away = false;
await world.pass(16000);
const found = asked.get(), once = world.asked;
await world.pass(10000);
const fresh = world.asked;
await world.pass(25000);

test("a server that is away is asked more and more rarely", () => {
  assert.ok(away >= 5 && away <= 9, `${away} times in a minute`);
  assert.equal(error, "away");
  assert.deepEqual([1, 2, 3, 6, 50].map(pauseAfter), [500, 1000, 2000, 15000, 15000]);
});

test("when it is there again the answer is, without a reload, and it is kept for a while", () => {
  assert.match(String(found), /^agents /);
  assert.equal(fresh, once);
  assert.equal(asked.error, null);
  assert.ok(world.asked > fresh, "what is old is asked for anew");
});
