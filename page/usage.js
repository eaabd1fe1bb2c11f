// What model calls have used: sums of tokens and of cost. A call whose cost nobody knows is counted as that, and adds no cost.

export function newUsage() {
  return { calls: 0, toolCalls: 0, input: 0, output: 0, cached: 0, cacheWrite: 0, reasoning: 0, cost: 0, unpriced: 0, ms: 0 };
}

const number = (value) => (typeof value === "number" && Number.isFinite(value) ? value : 0);

/** Adds a `model_reply` to a sum. */
export function addReply(sum, reply) {
  const used = reply.usage !== null && typeof reply.usage === "object" ? reply.usage : {};
  sum.calls++;
  sum.input += number(used.input);
  sum.output += number(used.output);
  sum.cached += number(used.cached);
  sum.cacheWrite += number(used.cache_write);
  sum.reasoning += number(used.reasoning);
  sum.ms += number(reply.seconds) * 1000;
  if (typeof used.cost === "number") sum.cost += used.cost;
  else sum.unpriced++;
}

const whole = (value) => (Number.isInteger(value) && value > 0 ? value : 0);

/** Adds the sum of another run, as `run_returned` has it. */
export function addRun(sum, usage) {
  const used = usage !== null && typeof usage === "object" ? usage : {};
  sum.calls += whole(used.calls);
  sum.toolCalls += whole(used.tool_calls);
  sum.input += number(used.input);
  sum.output += number(used.output);
  sum.cached += number(used.cached);
  sum.cacheWrite += number(used.cache_write);
  sum.reasoning += number(used.reasoning);
  sum.ms += number(used.seconds) * 1000;
  sum.cost += number(used.cost_known ?? used.cost);
  sum.unpriced += whole(used.unpriced);
}

/** What is known of the cost: null where not all of it is. */
export function knownCost(sum) {
  return sum.unpriced > 0 ? null : sum.cost;
}
