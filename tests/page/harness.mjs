// test("name", () => …): a failure is told with its name, and the program ends with 1.
import assert from "node:assert/strict";
let failed = 0;

// What modules ask of a browser without drawing anything.
globalThis.document = { visibilityState: "visible" };
globalThis.requestAnimationFrame = () => 0;

export function test(name, fn) {
  try {
    fn();
    console.log("  ok " + name);
  } catch (error) {
    failed++;
    console.log(`  FAILED ${name}\n${error.stack}`);
    process.exitCode = 1;
  }
}

/** A description of elements (view.js) as a text, to be compared. */
export function told(one) {
  if (typeof one === "string") return one.replace(/[&<>]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c]);
  const href = one.props.href !== undefined ? ` href=${one.props.href}` : "";
  return `<${one.tag}${href}>${one.children.map(told).join("")}</${one.tag}>`;
}

/** The same numbers each time. */
export function dice(seed) {
  let state = seed;
  return (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 4294967296) * n);
  };
}

export { assert };
