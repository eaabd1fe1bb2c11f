// Markdown as models write it, and as those write it who want more than to be read.
import { assert, test, told } from "./harness.mjs";
import { markdown } from "../page/markdown.js";
import { h, safeAddress } from "../page/view.js";

const shown = (text) => markdown(text).children.map(told).join("");

const cases = [
  ["plain & <b>text</b>", "<p>plain &amp; &lt;b&gt;text&lt;/b&gt;</p>"],
  ["# One\n\nTwo **three** *four* `<five>` ~~six~~", "<h2>One</h2><p>Two <strong>three</strong> <em>four</em> <code>&lt;five&gt;</code> <del>six</del></p>"],
  ["a\nb  \nc", "<p>a\nb  <br></br>c</p>"],
  ["- a\n- b\n  - c\n- d", "<ul><li>a</li><li>b<ul><li>c</li></ul></li><li>d</li></ul>"],
  ["3. a\n4. b", "<ol><li>a</li><li>b</li></ol>"],
  ["- [x] done\n- [ ] open", "<ul><li><span>☑</span>done</li><li><span>☐</span>open</li></ul>"],
  ["```lua\nreturn '**no**'\n```\nafter", "<pre><code>return '**no**'</code></pre><p>after</p>"],
  ["```\nnever closed", "<pre><code>never closed</code></pre>"],
  ["> a\n> b\n\nc", "<blockquote><p>a\nb</p></blockquote><p>c</p>"],
  ["a | b\n--|--\n1 | `2`", "<div><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td><code>2</code></td></tr></tbody></table></div>"],
  ["---", "<hr></hr>"],
  ["[here](https://a.example/x)", "<p><a href=https://a.example/x>here</a></p>"],
  ["see https://a.example/x.", "<p>see <a href=https://a.example/x>https://a.example/x</a>.</p>"],
  ["snake_case_name and 2 * 3 * 4", "<p>snake_case_name and 2 * 3 * 4</p>"],
  ["\\*not\\*", "<p>*not*</p>"],
  ["**open", "<p>**open</p>"],
  ["![picture](https://a.example/p.png)", "<p><a href=https://a.example/p.png>picture</a></p>"],
  ["", ""],
];

for (const [text, wanted] of cases) test(JSON.stringify(text).slice(0, 60), () => assert.equal(shown(text), wanted));

const runs = ["javascript:alert(1)", "JaVaScRiPt:alert(1)", " javascript:alert(1)", "java\tscript:alert(1)", "java\nscript:alert(1)", "data:text/html,<script>alert(1)</script>", "vbscript:x", "file:///etc/passwd", "//evil.example", "/api/runs", "blob:x", "\u0000javascript:x", "http:javascript", "https:", ""];

test("no address that would run, or that is of this server, is a link", () => {
  for (const address of runs) {
    assert.equal(safeAddress(address), null, JSON.stringify(address));
    assert.ok(!shown(`[x](${address})`).includes("<a"), JSON.stringify(address));
    assert.ok(!shown(`![x](${address})`).includes("<a"));
    assert.ok(!shown(`<${address}>`).includes("<a"));
  }
  assert.ok(!shown("[x](#/run/1)").includes("<a"), "nor one that leads elsewhere in this page");
  for (const value of [null, undefined, {}, [], 5, { toString: () => "https://a.example" }]) assert.equal(safeAddress(value), null);
});

test("what is no text is text", () => {
  assert.equal(shown({ tag: "script", props: {}, children: ["x"] }), '<p>{"tag":"script","props":{},"children":["x"]}</p>');
  assert.deepEqual(h("p", null, { tag: "script", props: {}, children: ["alert(1)"] }).children, ['{"tag":"script","props":{},"children":["alert(1)"]}']);
  assert.deepEqual(h("p", null, JSON.parse('[["a",{"tag":"b"}],null,true,7]')).children, ["a", '{"tag":"b"}', "7"]);
  assert.throws(() => h("script", null, "x"));
  assert.throws(() => h("iframe", null));
});

// Were one of these quadratic, it would take minutes.
test("long and hostile texts take their length", () => {
  const n = 60000;
  for (const piece of ["*", "**a ", "_a ", "`", "``a ", "[", "[a](", "![", "<", "<https://", "http://", "> ", "- ", "  - ", "1. ", "|", "|-|", "#", "~~~\n", "\\", "~~", "*a_b", "a\n", "- a\n\n", "[x]", "((", "\n>", "*_*_"]) {
    const text = piece.repeat(n / piece.length);
    assert.ok(markdown(text).children.length >= 0);
    markdown("a" + text + "a");
  }
});

test("what is nested deeply ends somewhere", () => {
  let text = "x";
  for (let i = 0; i < 2000; i++) text = `> ${text}`;
  markdown(text);
  markdown(Array.from({ length: 500 }, (_, i) => " ".repeat(i * 2) + "- x").join("\n"));
  markdown("*".repeat(1000) + "a" + "*".repeat(1000));
});
