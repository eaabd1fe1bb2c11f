// The critical path: from a run's end back, what each moment waited for. Had one of these been quicker, the run would have been.

const MOST = 20000;

// What ended last before a moment, of what an agent did itself and of those that it called.
function lastBefore(agent, until, used) {
  let best = null, end = -Infinity;
  for (let i = agent.spans.length - 1; i >= 0; i--) {
    const span = agent.spans[i], to = Math.min(span.to ?? until, until);
    if (used.has(span) || span.from >= until || to <= end) continue;
    best = { span };
    end = to;
  }
  for (const child of agent.children) {
    const to = child.ended ?? until;
    if (used.has(child) || child.began >= until || to > until || to <= end) continue;
    best = { child };
    end = to;
  }
  return best;
}

function walk(agent, until, path) {
  const pending = [{ agent, until }];
  while (pending.length > 0 && path.size < MOST) {
    const one = pending[pending.length - 1];
    const found = one.until > one.agent.began ? lastBefore(one.agent, one.until, path) : null;
    if (!found) {
      pending.pop();
      const caller = pending[pending.length - 1];
      if (caller) caller.until = Math.min(caller.until, one.agent.began);
    } else if (found.child) {
      path.add(found.child);
      pending.push({ agent: found.child, until: found.child.ended ?? one.until });
    } else {
      path.add(found.span);
      one.until = found.span.from;
    }
  }
}

const kept = new WeakMap();

/** The spans (and agents) of a state that are on it. */
export function criticalPath(state) {
  const before = kept.get(state);
  if (before && before.at === state.at) return before.path;
  const path = new Set(), root = state.agents.find((agent) => agent.caller === undefined);
  if (root) walk(root, root.ended ?? state.time, path);
  kept.set(state, { at: state.at, path });
  return path;
}
