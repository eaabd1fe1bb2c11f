// Agents in the order of a tree: callers before those that they called, each with its depth.

const kept = new WeakMap();

/** [{agent, depth}] of a state; made anew when an agent has come. */
export function inTree(state) {
  const before = kept.get(state);
  if (before && before.count === state.agents.length) return before.rows;
  const rows = [], seen = new Set();
  const pending = state.agents.filter((agent) => agent.caller === undefined).reverse().map((agent) => ({ agent, depth: 0 }));
  while (pending.length > 0) {
    const one = pending.pop();
    if (seen.has(one.agent)) continue;
    seen.add(one.agent);
    rows.push(one);
    for (let i = one.agent.children.length - 1; i >= 0; i--) pending.push({ agent: one.agent.children[i], depth: one.depth + 1 });
  }
  for (const agent of state.agents) if (!seen.has(agent)) rows.push({ agent, depth: 0 });
  kept.set(state, { count: state.agents.length, rows });
  return rows;
}
