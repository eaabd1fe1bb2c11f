--- Patterns against a small model: how many of so many trials come to something. A trial that build/models.jsonl has is not made again.
local hocket = require "hocket"
local json = require "hocket.json"
local plan = require "hocket.patterns.plan"

local trials, results = tonumber((...)) or 20, "build/models.jsonl"
local model = assert(hocket.model.resolve "llamacpp").id

-- ---- The rows: each gives "valid", "right" or "wrong", and a few words ---------------------------------

local rows = {}

-- What the model has done wrong counts; what else went wrong ends the suite, and nothing is noted.
local function failed(err)
  if err.code ~= "model" and err.code ~= "invalid" then error(err.message, 0) end
  return "wrong", err.message
end

local requests = {
  { "I was charged twice for the same invoice.", "billing" }, { "May my landlord keep the deposit?", "legal" },
  { "The app crashes when I open a photo.", "technical" }, { "Please send me a copy of my last bill.", "billing" },
  { "Is this contract binding without a signature?", "legal" }, { "My password is refused since the update.", "technical" },
  { "I want my money back for order 771.", "billing" }, { "How do I install it on a second computer?", "technical" },
}

local function desk(seed)
  local team = {}
  for name, what in pairs { billing = "Invoices, payments, refunds", legal = "Contracts, law, privacy", technical = "Errors, installation, passwords" } do
    team[#team + 1] = hocket.agent { name = name, description = what, prompt = "Say: done.", model = model, max_tokens = 4 }
  end
  table.sort(team, function(a, b) return a.name < b.name end)
  return hocket.agent { name = "desk", prompt = "You are the reception. Choose who can help best.", model = model, seed = seed, temperature = 0.7, max_tokens = 120 }, team
end

rows[#rows + 1] = { "router by enum", function(seed)
  local one, team = desk(seed)
  local asked = requests[seed % #requests + 1]
  local reply, err = hocket.patterns.router.run(one, team, asked[1])
  if not reply then return failed(err) end
  return reply.agent == asked[2] and "right" or "valid", reply.agent
end }

local work = { "What does notes.txt say?", "Move all pictures into a folder named pictures.", "Good morning!", "Find out when the library opens." }

rows[#rows + 1] = { "planner", function(seed)
  local specialists = { "file", "web" }
  local reply, err = hocket.orchestrate.call(require("hocket.agent").built_in().planner, work[seed % #work + 1], {
    model = model, schema = json.encode(plan.schema(specialists, 20)), schema_name = "plan",
    variables = { specialists = "- file: Finds, reads, writes and moves files\n- web: Searches the web" },
  })
  if not reply then return failed(err) end
  local value, wrong = plan.read(reply.text, (plan.compile(specialists, 20)))
  if not value or not reply.text:find "^%s*{" then return "wrong", wrong or reply.text:sub(1, 80) end
  if reply.text:find "<%a" then return "wrong", "a placeholder: " .. reply.text:match "<%a[^>]*" end
  return plan.check(value, specialists, {}) == nil and "right" or "valid", value.type
end }

rows[#rows + 1] = { "judge", function(seed)
  local good = seed % 2 == 0
  local reply, err = hocket.run(require("hocket.agent").built_in().judge, ("Rubric: the answer names the capital of France.\nAnswer: %s"):format(good and "It is Paris." or "I like cheese."), { model = model })
  if not reply then return failed(err) end
  return reply.value.pass == good and "right" or "valid", reply.value.reason:sub(1, 80)
end }

-- ---- Trials ---------------------------------------------------------------------------------------

local made = {}
for line in io.open(results) and io.lines(results) or function() end do
  local one = json.decode(line)
  if one then made[one.row .. " " .. one.trial .. " " .. one.model] = one end
end

local function try(row, seed)
  local key = ("%s %d %s"):format(row[1], seed, model:match "[^/]+$")
  if made[key] then return made[key] end
  local outcome, note = row[2](seed)
  local one = { row = row[1], trial = seed, model = model:match "[^/]+$", outcome = outcome, note = note }
  local file <close> = assert(io.open(results, "a"))
  file:write(json.encode(one), "\n")
  return one
end

local lines = { ("| %s, %d trials each | right | valid |"):format(model:match "[^/]+$", trials), "|---|---|---|" }
for _, row in ipairs(rows) do
  local count = { right = 0, valid = 0, wrong = 0 }
  for seed = 1, trials do
    local one = try(row, seed)
    count[one.outcome] = count[one.outcome] + 1
    print(("%s %d: %s (%s)"):format(row[1], seed, one.outcome, one.note:gsub("%s+", " "):sub(1, 100)))
  end
  lines[#lines + 1] = ("| %s | %d | %d |"):format(row[1], count.right, count.right + count.valid)
end
return table.concat(lines, "\n")
