// Anthropic's own SDK (npm @anthropic-ai/sdk) against `hocket serve`. Called by endpoints_node.sh.
import assert from "node:assert/strict"
import { createRequire } from "node:module"
import { pathToFileURL } from "node:url"

const [base, modules] = process.argv.slice(2)
const { default: Anthropic } = await import(pathToFileURL(createRequire(modules + "/").resolve("@anthropic-ai/sdk").replace(/\.js$/, ".mjs")))
const client = new Anthropic({ baseURL: base, apiKey: "x", maxRetries: 0 })
const model = "guide"
const hello = [{ role: "user", content: "Hello" }]
const tools = [{ name: "weather", description: "w", input_schema: { type: "object", properties: { city: { type: "string" } } } }]

const names = []
for await (const one of client.models.list()) names.push(one.id)
assert.ok(names.includes(model))
const whole = await client.messages.create({ model, max_tokens: 100, system: "Be brief.", messages: hello })
assert.equal(whole.content[0].text, "You said: Hello")
assert.equal(whole.stop_reason, "end_turn")
assert.ok(whole.usage.input_tokens > 0)
const talk = [{ role: "user", content: 'call weather {"city": "Rome"}' }]
let text = ""
const stream = client.messages.stream({ model, max_tokens: 100, messages: hello }).on("text", (delta) => { text += delta })
assert.equal((await stream.finalMessage()).content[0].text, "You said: Hello")
assert.equal(text, "You said: Hello")
const asked = await client.messages.stream({ model, max_tokens: 100, messages: talk, tools }).finalMessage()
assert.equal(asked.stop_reason, "tool_use")
const call = asked.content.at(-1)
assert.deepEqual(call.input, { city: "Rome" })
talk.push({ role: "assistant", content: asked.content }, { role: "user", content: [{ type: "tool_result", tool_use_id: call.id, content: "Sunny" }] })
assert.equal((await client.messages.create({ model, max_tokens: 100, messages: talk, tools })).content[0].text, "It said: Sunny")
assert.ok((await client.messages.countTokens({ model, messages: talk })).input_tokens > 0)
await assert.rejects(client.messages.create({ model: "nobody", max_tokens: 1, messages: hello }), Anthropic.NotFoundError)
