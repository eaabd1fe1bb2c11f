// OpenAI's own SDK (npm openai) against `hocket serve`. Called by endpoints_node.sh.
import assert from "node:assert/strict"
import { createRequire } from "node:module"
import { pathToFileURL } from "node:url"

const [base, modules] = process.argv.slice(2)
const { default: OpenAI } = await import(pathToFileURL(createRequire(modules + "/").resolve("openai").replace(/\.js$/, ".mjs")))
const client = new OpenAI({ baseURL: base + "/v1", apiKey: "x", maxRetries: 0 })
const model = "guide"
const hello = [{ role: "user", content: "Hello" }]
const parameters = { type: "object", properties: { city: { type: "string" } } }

const names = []
for await (const one of client.models.list()) names.push(one.id)
assert.ok(names.includes(model))
const whole = await client.chat.completions.create({ model, messages: hello })
assert.equal(whole.choices[0].message.content, "You said: Hello")
const stream = client.chat.completions.stream({ model, messages: hello, stream_options: { include_usage: true } })
const last = await stream.finalChatCompletion()
assert.equal(last.choices[0].message.content, "You said: Hello")
assert.ok(last.usage.total_tokens > 0)

// the helper carries out the calls, and comes again with what they gave
const runner = client.chat.completions.runTools({
  model, messages: [{ role: "user", content: 'call weather {"city": "Rome"}' }],
  tools: [{ type: "function", function: { name: "weather", description: "w", parameters, parse: JSON.parse, function: ({ city }) => "Sunny in " + city } }],
})
assert.equal(await runner.finalContent(), "It said: Sunny in Rome")
await assert.rejects(client.chat.completions.create({ model: "nobody", messages: hello }), OpenAI.NotFoundError)
await assert.rejects(client.chat.completions.create({ model, messages: [] }), OpenAI.BadRequestError)

const first = await client.responses.create({ model, input: "Hello" })
assert.equal(first.output_text, "You said: Hello")
const told = client.responses.stream({ model, input: "More", previous_response_id: first.id })
let text = ""
for await (const event of told) if (event.type === "response.output_text.delta") text += event.delta
const second = await told.finalResponse()
assert.equal(second.output_text, "You said: More")
assert.equal(text, "You said: More")
const tools = [{ type: "function", name: "weather", description: "w", parameters, strict: false }]
const asked = await client.responses.create({ model, input: 'call weather {"city": "Rome"}', previous_response_id: second.id, tools })
const call = asked.output.at(-1)
assert.equal(call.type, "function_call")
const done = await client.responses.create({ model, previous_response_id: asked.id, tools, input: [{ type: "function_call_output", call_id: call.call_id, output: "Sunny" }] })
assert.equal(done.output_text, "It said: Sunny")
assert.equal((await client.responses.retrieve(done.id)).output_text, "It said: Sunny")
await client.responses.delete(done.id)
await assert.rejects(client.responses.retrieve(done.id), OpenAI.NotFoundError)
