// The page: where one is decides what is shown; what is shown is described anew for each frame in which something has changed (view.js).
import { address, go, route } from "./route.js";
import { button, empty } from "./parts.js";
import { drawWith, frames, redraw } from "./frame.js";
import { h, show } from "./view.js";
import { inside, served } from "./source.js";
import { lookAgain } from "./settle.js";
import { Runs } from "./runs_store.js";
import { Session } from "./session.js";
import { help } from "./views/help.js";
import { inbox, inboxKeys } from "./views/inbox.js";
import { link, openLink } from "./views/link.js";
import { newRun } from "./views/new_run.js";
import { runKeys, runView } from "./views/run.js";
import { runs, runsKeys } from "./views/runs.js";
import { Workers } from "./workers_store.js";
import { workersView } from "./views/workers.js";
import * as api from "./api.js";
import * as keys from "./keys.js";
import * as theme from "./theme.js";

const app = {
  route: null, runs: new Runs(), workers: new Workers(), session: null, source: served, ui: {}, notices: [], agents: null, about: null, helping: false,

  /** Shows a line for some seconds. */
  notice(text, kind = "") {
    const one = { text, kind, key: Symbol() };
    app.notices.push(one);
    setTimeout(() => {
      app.notices = app.notices.filter((other) => other !== one);
      redraw();
    }, kind === "bad" ? 9000 : 4000);
    redraw();
  },

  /** Does what the server is told, and says how that was. */
  async tell(path, body, words) {
    try {
      const answer = await api.post(path, body);
      if (words) app.notice(words);
      return answer ?? {};
    } catch (error) {
      app.notice(error.message, "bad");
      return null;
    }
  },

  redraw,
};

// ---- Where one is ------------------------------------------------------------------------------------------------

function openSession(id) {
  if (app.session?.id === id) return;
  app.session?.close();
  app.ui = {};
  const session = new Session(id, app.source);
  app.session = session;
  app.runs.watchers.clear();
  app.runs.watchers.add((run) => {
    if (run.id !== session.id) return;
    session.setRun({ ...session.run, ...run });
    if (run.state === "running") session.reopen();
  });
  session.open();
}

function arrive() {
  if (location.hash.startsWith("#answer=") || (app.source.link && location.hash !== "#/answer")) return location.reload(); // another right of the tab
  if (location.hash.startsWith("#token=")) {
    api.takeToken();
    app.runs.start();
  }
  app.route = route();
  if (app.route.place === "run" && app.route.id) {
    openSession(app.route.id);
  } else {
    app.session?.close();
    app.session = null;
  }
  if (app.route.place === "workers" && app.source.live) app.workers.start(() => app.route.place === "workers");
  else app.workers.stop();
  keys.unbind("inbox");
  keys.unbind("runs");
  keys.unbind("run");
  if (app.route.place === "run") keys.bind("run", runKeys(app));
  if (app.route.place === "runs") keys.bind("runs", runsKeys(app));
  if (app.route.place === "inbox") keys.bind("inbox", inboxKeys(app));
  redraw();
}

// ---- The frame around all views ----------------------------------------------------------------------------------

function navLink(words, place, count) {
  const here = app.route.place === place;
  return h("a.nav-link", { href: address(place === "runs" ? "" : place), aria: { current: here ? "page" : undefined }, class: here ? "here" : "" }, words,
    count ? h("span.badge", { aria: { label: `${count} wait` } }, count) : null);
}

function top() {
  return h("header.top", null,
    h("a.brand", { href: "#/", title: "All runs" }, h("span.brand-mark", { aria: { hidden: "true" } }, [1, 2, 3, 4, 5].map((n) => h("span", { class: "note-" + n }))), "hocket"),
    app.source.live ? h("nav", { aria: { label: "Places" } }, navLink("Runs", "runs"), navLink("Inbox", "inbox", app.runs.open.length), navLink("Workers", "workers"), navLink("New run", "new")) : null,
    h("span.grow", null),
    app.source.live && app.runs.link === "lost" && !app.runs.error ? h("span.lost", { role: "status" }, "reconnecting…") : null,
    button(theme.sign(), () => { theme.next(); redraw(); }, { kind: "quiet round", title: "Colours: " + theme.current() }),
    button("?", () => { app.helping = !app.helping; redraw(); }, { kind: "quiet round", title: "Keys" }));
}

function askToken() {
  const submit = (event) => {
    event.preventDefault();
    api.setToken(new FormData(event.target).get("token"));
    app.runs.error = app.workers.error = null;
    app.session?.close();
    app.session = null;
    app.runs.start();
    arrive();
  };
  return h("main.token", null, h("form.card", { onsubmit: submit }, h("h1", null, "Who is there?"),
    h("p", null, "This server lets in who brings its token. ", h("code", null, "hocket serve"), " prints an address that has it, and the file where it stands."),
    h("label", null, "Token", h("input", { name: "token", type: "password", autocomplete: "off", required: true, spellcheck: "false", made: (e) => e.focus() })),
    h("button.button.primary", { type: "submit" }, "Enter")));
}

// A view that fails is told, and the rest of the page goes on.
function failed(error) {
  console.error(error);
  return h("main", null, empty("This cannot be shown", String(error?.message ?? error), h("a", { href: "#/" }, "All runs")));
}

const places = { runs, inbox, answer: link, new: newRun, run: runView, workers: workersView };

function place() {
  if (app.source.live && (app.runs.error?.status === 401 || app.session?.error?.status === 401 || app.workers.error?.status === 401)) return askToken();
  const view = Object.hasOwn(places, app.route.place) ? places[app.route.place] : null;
  try {
    if (view) return view(app);
  } catch (error) {
    return failed(error);
  }
  return h("main", null, empty("There is nothing here", null, h("a", { href: "#/" }, "All runs")));
}

function notices() {
  return h("div.notices", { role: "status", aria: { live: "polite" } }, app.notices.map((one) => h("div.notice", { key: one.key, class: one.kind }, one.text)));
}

function title() {
  const waiting = app.runs.open.length;
  const where = app.session ? (app.session.run?.agent ?? app.session.run?.target ?? "run") : app.route.place;
  document.title = `${waiting ? `(${waiting}) ` : ""}${where} · hocket`;
}

function draw() {
  const all = () => show(document.getElementById("page"), [top(), place(), notices(), app.helping ? help(app) : null]);
  title();
  all();
  if (lookAgain()) all(); // what has moved is shown as closed from the first frame on
}

function everywhere() {
  const close = () => {
    if (app.helping) app.helping = false;
    else if (app.ui.sure) app.ui.sure = null;
    else if (document.activeElement !== document.body) document.activeElement.blur();
    redraw();
  };
  return {
    "?": ["what the keys do", () => { app.helping = !app.helping; redraw(); }],
    "g r": ["all runs", () => go()],
    "g i": ["what waits for you", () => go("inbox")],
    "g w": ["workers and pools", () => go("workers")],
    "g n": ["begin a run", () => go("new")],
    "t": ["light, dark, as the system", () => { theme.next(); redraw(); }],
    "Escape": ["close, or leave a field", close],
  };
}

function begin() {
  const own = inside(), linked = !own && api.takeLink();
  api.takeToken();
  theme.apply();
  drawWith(draw);
  keys.bind("", everywhere());
  keys.listen();
  addEventListener("hashchange", arrive);
  if (own) {
    app.source = own;
    if (route().place !== "run") history.replaceState(null, "", address("run", own.id || "kept"));
  } else if (linked) {
    app.source = { live: false, link: true };
    openLink(app);
  } else {
    app.runs.start();
  }
  // What the page says of itself, for those who measure it.
  globalThis.hocket = Object.freeze({ frames, get session() { return app.session; } });
  arrive();
}

begin();
