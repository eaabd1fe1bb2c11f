// `hocket serve` on a free port, with a store, a token and agents of its own; and its interface, as a client would use it.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { until } from "./browser.mjs";

export class Server {
  /** `files`: texts by their names, made in its directory; `targets`: what it serves; `fill`: runs that its store has (tests/support/fill.h). */
  static async open({ files = {}, targets = [], options = [], fill } = {}) {
    const server = new Server();
    server.dir = mkdtempSync(join(tmpdir(), "served-"));
    server.store = join(server.dir, "runs.db");
    server.log = join(server.dir, "access.log");
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(server.dir, name)), { recursive: true });
      writeFileSync(join(server.dir, name), text);
    }
    try {
      if (fill) server.fill(fill);
      await server.start(targets, options);
    } catch (error) {
      await server.close();
      throw error;
    }
    return server;
  }

  workers = [];

  get env() {
    const env = { ...process.env, HOME: this.dir, HOCKET_STORE: this.store, HOCKET_MODEL: "sim", HOCKET_TRUST: "1" };
    delete env.XDG_STATE_HOME;
    return env;
  }

  fill(text) {
    const made = spawnSync(process.env.FILL, [this.store], { input: text, maxBuffer: 1 << 30 });
    if (made.status !== 0) throw new Error(`fill: ${made.stderr}`);
  }

  async start(targets, options) {
    this.said = "";
    this.child = spawn(process.env.HOCKET ?? "hocket", ["serve", "--listen", "127.0.0.1:0", "--access-log", this.log, ...options, ...targets],
      { cwd: this.dir, env: this.env, stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [this.child.stdout, this.child.stderr]) stream.on("data", (bytes) => { this.said += bytes; });
    this.child.once("exit", () => { this.over = true; });
    this.child.once("error", (error) => { this.over = true; this.said += error.message; });
    const line = await until(() => /^serving (\S+)/m.exec(this.said) ?? (this.over && ["", ""]), "the server serves");
    if (!line[1]) throw new Error(`the server has ended: ${this.said}`);
    this.url = line[1];
    if (!options.includes("--no-token")) this.token = readFileSync(join(this.dir, ".local/state/hocket/serve-token"), "utf8").trim();
  }

  /** The address that somebody is given who is let in. */
  get door() {
    return `${this.url}/#token=${this.token}`;
  }

  async ask(method, path, body, headers = {}) {
    const answer = await fetch(this.url + path, { method, headers: { authorization: `Bearer ${this.token}`, "content-type": "application/json", ...headers },
      body: body === undefined ? undefined : JSON.stringify(body) });
    const text = await answer.text();
    return { status: answer.status, body: text ? JSON.parse(text) : null };
  }

  /** Begins a run, and gives its id. */
  async begin(target, input, options) {
    const { status, body } = await this.ask("POST", "/api/runs", { target, input, options });
    if (status !== 201) throw new Error(JSON.stringify(body));
    return body.id;
  }

  state(id, wanted) {
    return until(async () => {
      const { body } = await this.ask("GET", `/api/runs/${id}`);
      return body.state === wanted && body;
    }, `run ${id} is ${wanted}`);
  }

  /** Ends whatever a case has left at work. */
  async clear() {
    const { body } = await this.ask("GET", "/api/runs?limit=100");
    for (const { id, state } of body.runs) if (["running", "waiting"].includes(state)) await this.ask("POST", `/api/runs/${id}/cancel`, {});
  }

  run(...args) {
    return spawnSync(process.env.HOCKET, args, { cwd: this.dir, env: this.env, maxBuffer: 1 << 30 });
  }

  /** Puts a run into the store for a worker of a pool, and gives its id. */
  submit(target, pool) {
    const { status, stdout, stderr } = this.run("run", "--detach", "-q", "--pool", pool, target);
    if (status !== 0) throw new Error(`${stderr}`);
    return String(stdout).trim();
  }

  /** A worker of the store; close ends it. */
  work(...options) {
    mkdirSync(join(this.dir, "work"), { recursive: true });
    const worker = spawn(process.env.HOCKET ?? "hocket", ["work", "-q", ...options], { cwd: join(this.dir, "work"), env: this.env, stdio: "ignore" });
    this.workers.push(worker);
    return worker;
  }

  async close() {
    for (const worker of this.workers) worker.kill("SIGKILL");
    if (this.child?.pid) {
      this.child.kill("SIGTERM");
      await until(() => this.over, "the server ends");
    }
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
  }
}
