// What holds for all files of the page: nothing parses markup or code, every module is there, and none needs itself.
import fs from "node:fs";
import { assert, test } from "./harness.mjs";

const dir = new URL("../page/", import.meta.url);
const names = [...fs.readdirSync(dir), ...fs.readdirSync(new URL("views/", dir)).map((name) => "views/" + name)];
const text = (name) => fs.readFileSync(new URL(name, dir), "utf8");
const modules = names.filter((name) => name.endsWith(".js"));
const bare = (source) => source.replace(/^\s*(\/\/|\*|\/\*).*$/gm, "");

test("nothing makes markup or code of a text", () => {
  const ways = /innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|srcdoc|\beval\b|new Function|import\s*\(|setTimeout\(\s*["'`]|javascript:/;
  for (const name of modules) assert.equal(ways.exec(bare(text(name)))?.[0], undefined, name);
  assert.doesNotMatch(text("index.html"), /<script(?![^>]*\bsrc=)|<style|\son\w+=|style=/);
});

const paths = (name) => [...bare(text(name)).matchAll(/^import .*? from "(.*?)";$|^import "(.*?)";$/gms)].map((found) => found[1] ?? found[2]);
const place = (path, from) => new URL(path, new URL(from, dir)).pathname.slice(dir.pathname.length);
const needs = (name) => paths(name).map((path) => place(path, name));
const base = (name) => name.replace(/^.*\//, "");

test("each module is there, by a name that a single file can have as well", () => {
  for (const name of modules) {
    for (const path of paths(name)) assert.match(path, /^\.\.?\/(views\/)?[a-z_]+\.js$/, name);
    for (const path of needs(name)) assert.ok(names.includes(path), `${name} needs ${path}`);
  }
  assert.equal(new Set(modules.map(base)).size, modules.length, "two modules of one name");
  for (const [, path] of text("index.html").matchAll(/(?:src|href)="\/page\/(.*?)"/g)) assert.ok(names.includes(path), path);
});

test("a view is needed by the page or by another view alone", () => {
  for (const name of modules.filter((one) => !one.startsWith("views/") && one !== "main.js"))
    assert.deepEqual(needs(name).filter((path) => path.startsWith("views/")), [], name);
});

test("no module needs itself", () => {
  const done = new Set();
  const walk = (name, way) => {
    assert.ok(!way.includes(name), [...way, name].join(" > "));
    if (done.has(name)) return;
    for (const path of needs(name)) walk(path, [...way, name]);
    done.add(name);
  };
  walk("main.js", []);
  assert.deepEqual(modules.filter((name) => !done.has(name)), [], "modules that nobody needs");
});

test("what is imported is exported", () => {
  for (const name of modules) {
    for (const [, words, path] of bare(text(name)).matchAll(/^import \{(.*?)\} from "(.*?)";$/gms)) {
      for (const word of words.split(",").map((one) => one.trim().split(" as ")[0]).filter(Boolean)) {
        assert.match(text(place(path, name)), new RegExp(`export (async )?(function|const|class|let) ${word}\\b`), `${name} wants ${word} of ${path}`);
      }
    }
  }
});
