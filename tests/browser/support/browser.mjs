// A browser, driven through the DevTools protocol over two pipes: no port is open, and nothing has to be installed beside Debian's chromium and node.
//
//     const browser = await Browser.open("chromium");
//     const page = await browser.page({ width: 1200, height: 800 });
//     await page.go(url);
//     await page.until(() => document.title === "runs");     a function that runs in the page
//     await page.click("button", "Begin");
//
// A test waits for what it is about and never for a time; PATIENCE alone ends what would never come.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeFileSync } from "node:fs";

export const PATIENCE = Number(process.env.BROWSER_PATIENCE ?? 200) * 1000;

const flags = ["--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--no-default-browser-check",
  "--disable-background-networking", "--disable-component-update", "--disable-default-apps", "--disable-extensions", "--disable-sync", "--disable-breakpad",
  "--disable-crash-reporter", "--disable-domain-reliability", "--disable-client-side-phishing-detection", "--metrics-recording-only", "--mute-audio",
  "--password-store=basic", "--use-mock-keychain", "--no-pings", "--no-proxy-server", "--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding",
  "--disable-background-timer-throttling", "--force-color-profile=srgb", "--disable-features=Translate,MediaRouter,OptimizationHints,DialMediaRouteProvider"];

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Calls fn until it gives something; `what` names it where it never does. */
export async function until(fn, what) {
  const due = Date.now() + PATIENCE;
  let last;
  for (;;) {
    try {
      const got = await fn();
      if (got) return got;
    } catch (error) {
      last = error;
    }
    if (Date.now() > due) throw new Error(`never: ${what ?? fn}${last ? ` (${last.message})` : ""}`);
    await pause(50);
  }
}

export class Browser {
  /** Null where it cannot be started here; its words are in `Browser.why`. */
  static async open(program, more = []) {
    const browser = new Browser();
    browser.home = mkdtempSync(join(tmpdir(), "browser-"));
    const root = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
    browser.child = spawn(program, [...flags, ...root, ...more, `--user-data-dir=${browser.home}/profile`, "about:blank"], {
      stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"], detached: true,
      env: { PATH: process.env.PATH, HOME: browser.home, XDG_CONFIG_HOME: browser.home, XDG_CACHE_HOME: browser.home, TMPDIR: browser.home, LC_ALL: "C.UTF-8" },
    });
    browser.listen();
    try {
      browser.version = await browser.send("Browser.getVersion");
      await browser.send("Target.getTargets");
      return browser;
    } catch (error) {
      Browser.why = browser.said || error.message;
      await browser.close();
      return null;
    }
  }

  constructor() {
    this.next = 0;
    this.asked = new Map();
    this.pages = new Map();
    this.said = "";
  }

  listen() {
    let rest = Buffer.alloc(0);
    const gone = () => {
      this.gone = true;
      for (const one of this.asked.values()) one.reject(new Error("the browser is gone"));
      this.asked.clear();
    };
    this.ended = new Promise((resolve) => this.child.once("close", resolve));
    this.child.once("error", gone);
    this.child.once("exit", gone);
    this.child.stderr.on("data", (bytes) => { this.said = (this.said + bytes).slice(-4000); });
    this.child.stdio[3].on("error", () => {});
    this.child.stdio[4].on("error", () => {});
    this.child.stdio[4].on("data", (bytes) => {
      rest = Buffer.concat([rest, bytes]);
      for (let end; (end = rest.indexOf(0)) >= 0; rest = rest.subarray(end + 1)) this.hear(JSON.parse(rest.subarray(0, end).toString()));
    });
  }

  hear(message) {
    const one = this.asked.get(message.id);
    if (one) {
      this.asked.delete(message.id);
      if (message.error) one.reject(new Error(`${one.method}: ${message.error.message}`));
      else one.resolve(message.result);
    } else if (message.method) {
      this.pages.get(message.sessionId)?.hear(message.method, message.params);
    }
  }

  send(method, params = {}, sessionId) {
    if (this.gone) return Promise.reject(new Error("the browser is gone"));
    const id = ++this.next;
    return new Promise((resolve, reject) => {
      this.asked.set(id, { resolve, reject, method });
      this.child.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
    });
  }

  /** A window of its own, which shares nothing with the others. */
  async page({ width = 1200, height = 800, dark = false, reduced = false } = {}) {
    const { browserContextId } = await this.send("Target.createBrowserContext");
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank", browserContextId });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, sessionId, targetId);
    this.pages.set(sessionId, page);
    for (const domain of ["Page", "Runtime", "Network", "Log", "Inspector"]) await page.send(domain + ".enable");
    await page.size(width, height);
    await page.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" },
      { name: "prefers-reduced-motion", value: reduced ? "reduce" : "no-preference" }] });
    return page;
  }

  async close() {
    if (!this.gone) await Promise.race([this.send("Browser.close").catch(() => {}), pause(5000)]);
    await Promise.race([this.ended, pause(10000)]);
    try {
      process.kill(-this.child.pid, "SIGKILL"); // whatever is left of its group
    } catch {
      // it has gone
    }
    rmSync(this.home, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
  }
}

export class Page {
  constructor(browser, session, target) {
    Object.assign(this, { browser, session, target, requests: [], errors: [], dialogs: [], loads: 0 });
  }

  send(method, params) {
    return this.browser.send(method, params, this.session);
  }

  hear(method, params) {
    if (method === "Network.requestWillBeSent") this.requests.push({ url: params.request.url, method: params.request.method, headers: params.request.headers });
    else if (method === "Runtime.exceptionThrown") this.errors.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    else if (method === "Log.entryAdded" && params.entry.level === "error") this.errors.push(`${params.entry.text} ${params.entry.url ?? ""}`);
    else if (method === "Page.loadEventFired") this.loads++;
    else if (method === "Inspector.targetCrashed") this.errors.push("the page has crashed");
    else if (method === "Page.javascriptDialogOpening") {
      this.dialogs.push(params.message);
      this.send("Page.handleJavaScriptDialog", { accept: false }).catch(() => {});
    }
  }

  size(width, height) {
    return this.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: width < 500 });
  }

  /** Goes to an address, and waits until it has loaded. */
  async go(url) {
    const before = this.loads;
    const { errorText } = await this.send("Page.navigate", { url });
    if (errorText) throw new Error(`${url}: ${errorText}`);
    await until(() => this.loads > before, `${url} is loaded`);
  }

  /** What a function gives that runs in the page, with arguments that are JSON. */
  async eval(fn, ...args) {
    const told = await this.send("Runtime.evaluate", { expression: `(${fn})(...${JSON.stringify(args)})`, awaitPromise: true, returnByValue: true, userGesture: true });
    if (told.exceptionDetails) throw new Error(told.exceptionDetails.exception?.description ?? told.exceptionDetails.text);
    return told.result.value;
  }

  until(fn, ...args) {
    return until(() => this.eval(fn, ...args), `${fn} ${args.length ? JSON.stringify(args) : ""}`);
  }

  /** All that can be read. */
  text(selector = "body") {
    return this.eval((s) => document.querySelector(s)?.innerText ?? "", selector);
  }

  shows(text, selector = "body") {
    return until(async () => (await this.text(selector)).includes(text), `'${text}' in ${selector}`).catch(async (error) => {
      throw new Error(`${error.message}; there is:\n${(await this.text(selector)).slice(0, 3000)}\n${this.errors.join("\n")}`);
    });
  }

  /** Presses keys that belong together, until they have done what they are for: between two of them there is little time. */
  async keys(names, fn, ...args) {
    await until(async () => {
      for (const name of names) await this.key(name);
      return this.eval(fn, ...args);
    }, `${names.join(" ")} does ${fn}`);
  }

  /** The middle of the first element of a selector whose text (or label) has the words; scrolled to where it can be seen. */
  place(selector, words = "") {
    return until(() => this.eval((s, w) => {
      for (const e of document.querySelectorAll(s)) {
        const said = `${e.innerText} ${e.getAttribute("aria-label") ?? ""} ${e.title ?? ""}`;
        if (!said.includes(w) || e.disabled) continue;
        e.scrollIntoView({ block: "center", inline: "nearest" });
        const box = e.getBoundingClientRect();
        if (box.width === 0 || box.height === 0) continue;
        const x = box.x + box.width / 2, y = box.y + box.height / 2, top = document.elementFromPoint(x, y);
        if (!top || !(top === e || e.contains(top) || top.contains(e))) continue;
        globalThis.clicked = false;
        e.addEventListener("click", () => { globalThis.clicked = true; }, { capture: true, once: true });
        return { x, y };
      }
      return null;
    }, selector, words), `a place to click: ${selector} '${words}'`);
  }

  /** Clicks there. What moves in between is aimed at once more. */
  click(selector, words) {
    return until(async () => {
      const { x, y } = await this.place(selector, words);
      for (const type of ["mouseMoved", "mousePressed", "mouseReleased"]) {
        await this.send("Input.dispatchMouseEvent", { type, x, y, button: type === "mouseMoved" ? "none" : "left", clickCount: type === "mouseMoved" ? 0 : 1 });
      }
      return this.eval(() => globalThis.clicked !== false); // undefined: the click has led to another page
    }, `a click: ${selector} '${words ?? ""}'`);
  }

  /** Types into a field, which gets the focus. */
  async type(text, selector) {
    await until(async () => {
      await this.click(selector);
      return this.eval((s) => document.activeElement?.matches(s), selector);
    }, `the focus in ${selector}`);
    await this.send("Input.insertText", { text });
  }

  /** A key, as "j", "Enter", "ArrowLeft", "Shift+Tab". */
  async key(name) {
    const parts = name.split("+"), key = parts.pop() || "+";
    const modifiers = parts.reduce((sum, one) => sum + ({ Alt: 1, Control: 2, Meta: 4, Shift: 8 }[one] ?? 0), 0);
    const codes = { Enter: 13, Escape: 27, Tab: 9, ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39, ArrowDown: 40, Home: 36, End: 35, PageUp: 33, PageDown: 34, " ": 32 };
    const text = key === "Enter" ? "\r" : key.length === 1 ? key : undefined;
    const windowsVirtualKeyCode = codes[key] ?? key.toUpperCase().charCodeAt(0);
    await this.send("Input.dispatchKeyEvent", { type: text ? "keyDown" : "rawKeyDown", key, text, modifiers, windowsVirtualKeyCode });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", key, modifiers, windowsVirtualKeyCode });
  }

  async picture(file) {
    const { data } = await this.send("Page.captureScreenshot", { format: "png" });
    writeFileSync(file, Buffer.from(data, "base64"));
  }

  async close() {
    await this.browser.send("Target.closeTarget", { targetId: this.target });
    this.browser.pages.delete(this.session);
  }
}
