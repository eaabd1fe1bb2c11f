// Markdown as descriptions of elements (view.js): the part of it that models write. Pictures are links, HTML is text, and an address that
// would run is no link. Time is linear: what closes nothing is looked for once, texts and depths have limits.
import { h, safeAddress } from "./view.js";
import * as format from "./format.js";

const MAX_TEXT = 1 << 20, MAX_INLINE = 64 << 10, MAX_DEPTH = 8, MAX_LINK = 2000, MAX_TRIES = 32, MAX_KEPT = 2 << 20;

// ---- In a line -------------------------------------------------------------------------------------------------

const pairs = [["**", "strong"], ["__", "strong"], ["~~", "del"], ["*", "em"], ["_", "em"]];
const isWord = (c) => c !== undefined && /[\p{L}\p{N}]/u.test(c);

// Where a mark that begins at `from` ends, or -1. `missing` holds the marks that the rest of the text has not.
function closing(text, mark, from, missing) {
  if (missing.has(mark)) return -1;
  let tried = 0;
  for (let at = text.indexOf(mark, from); at >= 0; at = text.indexOf(mark, at + mark.length)) {
    const bare = mark.length === 2 || (text[at + 1] !== mark && text[at - 1] !== mark);
    if (at > from && bare && !/\s/.test(text[at - 1]) && !(mark[0] === "_" && isWord(text[at + mark.length]))) return at;
    if (++tried > MAX_TRIES) return -1;
  }
  missing.add(mark);
  return -1;
}

function codeAt(text, at, missing) {
  let n = 1;
  while (text[at + n] === "`" && n < 20) n++;
  const mark = "`".repeat(n);
  if (missing.has(mark)) return null;
  const end = text.indexOf(mark, at + n);
  if (end < 0) {
    missing.add(mark);
    return null;
  }
  return { node: h("code", null, text.slice(at + n, end).replace(/^ (.+) $/s, "$1")), end: end + n };
}

// [words](address "title"), ![words](address)
function linkAt(text, at, depth) {
  const open = text[at] === "!" ? at + 1 : at;
  const close = text.slice(open, open + MAX_LINK).indexOf("](");
  if (close < 0) return null;
  const from = open + close + 2;
  const found = /^\s*<?([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?(?:\s+["'(][^"')]*["')])?\s*\)/.exec(text.slice(from, from + MAX_LINK));
  if (!found) return null;
  const words = text.slice(open + 1, open + close);
  const address = safeAddress(found[1]);
  const inside = words ? inline(words, depth + 1) : [found[1]];
  return { node: address && !address.startsWith("#") ? h("a", { href: address }, inside) : h("span.no-link", { title: found[1] }, inside), end: from + found[0].length };
}

function addressAt(text, at) {
  const found = /^<?(https?:\/\/[^\s<>"'`]+)/i.exec(text.slice(at, at + MAX_LINK));
  if (!found || isWord(text[at - 1])) return null;
  const written = text[at] === "<" ? found[1] : found[1].replace(/[.,:;!?)\]*_]+$/, "");
  const address = safeAddress(written);
  const end = at + (text[at] === "<" ? found[0].length + (text[at + found[0].length] === ">" ? 1 : 0) : written.length);
  return address && { node: h("a", { href: address }, written), end };
}

function markAt(text, at, depth, missing) {
  for (const [mark, tag] of pairs) {
    if (!text.startsWith(mark, at)) continue;
    const from = at + mark.length;
    if (text[from] === undefined || /\s/.test(text[from]) || (mark[0] === "_" && isWord(text[at - 1]))) continue;
    const end = closing(text, mark, from, missing);
    if (end > 0) return { node: h(tag, null, inline(text.slice(from, end), depth + 1)), end: end + mark.length };
  }
  return null;
}

function special(text, at, depth, missing) {
  const c = text[at];
  if (c === "\\" && /[!-/:-@[-`{-~]/.test(text[at + 1] ?? "")) return { node: text[at + 1], end: at + 2 };
  if (c === "\n") return { node: / {2}$/.test(text.slice(Math.max(0, at - 2), at)) ? h("br", null) : "\n", end: at + 1 };
  if (c === "`") return codeAt(text, at, missing);
  if (c === "[" || (c === "!" && text[at + 1] === "[")) return linkAt(text, at, depth);
  if (c === "<" || c === "h" || c === "H") return addressAt(text, at);
  if (c === "*" || c === "_" || c === "~") return markAt(text, at, depth, missing);
  return null;
}

/** What stands in one paragraph. */
export function inline(text, depth = 0) {
  if (depth > MAX_DEPTH || text.length > MAX_INLINE) return [text];
  const out = [], missing = new Set(), marks = /[\\\n`[!<hH*_~]/g;
  let plain = 0, found;
  while ((found = marks.exec(text))) {
    const one = special(text, found.index, depth, missing);
    if (!one) continue;
    if (found.index > plain) out.push(text.slice(plain, found.index));
    out.push(one.node);
    plain = marks.lastIndex = one.end;
  }
  if (plain < text.length) out.push(text.slice(plain));
  return out;
}

// ---- Blocks ------------------------------------------------------------------------------------------------------

const item = /^( {0,12})([-*+]|\d{1,9}[.)])(?: +|$)(.*)$/;
const rule = /^ {0,3}([-*_])(?: *\1){2,} *$/;
const fence = /^ {0,12}(`{3,}|~{3,}) *([\w+#.-]*)[^`]*$/;
const heading = /^ {0,3}(#{1,6}) +(.*?) *#* *$/;
const divider = /^ *\|? *:?-+:? *(?:\| *:?-+:? *)*\|? *$/;

function readFence(lines, at, found) {
  const [, mark, language] = found;
  const body = [];
  let i = at + 1;
  for (; i < lines.length; i++) {
    const end = /^ {0,12}(`{3,}|~{3,}) *$/.exec(lines[i]);
    if (end && end[1][0] === mark[0] && end[1].length >= mark.length) break;
    body.push(lines[i]);
  }
  return { node: h("pre", { data: language ? { language } : {} }, h("code", null, body.join("\n"))), next: i + 1 };
}

function readQuote(lines, at, depth) {
  const inside = [];
  let i = at;
  for (; i < lines.length && /^ {0,3}>/.test(lines[i]); i++) inside.push(lines[i].replace(/^ {0,3}> ?/, ""));
  return { node: h("blockquote", null, blocks(inside, depth + 1)), next: i };
}

function cells(row) {
  return row.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).slice(0, 50).map((cell) => cell.trim().replace(/\\\|/g, "|"));
}

function readTable(lines, at) {
  const head = cells(lines[at]);
  const rows = [];
  let i = at + 2;
  for (; i < lines.length && lines[i].includes("|"); i++) rows.push(cells(lines[i]));
  const row = (tag) => (list) => h("tr", null, head.map((_, n) => h(tag, null, inline(list[n] ?? ""))));
  return { node: h("div.table", null, h("table", null, h("thead", null, row("th")(head)), h("tbody", null, rows.map(row("td"))))), next: i };
}

// Lines of one item: what is indented below its mark, and what follows without a blank line.
function readItem(lines, at, found, width) {
  const inside = [found[3]];
  let i = at + 1, blank = false;
  for (; i < lines.length; i++) {
    const text = lines[i], indent = text.search(/\S/);
    if (indent < 0) {
      blank = true;
      inside.push("");
    } else if (indent >= width) {
      inside.push(text.slice(width));
    } else if (blank || item.test(text) || rule.test(text) || heading.test(text) || fence.test(text) || text.startsWith(">")) {
      break;
    } else {
      inside.push(text.trim());
    }
  }
  while (inside.length > 1 && inside[inside.length - 1] === "") inside.pop();
  return { inside, next: i };
}

function readList(lines, at, depth) {
  const first = item.exec(lines[at]), numbered = /\d/.test(first[2]);
  const items = [];
  let i = at;
  while (i < lines.length) {
    const found = item.exec(lines[i]);
    if (!found || rule.test(lines[i]) || /\d/.test(found[2]) !== numbered || found[1].length < first[1].length) break;
    const { inside, next } = readItem(lines, i, found, first[1].length + 2);
    const task = /^\[([ xX])\] +/.exec(inside[0]);
    if (task) inside[0] = inside[0].slice(task[0].length);
    const loose = inside.some((text) => text === "");
    const content = blocks(inside, depth + 1, !loose);
    items.push(h("li", task ? { class: "task" } : null, task ? h("span.box", { aria: { label: task[1] === " " ? "open" : "done" } }, task[1] === " " ? "☐" : "☑") : null, content));
    i = next;
    while (i < lines.length && lines[i].trim() === "" && item.test(lines[i + 1] ?? "")) i++;
  }
  return { node: h(numbered ? "ol" : "ul", numbered ? { start: parseInt(first[2], 10) } : null, items), next: i };
}

function readParagraph(lines, at, tight) {
  const text = [];
  let i = at;
  for (; i < lines.length; i++) {
    const one = lines[i];
    if (one.trim() === "" || (i > at && (heading.test(one) || fence.test(one) || rule.test(one) || /^ {0,3}>/.test(one) || item.test(one)))) break;
    text.push(one.trimStart());
  }
  const inside = inline(text.join("\n"));
  return { node: tight ? inside : h("p", null, inside), next: i };
}

function readBlock(lines, at, depth, tight) {
  const text = lines[at];
  let found;
  if (depth < MAX_DEPTH) {
    if ((found = fence.exec(text))) return readFence(lines, at, found);
    if ((found = heading.exec(text))) return { node: h("h" + Math.min(6, found[1].length + 1), null, inline(found[2])), next: at + 1 };
    if (rule.test(text)) return { node: h("hr", null), next: at + 1 };
    if (/^ {0,3}>/.test(text)) return readQuote(lines, at, depth);
    if (text.includes("|") && (lines[at + 1] ?? "").includes("-") && divider.test(lines[at + 1])) return readTable(lines, at);
    if (item.test(text)) return readList(lines, at, depth);
  }
  return readParagraph(lines, at, tight);
}

function blocks(lines, depth, tight) {
  const out = [];
  for (let i = 0; i < lines.length;) {
    if (lines[i].trim() === "") {
      i++;
      continue;
    }
    const { node, next } = readBlock(lines, i, depth, tight);
    out.push(node);
    i = Math.max(next, i + 1);
  }
  return out;
}

function render(whole) {
  const cut = whole.length > MAX_TEXT;
  const lines = (cut ? whole.slice(0, MAX_TEXT) : whole).replace(/\r\n?/g, "\n").replace(/\t/g, "    ").split("\n");
  return h("div.markdown", null, blocks(lines, 0), cut ? h("p.note", null, `${whole.length - MAX_TEXT} letters more are not shown`) : null);
}

const kept = new Map();
let letters = 0;

function keep(whole, made) {
  kept.set(whole, made);
  letters += whole.length;
  for (const [oldest] of kept) {
    if (letters <= MAX_KEPT) break;
    kept.delete(oldest);
    letters -= oldest.length;
  }
  return made;
}

/** A text as descriptions of elements. What was made a moment ago is not made again: a frame costs what is new in it. */
export function markdown(text) {
  const whole = format.text(text);
  return kept.get(whole) ?? keep(whole, render(whole));
}
