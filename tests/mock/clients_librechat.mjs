// LibreChat's engine (npm @librechat/agents), which its server runs each conversation with, at a custom endpoint. The program around it needs a MongoDB
// and is in no package registry. Called by clients.sh: node clients_librechat.mjs MODULES BASE MODEL.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, base, model] = process.argv.slice(2);
if (base === "--version") {
  console.log(JSON.parse(readFileSync(`${modules}/@librechat/agents/package.json`)).version);
  process.exit();
}
const load = (name) => import(pathToFileURL(createRequire(modules + "/").resolve(name)));
const { Run, Providers, GraphEvents, ToolEndHandler } = await load("@librechat/agents");
const { HumanMessage } = await load("@langchain/core/messages");
const { tool } = await load("@langchain/core/tools");
const look = tool(({ name }) => readFileSync(name, "utf8"), {
  name: "look", description: "Shows a file", schema: { type: "object", required: ["name"], properties: { name: { type: "string" } } },
});
const llmConfig = { provider: Providers.OPENAI, model, apiKey: "x", streaming: true, streamUsage: true, configuration: { baseURL: base } };
const run = await Run.create({
  runId: "r1", returnContent: true, customHandlers: { [GraphEvents.TOOL_END]: new ToolEndHandler() }, graphConfig: { type: "standard", tools: [look], instructions: "You help.", llmConfig },
});
const content = await run.processStream({ messages: [new HumanMessage("go")] }, { configurable: { thread_id: "t1" }, streamMode: "values", version: "v2", recursionLimit: 10 });
console.log(content.map((part) => part.text ?? part.type).join(" "));
process.exit(); // its telemetry would keep the process
