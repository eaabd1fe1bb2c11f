// What the official JavaScript clients (npm openai, @anthropic-ai/sdk, @a2a-js/sdk, @ag-ui/client) see of a run's end. Called by ends.lua with the
// folder node_modules: each line of its input is JSON, {client, base, agent, input, tools}, and is answered with one, {got}.
import { createRequire } from "node:module"
import { createInterface } from "node:readline"
import { pathToFileURL } from "node:url"

const modules = process.argv[2]
const load = (name, from, to) => import(pathToFileURL(createRequire(modules + "/").resolve(name)).href.replace(from, to))
const { default: OpenAI } = await load("openai", /\.js$/, ".mjs")
const { default: Anthropic } = await load("@anthropic-ai/sdk", /\.js$/, ".mjs")
const a2aOf = (name) => load(name, /\.cjs$/, ".js")
const token = "secret", headers = { authorization: "Bearer " + token }

const openai = (at) => new OpenAI({ baseURL: at.base + "/v1", apiKey: token, maxRetries: 0 })
const anthropic = (at) => new Anthropic({ baseURL: at.base, apiKey: token, maxRetries: 0 })
const tools = (at, more) => (at.tools ? { ...more, tools: at.tools } : more)
const said = (at) => [{ role: "user", content: at.input }]

// An error's status, and what its headers say about another try.
const failed = (error) => {
  if (!error.status) throw error
  return `${error.status} retry=${error.headers.get("x-should-retry")}${error.headers.get("retry-after") ? " after" : ""}`
}
const whole = (promise, read) => promise.then(read, failed)

// Reads a stream to its end; "error" where the client raises one of its own.
const streamed = async (promise, kind, read) => {
  let last
  try {
    for await (const one of await promise) last = read(one) ?? last
  } catch (error) {
    if (error instanceof kind) return "error"
    throw error
  }
  return last
}

const fetching = (url, options) => fetch(url, { ...options, headers: { ...Object.fromEntries(new Headers(options?.headers)), ...headers } })

const clients = {
  chat: (at) => whole(openai(at).chat.completions.create(tools(at, { model: at.agent, messages: said(at) })), (reply) => reply.choices[0].finish_reason),
  chat_stream: (at) => streamed(openai(at).chat.completions.create(tools(at, { model: at.agent, messages: said(at), stream: true })), OpenAI.APIError, (chunk) => chunk.choices[0]?.finish_reason),
  responses: (at) => whole(openai(at).responses.create(tools(at, { model: at.agent, input: at.input })), (reply) => `${reply.status} ${reply.incomplete_details?.reason ?? "-"}`),
  responses_stream: (at) => streamed(openai(at).responses.create(tools(at, { model: at.agent, input: at.input, stream: true })), OpenAI.APIError, (event) => event.type === "error" ? "error" : event.type.replace("response.", "")),
  anthropic: (at) => whole(anthropic(at).messages.create(tools(at, { model: at.agent, max_tokens: 900, messages: said(at) })), (reply) => reply.stop_reason),
  anthropic_stream: (at) => streamed(anthropic(at).messages.create(tools(at, { model: at.agent, max_tokens: 900, messages: said(at), stream: true })), Anthropic.APIError, (event) => event.delta?.stop_reason),
  async a2a(at) {
    const { ClientFactory, ClientFactoryOptions, JsonRpcTransportFactory, DefaultAgentCardResolver } = await a2aOf("@a2a-js/sdk/client")
    const factory = new ClientFactory(ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [new JsonRpcTransportFactory({ fetchImpl: fetching })], cardResolver: new DefaultAgentCardResolver({ fetchImpl: fetching }), preferredTransports: ["JSONRPC"] }))
    const client = await factory.createFromUrl(`${at.base}/a2a/${at.agent}/`)
    const task = await client.sendMessage({ message: { messageId: crypto.randomUUID(), role: 1, parts: [{ content: { $case: "text", value: at.input } }] } })
    const { TaskState } = await a2aOf("@a2a-js/sdk")
    return `${TaskState[task.status.state].replace("TASK_STATE_", "")} ${task.metadata?.hocket?.ending ?? "-"}`
  },
  async a2a_03(at) {
    const { ClientFactory, ClientFactoryOptions, JsonRpcTransportFactory, DefaultAgentCardResolver } = await a2aOf("a2a-js-sdk-03/client")
    const factory = new ClientFactory(ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [new JsonRpcTransportFactory({ fetchImpl: fetching })], cardResolver: new DefaultAgentCardResolver({ fetchImpl: fetching }) }))
    const client = await factory.createFromUrl(`${at.base}/a2a/${at.agent}/`)
    const task = await client.sendMessage({ message: { kind: "message", messageId: crypto.randomUUID(), role: "user", parts: [{ kind: "text", text: at.input }] } })
    return `${task.status.state.toUpperCase().replaceAll("-", "_")} ${task.metadata?.hocket?.ending ?? "-"}`
  },
  async agui(at) {
    const { HttpAgent } = await import(pathToFileURL(createRequire(modules + "/").resolve(at.package)))
    const agent = new HttpAgent({ url: `${at.base}/agui/${at.agent}`, threadId: "t", headers })
    agent.messages = [{ id: "u", role: "user", content: at.input }]
    let end
    await agent.runAgent({ runId: "r", tools: at.tools ?? [] }, { onRunFinishedEvent: (e) => { end = e.event.outcome?.type }, onRunErrorEvent: () => { end = "error" } })
    return end
  },
}

console.error = () => {} // AG-UI's client reports each error of a run there, too
for await (const line of createInterface({ input: process.stdin })) {
  const at = JSON.parse(line)
  let got
  try {
    got = await clients[at.client](at)
  } catch (error) {
    got = `raised ${error.name}: ${error.message}`
  }
  console.log(JSON.stringify({ got }))
}
