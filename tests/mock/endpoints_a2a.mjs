// A2A's own SDK (npm @a2a-js/sdk) against `hocket serve`: by JSON-RPC and REST, and the one of 0.3 (installed as a2a-js-sdk-03). Called by endpoints_node.sh.
import assert from "node:assert/strict"
import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { pathToFileURL } from "node:url"

const [base, modules] = process.argv.slice(2)
const load = (name) => import(pathToFileURL(createRequire(modules + "/").resolve(name)).href.replace(/\.cjs$/, ".js"))
const url = base + "/a2a/guide"

async function newer(name) {
  const { ClientFactory, ClientFactoryOptions } = await load("@a2a-js/sdk/client")
  const client = await new ClientFactory(ClientFactoryOptions.createFrom(ClientFactoryOptions.default, { preferredTransports: [name] })).createFromUrl(url + "/")
  assert.equal(client.protocol ?? name, name)
  const message = (text, more) => ({ message: { messageId: crypto.randomUUID(), role: 1, parts: [{ content: { $case: "text", value: text } }], ...more } })
  const text = (task) => task.artifacts.flatMap((one) => one.parts.map((part) => part.content.value)).join("")
  let task = await client.sendMessage(message("Hello"))
  assert.equal(text(task), "You said: Hello")
  assert.equal(task.status.state, 3)
  task = await client.sendMessage(message("More", { contextId: task.contextId }))
  assert.equal(text(task), "You said: More")
  assert.equal(text(await client.getTask({ id: task.id })), "You said: More")
  assert.ok((await client.listTasks({ contextId: task.contextId })).tasks.length === 2)
  const told = []
  for await (const one of client.sendMessageStream(message("Stream"))) told.push(one.payload ?? one)
  assert.equal(told[0].$case, "task")
  assert.ok(told.some((one) => one.$case === "artifactUpdate"))
  assert.equal(told.at(-1).value.status.state, 3)
  await assert.rejects(client.getTask({ id: "none" }), /no task 'none'/)
  await assert.rejects(client.cancelTask({ id: task.id }), /is over/)
}

async function older() {
  const { ClientFactory } = await load("a2a-js-sdk-03/client")
  const client = await new ClientFactory().createFromUrl(url + "/")
  const message = (text, more) => ({ message: { kind: "message", messageId: crypto.randomUUID(), role: "user", parts: [{ kind: "text", text }], ...more } })
  const text = (task) => task.artifacts.flatMap((one) => one.parts.map((part) => part.text)).join("")
  let task = await client.sendMessage(message("Hello"))
  assert.equal(task.kind, "task")
  assert.equal(task.status.state, "completed")
  assert.equal(text(task), "You said: Hello")
  task = await client.sendMessage(message("More", { contextId: task.contextId }))
  assert.equal(text(await client.getTask({ id: task.id })), "You said: More")
  const told = []
  for await (const one of client.sendMessageStream(message("Stream"))) told.push(one)
  assert.equal(told[0].kind, "task")
  assert.equal(told.at(-1).kind, "status-update")
  assert.equal(told.at(-1).final, true)
  await assert.rejects(client.getTask({ id: "none" }), (err) => /no task 'none'|not found/i.test(err.message))
}

await newer("JSONRPC")
await newer("HTTP+JSON")
if (existsSync(modules + "/a2a-js-sdk-03")) await older()
