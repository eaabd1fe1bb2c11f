// A run whose every text is an attack on the page that shows it, and what sees that one has come through.
const markup = `"'><img src=x onerror="pwned('img')"><svg onload="pwned('svg')"></svg><script>pwned('script')</script><iframe srcdoc="<script>parent.pwned('frame')</script>"></iframe>`
  + `<a href="javascript:pwned('a')">a link</a><style>*{background:url(http://evil.invalid/style)}</style><base href="http://evil.invalid/"><form action="http://evil.invalid/"><button>b</button></form></script></title></textarea>`;
const md = `[click](javascript:pwned('md')) [data](data:text/html,<script>pwned('data')</script>) ![pic](http://evil.invalid/pic.png) ![x](x" onerror="pwned('q')) <img src=x onerror=pwned('mdimg')> `
  + `[vb](vbscript:pwned) [tab](java\tscript:pwned('tab')) [caps](JaVaScRiPt:pwned('caps')) [&#106;](&#106;avascript:pwned('entity')) <javascript:pwned('auto')> [u](//evil.invalid/x) [blob](blob:http://x/y)\n\n`
  + "```html\n" + markup + "\n```\n\n| a | b |\n|---|---|\n| " + "<b onclick=pwned('cell')>x</b> | [y](javascript:pwned('table')) |\n\n[ref]: javascript:pwned('ref')\n[ref]\n";
const names = ["__proto__", "constructor", "hasOwnProperty", "toString", "valueOf", markup.slice(0, 200)];
// What a page that describes its elements by objects must not take for one of them.
const element = { tag: "img", props: { src: "x", onerror: "pwned('vdom')" }, type: "img", key: null, ref: null, $$typeof: "Symbol(react.element)", __k: null, constructor: null,
  children: [{ tag: "script", props: { text: "pwned('vdom')" }, children: ["pwned('vdom')"] }], dangerouslySetInnerHTML: { __html: markup }, __html: markup };

export const HOSTILE = "01KXSC3V0QZJ9E4W2X6T8B5M7X";

function* events() {
  yield { type: "workflow_started", message: md + markup };
  for (const [i, name] of names.entries()) {
    const at = { op: `o${i + 1}`, agent: name };
    yield { ...at, type: "agent_started", caller: i ? `o${i}` : undefined, message: md + markup, display_name: markup, trigger: markup, board: 1, task_ids: [i + 1] };
    yield { ...at, type: "model_request", model: markup, turn: 1, messages: 2 };
    yield { ...at, type: "model_reply", model: markup, calls: 1, seconds: 0.1, usage: { input: 10, output: 5, cost: 0.1 } };
    yield { ...at, type: "agent_message", content: md + markup };
    yield { ...at, type: "tool_call", tool: markup, arguments: JSON.stringify({ path: markup, __proto__x: markup }), result: markup, error: i % 2 === 0 };
    yield { ...at, type: "tool_call", tool: name, arguments: element, result: element };
    yield { ...at, type: "file_made", path: markup, mime: markup, bytes: 7 };
    yield { ...at, type: "warning", message: markup, code: markup };
    yield { ...at, type: "routed", to: markup, reason: markup };
    yield { ...at, type: "handoff", from: name, to: markup };
    yield { ...at, type: "team_message", member: markup, round: markup, content: md };
    yield { ...at, type: "labels_added", tool: markup, labels: [markup, element] };
    yield { ...at, type: "model_fallback", from: markup, to: markup, message: markup };
    yield { ...at, type: "server_tools_used", tools: [{ name: markup, uses: 1 }], sources: [{ url: "javascript:pwned('source')", title: markup }] };
    yield { ...at, type: name, message: element, content: markup };
    yield { ...at, type: "document_updated", document: 1, version: i + 1, author: name, content: md + markup, change: "append", change_description: markup, slot: { [name]: markup, day: i } };
    yield { ...at, type: "agent_finished", result: md + markup };
  }
  yield { op: "o1", agent: names[0], type: "tasks_created", board: 1, tasks: names.map((name, i) => ({ id: i + 1, text: markup, assigned_to: name, active_form: markup, depends_on: [markup], status: name })) };
  for (const [i, name] of names.entries()) yield { type: "task_updated", board: 1, id: i + 1, status: i % 2 ? name : "failed", error: markup, result: md, assigned_to: name };
  yield { type: element, agent: element, op: element, message: element };
  yield { type: "tasks_created", board: "__proto__", tasks: element };
  yield { type: "document_updated", document: "__proto__", version: 1e308, author: element, content: element, slot: element, change: element };
  yield { type: "output", text: markup };
  yield { op: "o1", agent: names[0], type: "question_asked", id: "q1", kind: "clarification", questions: [md + markup, element] };
  yield { op: "o2", agent: names[1], type: "approval_requested", id: "a1", tool: markup, arguments: JSON.stringify({ path: markup, content: markup }), reason: markup, always: markup,
    change: { path: markup, kind: markup, from: markup, diff: `@@ -1 +1 @@ ${markup}\n-${markup}\n+${markup}`, added: markup, removed: element, note: markup, refused: markup, left_out: markup } };
}

const waiting = [
  { id: "q1", kind: "question", agent: markup, questions: [md + markup, element] },
  { id: "a1", kind: "approval", agent: "__proto__", tool: markup, arguments: JSON.stringify({ path: markup }), reason: markup, always: markup,
    change: { path: markup, kind: markup, diff: `@@ ${markup}\n+${markup}`, note: markup } },
  { id: "i1", kind: "input" }, { id: "s1", kind: "signal", name: markup },
];

const second = (n) => String(n % 60).padStart(2, "0");

/** It, as tests/support/fill.h puts it into a store. */
export function hostileRun() {
  let seq = 0;
  const lines = [`run ${HOSTILE} parked ${markup}`, `input ${markup}`, `waiting ${JSON.stringify(waiting)}`, "put"];
  for (const event of events()) lines.push("event " + JSON.stringify({ seq: ++seq, time: `2026-11-21T09:00:${second(seq)}.000Z`, run: HOSTILE, ...event }));
  lines.push(`event {"seq":${++seq},"time":"${markup.replaceAll('"', "'")}","type":"warning","__proto__":{"polluted":"yes"},"message":"x"}`);
  lines.push("release");
  return lines.join("\n") + "\n";
}

/** To be called in each window before the page comes: what the attacks call. */
export async function lieInWait(page) {
  await page.send("Page.addScriptToEvaluateOnNewDocument", { source: "globalThis.pwned = (by) => { (globalThis.came ??= []).push(String(by)); }; globalThis.came = [];" });
}

/** What of the attacks has come through; empty: none. A policy that had to stop something counts: the markup was there. */
export async function damage(page, own) {
  const inside = await page.eval(() => {
    const found = [...(globalThis.came ?? [])];
    for (const e of document.querySelectorAll("*")) {
      const tag = e.localName;
      if (["iframe", "object", "embed", "base", "applet", "frame", "foreignobject"].includes(tag)) found.push(`<${tag}>`);
      if (tag === "script" && !(e.src.startsWith(location.origin + "/page/") || (location.protocol === "file:" && ["hocket-run", ""].includes(e.id) && e.parentElement === document.body))) found.push("<script>");
      if (tag === "style" && e.parentElement !== document.head) found.push("<style>");
      if (tag === "img" && !e.src.startsWith("data:")) found.push("<img>");
      if (tag === "form" && e.hasAttribute("action")) found.push("a form that goes elsewhere");
      for (const { name, value } of e.attributes) {
        if (name.startsWith("on") || name === "srcdoc") found.push(`${tag} ${name}`);
        if (["href", "src", "action", "formaction", "xlink:href", "data"].includes(name) && /^\s*(javascript|vbscript|data|blob)\s*:/i.test(value.replace(/[\t\n\r]/g, "")) && tag !== "link") found.push(`${tag} ${name}=${value.slice(0, 40)}`);
      }
    }
    if ({}.polluted !== undefined) found.push("Object.prototype");
    return found;
  });
  const asked = page.requests.filter(({ url }) => !url.startsWith(own) && !/^(data|blob):/.test(url)).map(({ url }) => `asked ${url.slice(0, 80)}`);
  return [...inside, ...asked, ...page.dialogs.map((text) => `dialog ${text}`), ...page.errors];
}

export const views = ["", "board", "document", "timeline", "tree", "transcript", "cost", "events"];

/** Looks at all there is of the run, and into what can be opened. */
export async function lookAtAll(page, id) {
  for (const view of views) {
    await page.eval((hash) => { location.hash = hash; }, `#/run/${id}${view ? "/" + view : ""}`);
    await page.until((name) => document.querySelector("main.run.view-" + (name || "overview")) && document.querySelector("#view")?.innerText.trim(), view);
    await page.eval(async () => {
      const soon = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      for (const e of document.querySelectorAll("#view summary, #view .agent-pick, #view .record, #view .op, #view [role=row], #view .choice, #view .task")) {
        if (e.isConnected) e.click();
        await soon();
      }
      for (const e of document.querySelectorAll("#view a, #view .no-link")) {
        e.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
        if (e.href && !/^(https?|mailto):/.test(e.href) && !e.hash) e.click();
      }
      await soon();
    });
  }
}
