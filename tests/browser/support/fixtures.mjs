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
    "jobs/wait.lua": "require('hocket').flow.sleep(3600)\n",
    "team/sim.lua": "return require 'hocket.sim.team' { latency = 0 }\n",
  },
};

/** What tells the guide to make a call, and then to say something. */
export const call = (name, args, then = "") => `call ${name} ${JSON.stringify(args)}\n${then ? `say ${then}` : ""}`;
