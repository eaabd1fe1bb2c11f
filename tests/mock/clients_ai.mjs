// Vercel's AI SDK with its default, Responses: items that the server keeps come back as references from the second turn on; with
// `store: false` they come back whole, reasoning with what seals it. A warning is a fault: the SDK has left something out.
import { readFileSync } from "node:fs";
const [modules, base, model] = process.argv.slice(2);
const described = (name) => JSON.parse(readFileSync(`${modules}/${name}/package.json`));
function load(name) {
  let at = described(name).exports["."];
  while (typeof at === "object") at = at.import ?? at.default;
  return import(`${modules}/${name}/${at}`);
}
if (base === "--version") {
  console.log(`${described("ai").version}, openai ${described("@ai-sdk/openai").version}`);
  process.exit();
}
const { generateText, streamText, tool, jsonSchema, ...sdk } = await load("ai");
const { createOpenAI } = await load("@ai-sdk/openai");
globalThis.AI_SDK_LOG_WARNINGS = false;
const openai = createOpenAI({ baseURL: base, apiKey: "x" });
const look = tool({
  description: "Shows a file", execute: async ({ name }) => readFileSync(name, "utf8"),
  inputSchema: jsonSchema({ type: "object", required: ["name"], properties: { name: { type: "string" } } }),
});
const stopWhen = (sdk.isStepCount ?? sdk.stepCountIs)(4);
const ways = [{}, { store: false }, { store: false, forceReasoning: true, reasoningSummary: "auto" }, { forceReasoning: true, reasoningSummary: "auto" }];
let said;
for (const openaiOptions of ways) {
  for (const ask of [generateText, streamText]) {
    const messages = [];
    for (const content of ["go", "Thanks", "go on"]) {
      messages.push({ role: "user", content });
      const result = ask({ model: openai(model), messages, tools: { look }, stopWhen, providerOptions: { openai: openaiOptions }, onError: ({ error }) => { throw error; } });
      const answer = await result;
      messages.push(...(await answer.response).messages);
      said = await answer.text;
      const warnings = (await answer.steps).flatMap((step) => step.warnings ?? []);
      const calls = (await answer.steps).flatMap((step) => step.toolCalls).length;
      if (warnings.length > 0 || calls !== 2 || !said.startsWith("GOT")) {
        console.error(ask.name, openaiOptions, content, warnings, calls, said);
        process.exit(1);
      }
    }
  }
}
console.log(said);
