// A document out of its changes, at any version: slots with the entries that live there then.

import { text } from "./format.js";

const whole = (value) => (Number.isInteger(value) ? value : 0);

function nameOf(change, slot) {
  const said = typeof change.change_description === "string" ? change.change_description : "";
  const named = /^added to (.+)$/s.exec(said) ?? / into (.+)$/s.exec(said);
  if (named) return named[1].slice(0, 200);
  return Object.entries(slot).map(([name, value]) => `${name} ${text(value)}`).sort().join(", ").slice(0, 200) || "Document";
}

// Where a slot stands among all, as its record says; those of older runs do not say it.
const placeOf = (change) => (Array.isArray(change.place) && change.place.length > 0 && change.place.every(Number.isInteger) ? change.place : null);

// Of a dimension's numbers 0, which is general, stands first.
const before = (x, y) => (x === y ? 0 : x === 0 ? -1 : y === 0 ? 1 : x - y);

// As the document has them. Else by the numbers in them, of Day 1 before Day 2; else as they were begun.
function inOrder(a, b) {
  for (let i = 0; a.at && b.at && i < a.at.length && i < b.at.length; i++) {
    if (a.at[i] !== b.at[i]) return before(a.at[i], b.at[i]);
  }
  for (const name of Object.keys(a.slot).sort()) {
    const [x, y] = [a.slot[name], b.slot[name]];
    if (typeof x === "number" && typeof y === "number" && x !== y) return x - y;
  }
  return a.place - b.place;
}

function take(slots, change) {
  const slot = change.slot !== null && typeof change.slot === "object" ? change.slot : {};
  const key = JSON.stringify(Object.entries(slot).sort(([a], [b]) => (a < b ? -1 : 1)));
  let one = slots.get(key);
  if (!one) slots.set(key, one = { key, slot, name: nameOf(change, slot), at: placeOf(change), place: slots.size, entries: [] });
  const entry = { version: whole(change.version), author: text(change.author ?? change.agent ?? "?"), content: text(change.content), merged: 0 };
  if (change.change === "consolidate") {
    // It stands for what its author had read: entries that are listed, else all up to a version. What it had not read stays.
    const listed = Array.isArray(change.replaces) && new Set(change.replaces);
    const later = one.entries.filter((other) => (listed ? !listed.has(other.version) : other.version > whole(change.base_version)));
    entry.merged = one.entries.length - later.length;
    one.entries = [entry, ...later];
  } else {
    one.entries.push(entry);
  }
  one.version = Math.max(one.version ?? 0, entry.version);
}

const kept = new WeakMap();
const KEPT = 4;

function make(document, version) {
  const slots = new Map();
  for (const change of document.versions) {
    if (whole(change.version) <= version) take(slots, change);
  }
  return [...slots.values()].sort(inOrder);
}

/** The slots of a document as they were at a version, in the order in which they are read. The last few are kept: what is shown twice is made once. */
export function slotsAt(document, version) {
  let made = kept.get(document);
  if (!made || made.count !== document.versions.length) kept.set(document, made = { count: document.versions.length, byVersion: new Map() });
  if (!made.byVersion.has(version)) {
    if (made.byVersion.size >= KEPT) made.byVersion.delete(made.byVersion.keys().next().value);
    made.byVersion.set(version, make(document, version));
  }
  return made.byVersion.get(version);
}

export const textOf = (slot) => (slot ? slot.entries.map((entry) => entry.content).join("\n\n") : "");
