-- An audit: each file is reviewed by an agent, each finding is checked by another one, and what stands is summed up.
--
--   hocket check examples/workflow        prints what it may use at most
--   hocket run examples/workflow/workflows/audit.lua '{"files": ["notes.txt", "plan.txt"]}'
local workflow = require "hocket.workflow"
local agent, phase, pipeline, report = workflow.agent, workflow.phase, workflow.pipeline, workflow.report

local verdict = { type = "object", required = { "real" }, properties = { real = { type = "boolean" } } }

local function review(file)
  return agent { "reviewer", input = "Review the file " .. file }
end

-- Keeps the findings that a second agent confirms.
local function check(found)
  local kept, errors = workflow.map(found.findings, function(finding)
    local says, err = agent { name = "sceptic", prompt = "You doubt a finding about a file. Say whether it is real.", output = verdict,
      max_tokens = 500, context = { window = 8000 }, input = { file = found.file, finding = finding } }
    if not says then return nil, err end
    return { text = finding, real = says.real }
  end, { max = 20 })
  if next(errors) then return nil, select(2, next(errors)) end
  local real = {}
  for _, one in ipairs(kept) do real[#real + 1] = one.real and one.text or nil end
  return { file = found.file, findings = real }
end

return workflow {
  description = "Reviews files, and checks each finding",
  input = {
    type = "object", required = { "files" }, additionalProperties = false,
    properties = { files = { type = "array", items = { type = "string" }, minItems = 1, maxItems = 50 } },
  },
  output = {
    type = "object", required = { "reviewed", "failed", "findings" },
    properties = { reviewed = { type = "integer" }, failed = { type = "integer" }, findings = { type = "array" } },
  },
  run = function(input)
    phase("review", #input.files)
    local reviewed, errors = pipeline(input.files, { review, check }, { limit = 8, max = 50 })
    local findings, count = {}, 0
    for i = 1, #input.files do
      local one = reviewed[i]
      if one then
        count = count + 1
        for _, finding in ipairs(one.findings) do findings[#findings + 1] = ("%s: %s"):format(one.file, finding) end
      else
        report(("%s was not reviewed: %s"):format(input.files[i], errors[i].message))
      end
    end
    return { reviewed = count, failed = #input.files - count, findings = require("hocket.json").array(findings) }
  end,
}
