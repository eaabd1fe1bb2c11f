// Numbers, times and ids as people read them. What is not known is "–", never 0.

export const unknown = "–";

/** Anything as a text: an object as its JSON (what comes from outside may have a toString of its own), nothing as "". */
export function text(value) {
  if (typeof value === "string") return value;
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** USD. */
export function cost(value) {
  if (typeof value !== "number") return unknown;
  if (value === 0) return "$0";
  if (value < 0.01) return "$" + value.toFixed(4);
  return "$" + value.toFixed(value < 1 ? 3 : 2);
}

export function count(value) {
  if (typeof value !== "number") return unknown;
  if (value < 10000) return String(value);
  if (value < 1e6) return (value / 1e3).toFixed(value < 1e5 ? 1 : 0) + "k";
  return (value / 1e6).toFixed(value < 1e7 ? 2 : 1) + "M";
}

/** How long: of milliseconds. */
export function span(ms) {
  if (typeof ms !== "number" || Number.isNaN(ms)) return unknown;
  if (ms < 1000) return Math.round(ms) + " ms";
  if (ms < 60e3) return (ms / 1000).toFixed(ms < 10e3 ? 2 : 1) + " s";
  const s = Math.round(ms / 1000);
  if (s < 3600) return `${Math.floor(s / 60)} min ${String(s % 60).padStart(2, "0")} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${String(Math.floor(s / 60) % 60).padStart(2, "0")} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor(s / 3600) % 24} h`;
}

/** How long ago: of milliseconds. */
export function age(ms) {
  if (typeof ms !== "number" || Number.isNaN(ms)) return unknown;
  const s = Math.max(0, ms / 1000);
  if (s < 5) return "now";
  if (s < 60) return Math.floor(s) + " s";
  if (s < 3600) return Math.floor(s / 60) + " min";
  if (s < 86400) return Math.floor(s / 3600) + " h";
  return Math.floor(s / 86400) + " d";
}

/** A time of day; of another day with its date. */
export function clock(ms) {
  if (typeof ms !== "number" || Number.isNaN(ms)) return unknown;
  const at = new Date(ms), today = new Date().toDateString() === at.toDateString();
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map((n) => String(n).padStart(2, "0")).join(":");
  return today ? time : `${at.getFullYear()}-${String(at.getMonth() + 1).padStart(2, "0")}-${String(at.getDate()).padStart(2, "0")} ${time}`;
}

/** The end of an id, which differs from run to run. */
export function shortId(id) {
  return typeof id === "string" && id !== "" ? id.slice(-6) : unknown;
}

/** A text on one line, cut to so many letters. */
export function line(value, most = 200) {
  const one = text(value).slice(0, most * 4).replace(/\s+/g, " ").trim();
  return one.length > most ? one.slice(0, most - 1) + "…" : one;
}

/** JSON text as people read it; what is none, as it is. */
export function pretty(value) {
  if (typeof value !== "string") return JSON.stringify(value, null, 2) ?? "";
  try {
    return JSON.stringify(JSON.parse(value), null, 2);
  } catch {
    return value;
  }
}

/** What a state, a reason or a name of an event is called: "cut_off" is "cut off". */
export function words(name) {
  return text(name).replace(/_/g, " ");
}
