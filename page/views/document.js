// The document: its slots with who wrote what, a slider over its versions with what each has changed, clean or with its authors.
import { button, empty, hue, save, who } from "../parts.js";
import { difference } from "../diff.js";
import { h } from "../view.js";
import { markdown } from "../markdown.js";
import { MOVES } from "../keys.js";
import { slotsAt, textOf } from "../slots.js";
import * as format from "../format.js";

const ENTRIES = 300, SLOTS = 300;

function viewOf(app) {
  app.ui.document ??= { number: null, version: null, tagged: true, compare: false, all: new Set() };
  return app.ui.document;
}

function current(app) {
  const all = app.session.state.documents;
  return all.find((one) => one.number === viewOf(app).number) ?? all[0];
}

const shownVersion = (app, document) => Math.min(viewOf(app).version ?? document.version, document.version);

function choose(app, version) {
  const document = current(app);
  if (!document) return;
  viewOf(app).version = version >= document.version ? null : Math.max(0, version);
  app.redraw();
}

export function documentKeys(app) {
  const by = (n) => () => current(app) && choose(app, shownVersion(app, current(app)) + n);
  const flip = (name) => () => { viewOf(app)[name] = !viewOf(app)[name]; app.redraw(); };
  return { "[": ["one version back", by(-1), MOVES], "]": ["one version on", by(1), MOVES], "c": ["clean, or with authors", flip("tagged")], "v": ["what the version has changed", flip("compare")] };
}

function marked(parts) {
  return h("p.compared", null, parts.map((part) => h({ same: "span", added: "ins", removed: "del" }[part.kind], null, part.text)));
}

function entryView(entry, tagged, fresh) {
  if (!tagged) return markdown(entry.content);
  return h("div.entry", { key: entry.version, class: hue(entry.author) + (fresh ? " fresh" : "") },
    h("div.entry-by", null, who(entry.author), h("span.of", null, `version ${entry.version}${entry.merged ? ` · merged ${entry.merged}` : ""}`)), markdown(entry.content));
}

// The newest entries of a slot, and on demand all.
function entriesOf(app, slot, version, most) {
  const { tagged, all } = viewOf(app), left = all.has(slot.key) ? 0 : Math.max(0, slot.entries.length - most);
  const more = left > 0 ? button(`${left} earlier entries`, () => { all.add(slot.key); app.redraw(); }, { kind: "quiet" }) : null;
  return [more, slot.entries.slice(left).map((entry) => entryView(entry, tagged, entry.version === version))];
}

function slotView(app, slot, before, version, most) {
  const changed = slot.version === version;
  const body = viewOf(app).compare && changed ? marked(difference(textOf(before), textOf(slot))) : entriesOf(app, slot, version, most);
  return h("section.slot", { key: slot.key, class: changed ? "changed" : "" }, h("h3", null, slot.name), body);
}

// How many entries of each slot are shown at once, of many slots fewer.
const share = (slots) => Math.max(3, Math.floor(ENTRIES / Math.max(1, slots.length)));

function slider(app, document, version) {
  const change = document.versions.find((one) => one.version === version);
  return h("div.versions", null,
    button("‹", () => choose(app, version - 1), { kind: "quiet round", title: "One version back ([)", disabled: version <= 0 }),
    h("input", { type: "range", min: 0, max: document.version, value: version, step: 1, aria: { label: "Version", valuetext: `version ${version} of ${document.version}` }, oninput: (e) => choose(app, Number(e.target.value)) }),
    button("›", () => choose(app, version + 1), { kind: "quiet round", title: "One version on (])", disabled: version >= document.version }),
    h("span.version-words", null, h("b", null, `version ${version}`), h("span.of", null, ` of ${document.version}`),
      change ? [" · ", who(format.text(change.author ?? "?")), h("span.of", null, " " + format.line(change.change_description, 100))] : null));
}

function plain(document, version) {
  return slotsAt(document, version).map((slot) => `## ${slot.name}\n\n${textOf(slot)}\n`).join("\n");
}

function tools(app, document, version) {
  const view = viewOf(app), all = app.session.state.documents;
  const flip = (name, on, off) => h("button.choice", { type: "button", aria: { pressed: view[name] }, onclick: () => { view[name] = !view[name]; app.redraw(); } }, view[name] ? on : off);
  return h("div.tools", null,
    all.length > 1 ? h("select", { value: String(document.number), aria: { label: "Document" }, onchange: (e) => { view.number = Number(e.target.value); view.version = null; app.redraw(); } }, all.map((one) => h("option", { value: String(one.number) }, "Document " + one.number))) : null,
    flip("tagged", "With authors", "Clean"), flip("compare", "What changed", "Compare"), h("span.grow", null),
    button("Save", () => save(`document-${document.number}-v${version}.md`, plain(document, version), "text/markdown"), { kind: "quiet" }));
}

export function documentView(app) {
  const document = current(app);
  if (!document) return empty("No document", "What agents write together stands here, slot by slot.");
  const version = shownVersion(app, document);
  const slots = slotsAt(document, version), before = new Map(slotsAt(document, version - 1).map((slot) => [slot.key, slot]));
  return h("div.document", null, tools(app, document, version), slider(app, document, version),
    h("div.paper", null, slots.length === 0 ? empty("Empty", "Nothing was written up to this version.") : slots.slice(0, SLOTS).map((slot) => slotView(app, slot, before.get(slot.key), version, share(slots))),
      slots.length > SLOTS ? h("p.note", null, `${slots.length - SLOTS} slots more: Save has them`) : null));
}
