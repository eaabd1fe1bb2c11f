// Agents with scripted models: one that does what it is told, and a team that plans.
import { readFileSync } from "node:fs";

const scripted = readFileSync(new URL("../../host/kept/scripts/sim.lua", import.meta.url), "utf8");

export const desk = {
  targets: ["desk", "team"],
  files: {
    "desk/guide.md": "---\nname: guide\ndescription: Does what it is told.\ntools: [ask_user, write_file]\n---\nYou guide.\n",
    "desk/sim.lua": scripted,
    "team/agents/lead.md": "---\nname: lead\ndescription: Plans for a team.\ntools: [facilitator]\napprove_plan: true\nagents: [one, two]\n---\nLead. {{agents}}\n",
    "team/agents/one.md": "---\nname: one\ntools: [specialist]\n---\nOne.\n",
    "team/agents/two.md": "---\nname: two\ntools: [specialist]\n---\nTwo.\n",
    // The evening is written before the afternoon, and day 2 before what is of no day.
    "jobs/slots.lua": `local document = require("hocket").document { { "day", "integer" }, { "part", { "general", "morning", "afternoon", "evening" } } }
for _, slot in ipairs { { 2, "morning" }, { 1, "evening" }, { 1, "morning" }, { 1, "afternoon" }, { 0, "general" } } do
  assert(document:append({ day = slot[1], part = slot[2] }, "food", ("Of %d, %s."):format(slot[1], slot[2])))
end
return "written"`,
    "jobs/wait.lua": "require('hocket').flow.sleep(3600)\n",
    "team/sim.lua": "return require 'hocket.sim.team' { latency = 0 }\n",
  },
};

/** What jobs/slots.lua has written, in the order of its document. */
export const inOrder = ["Of 0, general.", "Of 1, morning.", "Of 1, afternoon.", "Of 1, evening.", "Of 2, morning."];

/** What tells the guide to make a call, and then to say something. */
export const call = (name, args, then = "") => `call ${name} ${JSON.stringify(args)}\n${then ? `say ${then}` : ""}`;
