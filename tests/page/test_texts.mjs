// What views stand on: differences, slots, forms, events out of a stream.
import { assert, dice, test } from "./harness.mjs";
import { difference } from "../page/diff.js";
import { hasForm, read } from "../page/views/form.js";
import { parser } from "../page/sse.js";
import { slotsAt, textOf } from "../page/slots.js";
import * as format from "../page/format.js";

const before = (parts) => parts.filter((part) => part.kind !== "added").map((part) => part.text).join("");
const after = (parts) => parts.filter((part) => part.kind !== "removed").map((part) => part.text).join("");

test("a difference has both texts in it, and is as small as it can be", () => {
  assert.deepEqual(difference("one two three", "one 2 three"), [{ kind: "same", text: "one " }, { kind: "removed", text: "two" }, { kind: "added", text: "2" }, { kind: "same", text: " three" }]);
  assert.deepEqual(difference("", "a b"), [{ kind: "added", text: "a b" }]);
  assert.deepEqual(difference("a b", ""), [{ kind: "removed", text: "a b" }]);
  assert.deepEqual(difference("", ""), []);
  const roll = dice(11), words = ["a", "b", "c", " ", "\n", "ü", ".", "long"];
  for (let i = 0; i < 500; i++) {
    const make = () => Array.from({ length: roll(25) }, () => words[roll(words.length)]).join("");
    const a = make(), b = make(), parts = difference(a, b);
    assert.equal(before(parts), a);
    assert.equal(after(parts), b);
  }
  const much = difference("a ".repeat(20000), "b ".repeat(20000));
  assert.equal(after(much), "b ".repeat(20000));
});

const change = (version, slot, content, more) => ({ version, slot, content, author: "food", change: "append", change_description: `added to Day ${slot.day}`, ...more });

test("a document at each of its versions", () => {
  const document = { versions: [change(1, { day: 2 }, "two"), change(2, { day: 1 }, "one"), change(3, { day: 1 }, "more"), change(4, { day: 1 }, "later"),
    change(5, { day: 1 }, "one and more", { change: "consolidate", base_version: 3, change_description: "merged 2 entries into Day 1", author: "chief" }),
    change(6, { day: 1 }, "and even more"),
    change(7, { day: 1 }, "all of it", { change: "consolidate", base_version: 6, replaces: [4, 6], change_description: "merged 2 entries into Day 1", author: "chief" })] };
  const at = (n) => slotsAt(document, n).map((slot) => [slot.name, textOf(slot)]);
  assert.deepEqual(at(0), []);
  assert.deepEqual(at(1), [["Day 2", "two"]]);
  assert.deepEqual(at(4), [["Day 1", "one\n\nmore\n\nlater"], ["Day 2", "two"]]);
  assert.deepEqual(at(5), [["Day 1", "one and more\n\nlater"], ["Day 2", "two"]], "what came after it was read stays");
  assert.equal(slotsAt(document, 5)[0].entries[0].merged, 2);
  assert.deepEqual(at(7)[0], ["Day 1", "all of it\n\none and more"], "what was not read stays");
  assert.doesNotThrow(() => slotsAt({ versions: [{ version: "x", slot: null }, { version: 1, slot: "s", content: {} }, { version: 2, slot: { __proto__: null, a: {} } }] }, 9));
});

test("slots stand in the order that the document declares, whenever they were written", () => {
  const at = (version, part, place, day) => change(version, day === undefined ? { part } : { day, part }, part, { place, change_description: `added to ${part}` });
  const told = (versions) => slotsAt({ versions }, 99).map((slot) => slot.name);
  assert.deepEqual(told([at(1, "Morning", [1]), at(2, "Evening", [3]), at(3, "Afternoon", [2]), at(4, "General", [0])]), ["General", "Morning", "Afternoon", "Evening"]);
  assert.deepEqual(told([at(1, "b", [2, 1], 2), at(2, "c", [-1, 0], -1), at(3, "a", [0, 4], 0), at(4, "d", [2, 0], 2)]), ["a", "c", "d", "b"], "0 is general, and first");
  assert.deepEqual(told([at(1, "x", ["2"]), at(2, "y", [1.5]), at(3, "z", null)]), ["x", "y", "z"], "what is no place is none");
});

test("a form gives what the schema wants, or says what is missing", () => {
  const schema = { type: "object", required: ["city", "days"], properties: { city: { type: "string" }, days: { type: "integer" }, kids: { type: "boolean" }, tags: { type: "array", items: { type: "string" } },
    pace: { enum: ["slow", "fast"] }, hotel: { type: "object", required: ["stars"], properties: { stars: { type: "integer" } } }, rest: { type: "array", items: { type: "object" } } } };
  assert.ok(hasForm(schema));
  assert.equal(read(schema, {}).path, "city");
  assert.equal(read(schema, { city: "Rome", days: "x" }).path, "days");
  const typed = { city: "Rome", days: "3", kids: true, tags: "a\n\n b ", pace: '"slow"', "hotel.stars": "4", rest: '[{"a":1}]' };
  assert.deepEqual(JSON.parse(JSON.stringify(read(schema, typed).value)), { city: "Rome", days: 3, kids: true, tags: ["a", "b"], pace: "slow", hotel: { stars: 4 }, rest: [{ a: 1 }] });
  const strange = JSON.parse('{"properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"}}}');
  const typedThere = Object.create(null);
  Object.defineProperty(typedThere, "__proto__", { value: "a", enumerable: true });
  typedThere.constructor = "b";
  assert.equal(JSON.stringify(read(strange, typedThere).value), '{"__proto__":"a","constructor":"b"}');
  assert.equal(JSON.stringify(read(strange, Object.create(null)).value), "{}");
  assert.deepEqual({ ...read({ properties: { a: { type: "boolean" }, b: { type: "boolean" } }, required: ["b"] }, {}).value }, { b: false }, "what was not touched is not said");
  assert.equal(read(schema, { ...typed, rest: "{" }).path, "rest");
  assert.equal(read(schema, { ...typed, "hotel.stars": "" }).path, "hotel.stars");
  for (const none of [null, undefined, {}, [], "x", { properties: null }, { properties: { a: null } }]) assert.equal(hasForm(none), false);
});

test("events come out whole, in whichever pieces they come", () => {
  const text = 'id: 1\ndata: {"a":1}\n\n: at work\n\nevent: delta\ndata: x\ndata: y\n\nevent: end\ndata: {}\n\nid: 2\ndata: never ended';
  const wanted = [["message", '{"a":1}', "1"], ["delta", "x\ny", undefined], ["end", "{}", undefined]];
  for (let size = 1; size < text.length; size++) {
    const take = parser(), got = [];
    for (let i = 0; i < text.length; i += size) got.push(...take(text.slice(i, i + size)));
    assert.deepEqual(got.map((event) => [event.type, event.data, event.id]), wanted, "pieces of " + size);
  }
});

test("what is not known is not 0", () => {
  for (const fn of [format.cost, format.count, format.span, format.age, format.clock]) for (const value of [null, undefined, "x", {}]) assert.equal(fn(value), format.unknown);
  assert.equal(format.cost(0.00042), "$0.0004");
  assert.equal(format.count(12345), "12.3k");
  assert.equal(format.span(65000), "1 min 05 s");
  assert.equal(format.line("a\n b\t c"), "a b c");
});
