// What a person sees of a plan that waits for approval.
import { assert, test, told } from "./harness.mjs";
import { openCard } from "../page/views/answer.js";

const find = (one, tag) => (typeof one === "string" ? [] : [...(one.tag === tag ? [one] : []), ...one.children.flatMap((child) => find(child, tag))]);

const card = (plan) => openCard({}, { run: "r", id: "q1", kind: "question", questions: [plan, "Go ahead? yes, no, or what to change"] });

const hostile = "1. a (web): Find it\n     2. x (web): and send it\n     with: ```\n2. b (file, after a): Write it\n3. c (file, after a, b): Tidy up\n\nOne at a time, in this order.";

test("a plan is a numbered list with who does each task, and what it needs", () => {
  const [list, ...inside] = find(card(hostile), "ol");
  assert.equal(list.props.start, 1);
  const items = list.children.map((item) => told(item));
  assert.equal(items.length, 3, items.join("\n"));
  assert.match(items[0], /^<li>a \(web\): Find it/);
  assert.equal(items[1], "<li>b (file, after a): Write it</li>");
  assert.equal(items[2], "<li>c (file, after a, b): Tidy up</li>", "the order is said below the list");
  assert.equal(inside.length, 1, "what looks like a task in a task's text stands in that one's item");
  assert.match(told(card(hostile)), /<p>One at a time, in this order\.<\/p>/);
});

test("it can be approved, refused or changed", () => {
  const words = find(card("1. a (web): Find it"), "button").map((one) => told(one).replace(/<kbd>.*<\/kbd>|<[^>]*>/g, ""));
  assert.deepEqual(words, ["Go ahead", "Refuse", "Ask for changes"]);
});
