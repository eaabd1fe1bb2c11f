// What the server is asked, and told. The token came in the address behind '#', which no server sees; it is kept for this tab alone and goes
// as a header, so that no page of another origin can send it.
import { readEvents } from "./sse.js";

const KEY = "hocket.token", LINK = "hocket.link";

/** Takes the token out of the address, where it is not to stay. */
export function takeToken() {
  const given = /^#token=([\w.~+/=-]+)$/.exec(location.hash);
  if (!given) return;
  sessionStorage.setItem(KEY, given[1]);
  history.replaceState(null, "", location.pathname + location.search + "#/");
}

/** Takes a link's token out of the address. The tab has it in the place of another token until it is closed. Whether it has one. */
export function takeLink() {
  const given = /^#answer=(hkl_\w+)$/.exec(location.hash);
  if (given) {
    sessionStorage.setItem(LINK, given[1]);
    history.replaceState(null, "", location.pathname + location.search + "#/answer");
  }
  return location.hash === "#/answer" && sessionStorage.getItem(LINK) !== null;
}

export function setToken(token) {
  sessionStorage.setItem(KEY, token.trim());
}

export class Failed extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

async function failure(response) {
  const body = await response.json().catch(() => null);
  return new Failed(response.status, body?.error?.code ?? "http", body?.error?.message ?? `the server says ${response.status}`);
}

async function send(path, options = {}) {
  const token = sessionStorage.getItem(location.hash === "#/answer" ? LINK : KEY);
  const headers = { ...(token ? { Authorization: "Bearer " + token } : {}), ...options.headers };
  let response;
  try {
    response = await fetch(path, { ...options, headers, cache: "no-store", credentials: "omit", redirect: "error", referrerPolicy: "no-referrer" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failed(0, "offline", "the server cannot be reached");
  }
  if (!response.ok) throw await failure(response);
  return response;
}

export async function get(path) {
  return (await send(path)).json();
}

export async function getText(path) {
  return (await send(path)).text();
}

/** A command: sent again after a failure of the network it is done once. */
export async function post(path, body) {
  const headers = { "Content-Type": "application/json", "Idempotency-Key": crypto.randomUUID?.() ?? Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("") };
  const options = { method: "POST", headers, body: JSON.stringify(body ?? {}) };
  const response = await send(path, options).catch((error) => (error.code === "offline" ? send(path, options) : Promise.reject(error)));
  return response.status === 204 ? null : response.json();
}

export async function remove(path) {
  await send(path, { method: "DELETE" });
}

const pause = (ms, signal) => new Promise((resolve) => {
  const timer = setTimeout(resolve, ms);
  signal.addEventListener("abort", () => { clearTimeout(timer); resolve(); }, { once: true });
});

// A tab that nobody looks at holds no connection: a browser has six of them for one server.
const shown = (signal) => new Promise((resolve) => {
  if (document.visibilityState === "visible") return resolve();
  const look = () => document.visibilityState === "visible" && resolve();
  document.addEventListener("visibilitychange", look, { signal });
  signal.addEventListener("abort", resolve, { once: true });
});

function followWhileShown(signal) {
  const inner = new AbortController();
  const stop = () => inner.abort();
  signal.addEventListener("abort", stop, { once: true });
  let timer;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(timer);
    if (document.visibilityState === "hidden") timer = setTimeout(stop, 30000);
  }, { signal: inner.signal });
  return inner;
}

/** Follows a stream of events, again and again from the last one that was heard, until on_events returns false or the signal says so.
 *  `told(state)` hears "open", "lost" and the Failed that ends it. */
export async function follow(path, { signal, lastId, onEvents, told = () => {} }) {
  let wait = 500, over = false;
  while (!signal.aborted && !over) {
    await shown(signal);
    const inner = followWhileShown(signal);
    try {
      const response = await send(path, { signal: inner.signal, headers: lastId === undefined ? {} : { "Last-Event-ID": String(lastId) } });
      if (response.status === 204) return;
      told("open");
      wait = 500;
      await readEvents(response.body, (events) => {
        for (const event of events) lastId = event.id ?? lastId;
        if (onEvents(events) === false) {
          over = true;
          inner.abort();
        }
      });
    } catch (error) {
      if (error instanceof Failed && error.status >= 400 && error.status < 500 && error.status !== 429) return told(error);
    } finally {
      inner.abort();
    }
    if (over || signal.aborted) return;
    told("lost");
    await pause(wait * (0.5 + Math.random()), signal);
    wait = Math.min(wait * 2, 15000);
  }
}
