// What somebody sees who has a link for one question, on a phone: the question, its answer, and nothing else of the server.
import * as api from "../api.js";
import { openCard } from "./answer.js";
import { empty } from "../parts.js";
import { h } from "../view.js";
import * as format from "../format.js";

let state = { open: null, over: null, done: false };

/** Asks for the question of the link. */
export async function openLink(app) {
  try {
    state = { ...state, open: (await api.get("/api/inbox")).open[0] };
  } catch (error) {
    state = { ...state, over: error.status === 401 ? "This link does not belong to this server, or a part of it is missing." : error.message };
  }
  app.redraw();
}

// The page as the card of a question needs it.
function within(app) {
  const tell = async (path, body) => {
    const told = await app.tell(path, body);
    if (told) state.done = true;
    else openLink(app);
    return told;
  };
  return { ...app, tell, runs: { askInbox: () => {} }, session: null };
}

export function link(app) {
  if (state.done) return h("main.one-question", null, empty("Your answer is kept", "The run takes it as soon as it goes on. You can close this page."));
  if (!app.source.link) return h("main.one-question", null, empty("Nothing to answer", "This tab has no link."));
  if (state.over) return h("main.one-question", null, empty("Nothing to answer", state.over));
  if (!state.open) return h("main.one-question", null, h("p.note", null, "…"));
  return h("main.one-question", null, openCard(within(app), { ...state.open, once: true }, { chosen: true, onchoose: () => {} }),
    h("p.note", null, "This link answers this question once, until ", new Date(state.open.ends * 1000).toLocaleString(), ". Run ", h("code", null, format.shortId(state.open.run)), "."));
}
