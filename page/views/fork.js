// A fork: a new run that has another one's past up to a record; or that begins anew, and remembers all that is the same.
import { button } from "../parts.js";
import { go } from "../route.js";
import { h } from "../view.js";
import * as format from "../format.js";

// Without a moment that is shown its whole past would lead to the same end: then it begins anew.
const isAnew = (app) => app.ui.fork.anew ?? app.session.at === null;

function bodyOf(app) {
  const { fork } = app.ui, { session } = app, body = isAnew(app) ? { latest: true } : { at: session.at ?? session.last };
  const input = fork.input?.trim(), model = fork.model?.trim();
  if (input && (isAnew(app) || session.run?.options?.conversation)) body.input = input;
  if (model) body.model = model;
  return body;
}

async function begin(app, event) {
  event.preventDefault();
  if (app.ui.fork.busy) return;
  app.ui.fork.busy = true;
  app.redraw();
  const made = await app.tell(`/api/runs/${app.session.id}/fork`, bodyOf(app), "A fork has begun");
  app.ui.fork.busy = false;
  if (made) go("run", made.id);
  app.redraw();
}

function choice(app, anew, words) {
  return h("button.choice", { type: "button", aria: { pressed: isAnew(app) === anew }, onclick: () => { app.ui.fork.anew = anew; app.redraw(); } }, words);
}

function request(app) {
  const { session } = app, set = (e) => { app.ui.fork.input = e.target.value; };
  if (isAnew(app)) return h("label.field", { key: "anew" }, h("span.field-name", null, "Another request"), h("textarea", { rows: 2, placeholder: format.line(session.state.message, 300), oninput: set }));
  if (!session.run?.options?.conversation) return null;
  return h("label.field", { key: "next" }, h("span.field-name", null, "What it is told next"), h("textarea", { rows: 2, oninput: set }));
}

export function forkForm(app) {
  const { session, ui } = app;
  ui.fork ??= {};
  const at = session.at ?? session.last;
  return h("form.card.fork", { onsubmit: (e) => begin(app, e) },
    h("h2", null, "Fork"),
    h("div.choices", { role: "group", aria: { label: "How it begins" } }, choice(app, true, "Anew"), choice(app, false, `From record ${at} on`)),
    h("p.about", null, isAnew(app) ? "From the beginning, with the agents as they are now: what is the same as in this run is not asked again, and costs nothing."
      : "With this run's past up to the record that is shown. Go to another moment for another past."),
    request(app),
    h("label.field", null, h("span.field-name", null, "Another model"), h("input", { type: "text", spellcheck: "false", placeholder: "provider/model", oninput: (e) => { ui.fork.model = e.target.value; } })),
    h("div.actions", null, h("button.button.primary", { type: "submit", disabled: ui.fork.busy === true }, "Fork"), button("Close", () => { ui.forking = false; app.redraw(); }, { kind: "quiet" })));
}
