// What the keys do, out of the tables that they are bound by (keys.js).
import { button } from "../parts.js";
import { h } from "../view.js";
import { told } from "../keys.js";

const titles = { "": "Everywhere", runs: "Runs", run: "In a run", inbox: "Inbox" };

export function help(app) {
  const close = () => {
    app.helping = false;
    app.redraw();
  };
  const section = ([place, all]) => h("section", null, h("h3", null, titles[place] ?? place),
    h("dl.keys", null, all.map(([key, words]) => h("div", null, h("dt", null, key.split(" ").map((one) => h("kbd", null, one))), h("dd", null, words)))));
  return h("div.veil", { onclick: (event) => event.target === event.currentTarget && close() },
    h("div.card.help", { role: "dialog", aria: { modal: true, label: "Keys" } }, h("header", null, h("h2", null, "Keys"), button("Close", close, { kind: "quiet", hint: "Esc" })), told().map(section)));
}
