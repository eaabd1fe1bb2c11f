// The records as they are: filtered by words and by type, each to be opened, all that fit to be saved.
import { Scroll, windowed } from "../list.js";
import { button, empty, save, verbatim, who } from "../parts.js";
import { h } from "../view.js";
import * as format from "../format.js";

const ROW = 30;
const scroll = new Scroll({ estimate: ROW, atEnd: true });

function viewOf(app) {
  app.ui.raw ??= { words: "", type: "", chosen: null, matched: [], seen: 0 };
  return app.ui.raw;
}

const texts = new WeakMap();

// A record as text, for those that were looked at or searched.
function textOf(record) {
  let text = texts.get(record);
  if (text === undefined) texts.set(record, text = JSON.stringify(record).toLowerCase());
  return text;
}

function fits(record, view, words) {
  if (view.type && record.type !== view.type) return false;
  return words.length === 0 || words.every((word) => textOf(record).includes(word));
}

// Those that fit; of records that came since, those alone are looked at.
function matching(app) {
  const { session } = app, view = viewOf(app);
  if (!view.words && !view.type) return session.at === null ? session.records : session.records.slice(0, session.indexOf(session.at));
  const wanted = `${view.words}\n${view.type}`, words = view.words.toLowerCase().split(/\s+/).filter(Boolean);
  if (view.wanted !== wanted || view.of !== session) Object.assign(view, { wanted, matched: [], seen: 0, of: session });
  for (; view.seen < session.records.length; view.seen++) {
    const record = session.records[view.seen];
    if (fits(record, view, words)) view.matched.push(record);
  }
  return session.at === null ? view.matched : view.matched.filter((record) => record.seq <= session.at);
}

const known = new Set(["seq", "time", "run", "generation", "op", "agent", "type"]);

function summary(record) {
  const parts = [];
  for (const name in record) {
    if (known.has(name)) continue;
    const value = record[name];
    parts.push(`${name}: ${typeof value === "string" ? value.slice(0, 200) : JSON.stringify(value).slice(0, 200)}`);
    if (parts.length > 5) break;
  }
  return format.line(parts.join("  "), 400);
}

function row(app, record) {
  const view = viewOf(app);
  return h("button.record", { type: "button", class: view.chosen === record.seq ? "chosen" : "", onclick: () => { view.chosen = view.chosen === record.seq ? null : record.seq; app.redraw(); } },
    h("span.seq", null, record.seq), h("span.record-type", { class: ["error", "warning", "task_failed"].includes(record.type) ? "bad" : "" }, format.words(record.type)), record.agent ? who(format.text(record.agent)) : h("span", null), h("span.record-rest", null, summary(record)));
}

function detail(app, view) {
  const record = view.chosen !== null ? app.session.records[app.session.indexOf(view.chosen) - 1] : null;
  if (!record || record.seq !== view.chosen) return null;
  return h("aside.card.detail", { key: "detail" }, h("header", null, h("b", null, `#${record.seq} ${format.words(record.type)}`), h("span.of", null, format.clock(Date.parse(record.time))), h("span.grow", null),
    button("Go there", () => app.session.goTo(record.seq), { kind: "quiet" }), button("×", () => { view.chosen = null; app.redraw(); }, { kind: "quiet round", title: "Close" })),
    verbatim(JSON.stringify(record, null, 2), { most: 100000 }));
}

export function raw(app) {
  const { session } = app, view = viewOf(app), all = matching(app);
  const types = [...session.live.types.keys()].sort();
  return h("div.raw", null,
    h("div.tools", null,
      h("input.search", { id: "search", type: "search", placeholder: "Words in records", value: view.words, aria: { label: "Words in records" }, oninput: (e) => { view.words = e.target.value; app.redraw(); } }),
      h("select", { value: view.type, aria: { label: "Type" }, onchange: (e) => { view.type = e.target.value; app.redraw(); } }, h("option", { value: "" }, "all types"), types.map((type) => h("option", { value: type }, `${format.words(type)} (${session.live.types.get(type)})`))),
      h("span.of", null, `${all.length} of ${session.records.length}`), h("span.grow", null),
      button("Save", () => save(`${session.id}.jsonl`, all.map((record) => JSON.stringify(record)).join("\n") + "\n"), { kind: "quiet", title: "Those that fit, as lines of JSON", disabled: all.length === 0 })),
    h("div.raw-body", { class: view.chosen !== null ? "with-detail" : "" },
      all.length === 0 ? empty("Nothing fits") : windowed("div.records", scroll, all.length, (i) => row(app, all[i]), { key: (i) => all[i].seq, aria: { label: "Records" } }),
      detail(app, view)));
}
