// What differs between two texts, word by word: Myers' greedy way, with a limit on how much may differ.

const MOST_EDITS = 800;

const split = (text) => text.match(/\s+|[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu) ?? [];

// The paths that reach furthest, one row for each number of edits; null: too much differs.
function search(a, b) {
  const most = Math.min(a.length + b.length, MOST_EDITS), v = new Map([[1, 0]]), trace = [];
  for (let d = 0; d <= most; d++) {
    trace.push(new Map(v));
    for (let k = -d; k <= d; k += 2) {
      let x = k === -d || (k !== d && (v.get(k - 1) ?? -1) < (v.get(k + 1) ?? -1)) ? v.get(k + 1) : v.get(k - 1) + 1;
      let y = x - k;
      while (x < a.length && y < b.length && a[x] === b[y]) {
        x++;
        y++;
      }
      v.set(k, x);
      if (x >= a.length && y >= b.length) return trace;
    }
  }
  return null;
}

function back(a, b, trace) {
  const steps = [];
  let x = a.length, y = b.length;
  for (let d = trace.length - 1; d >= 0; d--) {
    const v = trace[d], k = x - y;
    const fromK = k === -d || (k !== d && (v.get(k - 1) ?? -1) < (v.get(k + 1) ?? -1)) ? k + 1 : k - 1;
    const fromX = v.get(fromK) ?? 0, fromY = fromX - fromK;
    while (x > fromX && y > fromY) {
      steps.push(["same", a[--x]]);
      y--;
    }
    if (d > 0) steps.push(x > fromX ? ["removed", a[--x]] : ["added", b[--y]]);
  }
  return steps.reverse();
}

function join(steps) {
  const parts = [];
  for (const [kind, word] of steps) {
    const last = parts[parts.length - 1];
    if (last && last.kind === kind) last.text += word;
    else parts.push({ kind, text: word });
  }
  return parts;
}

/** Parts of two texts in order: [{kind: "same"|"added"|"removed", text}]. */
export function difference(before, after) {
  if (before === after) return before === "" ? [] : [{ kind: "same", text: after }];
  const a = split(before), b = split(after);
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const from = a.slice(head, a.length - tail), to = b.slice(head, b.length - tail);
  const trace = search(from, to);
  const middle = trace ? back(from, to, trace) : [["removed", from.join("")], ["added", to.join("")]];
  return join([["same", a.slice(0, head).join("")], ...middle, ["same", a.slice(a.length - tail).join("")]].filter(([, word]) => word !== ""));
}
