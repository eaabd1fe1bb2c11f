// Who works for the store, what lies in its pools and since when, what waits for whom.
import { address } from "../route.js";
import { button, chip, empty } from "../parts.js";
import { h } from "../view.js";
import * as format from "../format.js";

const since = (ms) => (typeof ms === "number" ? format.age(Date.now() - ms) : format.unknown);

// A column's name stands above it where there is room, else before the value.
function cell(name, value, kind = "") {
  return h("span.cell", { class: kind }, h("span.cell-name", null, name), h("span.cell-value", null, value));
}

// ---- Pools --------------------------------------------------------------------------------------------------------

function served(pool) {
  if (pool.unserved) return h("b.nobody", null, "nobody takes it");
  return pool.workers === 1 ? "1 worker" : `${pool.workers} workers`;
}

function poolRow(pool) {
  return h("div.pool-row", { key: pool.name, class: pool.unserved ? "unserved" : "" }, h("b.row-name", null, pool.name),
    cell("queued", [format.count(pool.queued), pool.queued > 0 ? h("span.of", null, " · " + since(pool.oldest_ms)) : null], pool.queued > 0 ? "has" : ""),
    cell("running", format.count(pool.running)), cell("later", format.count(pool.later)), cell("waiting", format.count(pool.waiting)), cell("parked", format.count(pool.parked)),
    cell("taken by", served(pool)));
}

function pools(list) {
  return h("section.card", null, h("h2", null, "Pools"), list.length === 0 ? h("p.of", null, "Nothing lies in any pool.") : list.map(poolRow));
}

// ---- Workers ------------------------------------------------------------------------------------------------------

function workerRow(worker) {
  return h("div.worker-row", { key: `${worker.host} ${worker.pid} ${worker.since_ms}` },
    h("span.row-name", null, chip(worker.state), h("b", null, worker.host), h("span.of", null, " " + worker.pid)),
    cell("runs", [format.count(worker.runs), h("span.of", null, " of " + format.count(worker.max_runs))]),
    cell("here for", since(worker.since_ms)), cell("last seen", worker.state === "lost" ? h("b.nobody", null, since(worker.seen_ms) + " ago") : since(worker.seen_ms)),
    cell("version", worker.version ?? format.unknown), cell("pools", worker.pools.join(", ")));
}

function workers(list) {
  return h("section.card", null, h("h2", null, "Workers"),
    list.length === 0 ? h("p.of", null, "There is none. ", h("code", null, "hocket work"), " is one: it does what ", h("code", null, "hocket run --detach"), " has put into the store.") : list.map(workerRow));
}

// ---- What waits for whom --------------------------------------------------------------------------------------------

function runLink(id, words) {
  return h("a", { href: address("run", id), title: id }, words || format.shortId(id));
}

function reason(one) {
  if (one.kind === "run") return h("span.reason", null, runLink(one.run, format.line(one.target, 40)), one.state ? chip(one.state) : null, one.pool ? h("span.of", null, " in " + one.pool) : null);
  if (one.kind === "time") return h("span.reason", null, "until ", format.clock(one.until_ms));
  return h("span.reason", null, format.words(one.kind), one.name ? h("code", null, " " + format.line(one.name, 60)) : null);
}

function blockedRow(one) {
  return h("div.blocked-row", { key: one.run }, h("span.row-name", null, one.state ? chip(one.state) : null, runLink(one.run, format.line(one.target, 40))),
    cell("since", since(one.since_ms)), h("span.reasons", null, one.waits_for.map(reason)));
}

function blocked(all) {
  if (all.blocked.length === 0) return null;
  return h("section.card", null, h("h2", null, "What waits for whom"), all.blocked.map(blockedRow), all.more ? h("p.note", null, "These are the oldest; more wait.") : null);
}

// ---- All ---------------------------------------------------------------------------------------------------------------

export function workersView(app) {
  const all = app.workers;
  if (all.error && !all.loaded && all.error.status !== 401) return h("main.workers", null, empty("The workers cannot be listed", all.error.message, button("Try again", () => all.look())));
  if (!all.loaded) return h("main.workers", null, empty("…", null));
  return h("main.workers", null, h("h1", null, "Workers"), all.error ? h("p.note", { role: "status" }, "This is old: " + all.error.message) : null, pools(all.pools), workers(all.workers), blocked(all));
}
