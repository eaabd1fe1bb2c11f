// AG-UI's own client (npm @ag-ui/client), which verifies each sequence of events, against `hocket serve`. Called by endpoints_node.sh.
import assert from "node:assert/strict"
import { createRequire } from "node:module"
import { pathToFileURL } from "node:url"

const [base, modules, name] = process.argv.slice(2)
const { HttpAgent } = await import(pathToFileURL(createRequire(modules + "/").resolve(name)))
const agent = new HttpAgent({ url: base + "/agui/guide", threadId: "t1" })
const tools = [{ name: "show_map", description: "Shows a map", parameters: { type: "object", properties: { city: { type: "string" } } } }]
let end
const run = async (runId) => (await agent.runAgent({ runId, tools }, { onRunFinishedEvent: (e) => { end = e.event } })).newMessages

agent.messages = [{ id: "u1", role: "user", content: "Hello" }]
assert.equal((await run("r1"))[0].content, "You said: Hello")
assert.deepEqual(agent.state, { tasks: [], document: null })
agent.messages.push({ id: "u2", role: "user", content: 'call show_map {"city": "Rome"}' })
await run("r2")
assert.deepEqual(end.outcome, { type: "success" })
agent.messages.push({ id: "x1", role: "tool", toolCallId: agent.messages.at(-1).toolCalls[0].id, content: "shown" })
assert.equal((await run("r3")).at(-1).content, "It said: shown")
agent.messages.push({ id: "u3", role: "user", content: 'call create_tasks {"tasks": [{"text": "Help", "assigned_to": "helper", "active_form": "Helping"}]}' })
await run("r4")
assert.equal(agent.state.tasks[0].text, "Help")
