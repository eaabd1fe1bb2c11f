// The critical path: from a run's end back, what each moment waited for. Had one of these been quicker, the run would have been.
//
//     chief  ███────────────██      what ended last before the chief went on: food, and in it its last call
//     food      ██─███──            and so on, until the beginning
//     walk      ████                was done before food: it is not on it

// What an agent did, and those that it called, by their ends; of what is open the end is now.
function partsOf(agent, now) {
  const parts = [];
  for (const span of agent.spans) parts.push({ what: span, from: span.from, to: span.to ?? now });
  for (const child of agent.children) parts.push({ what: child, from: child.began, to: child.ended ?? now, child });
  return parts.sort((a, b) => a.to - b.to);
}

// The last of them that began before a moment. Moments only go back, so that what began later is never looked at again.
function takeLast(parts, until) {
  while (parts.length > 0) {
    const part = parts.pop();
    if (part.from < until) return part;
  }
  return null;
}

// The run itself has called those that no other agent has.
function walk(state, path, now) {
  const run = { spans: [], children: state.agents.filter((agent) => agent.caller === undefined) };
  const pending = [{ agent: run, parts: partsOf(run, now), until: state.ended ?? now }];
  while (pending.length > 0) {
    const one = pending[pending.length - 1];
    const part = takeLast(one.parts, one.until);
    if (!part) {
      pending.pop();
      continue;
    }
    const until = Math.min(part.to, one.until);
    one.until = part.from;
    if (path.has(part.what)) continue;
    path.add(part.what);
    if (part.child) pending.push({ agent: part.child, parts: partsOf(part.child, now), until });
  }
}

const kept = new WeakMap();
// Of a run that goes on it is found once a second, or where that takes long, less often: it is the same for longer.
const AGAIN = 1000, SHARE = 30;

/** The spans (and agents) of a state that are on it at a moment. */
export function criticalPath(state, now = state.time, time = performance.now()) {
  const before = kept.get(state);
  if (before && ((before.at === state.at && before.now === now) || (state.ended === null && time - before.time < before.pause))) return before.path;
  const path = new Set();
  walk(state, path, now);
  kept.set(state, { at: state.at, now, time, pause: Math.max(AGAIN, (performance.now() - time) * SHARE), path });
  return path;
}
