// Where runs come from: the server; or the page itself, which may have one run inside (`hocket show --html`).
//
// Both give the same few functions, so that nothing else knows the difference:
//     run(id)            what is known of it
//     follow(id, {signal, records(list), delta(one), resync(told), over(), link(state)})
import * as api from "./api.js";

/** Runs of the server. */
export const served = {
  live: true,
  run: (id) => api.get(`/api/runs/${encodeURIComponent(id)}`),

  follow(id, to) {
    const take = (events) => {
      let records = [], ended = false;
      const hand = () => {
        if (records.length > 0) to.records(records);
        records = [];
      };
      for (const event of events) {
        const data = parse(event.data);
        if (event.type === "message") {
          if (data) records.push(data);
        } else if (event.type === "end") {
          ended = true;
        } else if (data && (event.type === "delta" || event.type === "resync")) {
          hand();
          to[event.type](data);
        }
      }
      hand();
      if (!ended) return true;
      to.over();
      return false;
    };
    api.follow(`/api/runs/${encodeURIComponent(id)}/events?deltas=1${to.after ? "&after=" + to.after : ""}`, { signal: to.signal, onEvents: take, told: to.link })
      .then(() => to.signal.aborted || to.over());
  },
};

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The run that stands in the page: an element <script type="application/json" id="hocket-run"> with {"run": {…}, "records": […]}; null: none. */
export function inside() {
  const element = document.getElementById("hocket-run");
  const kept = element && parse(element.textContent);
  if (!kept || !Array.isArray(kept.records)) return null;
  return {
    live: false,
    id: typeof kept.run?.id === "string" ? kept.run.id : "",
    run: async () => kept.run ?? {},
    follow(id, to) {
      to.records(kept.records);
      to.over();
    },
  };
}
