-- What a run loses before it hears a message: by whose message it is, what is in it, and what the run has.
local t = require "harness"
local client_words = require "hocket.internal.run.client_words"
local json = require "hocket.json"
local proof = require "hocket.internal.run.proof"

local ID, OTHER = "01KANC3V0QZJ9E4W2X6T8B5M7A", "01KANC3V0QZJ9E4W2X6T8B5M7B"

local questions = { a1 = { prefix = "a" }, q1 = { prefix = "q" }, q2 = { prefix = "q", kind = "approval" }, i1 = { prefix = "i" } }

-- Whether a run of such members is cut before it hears that.
local function is_cut(message, more)
  local cuts = 0
  local run = { id = ID, questions = questions, always = {}, options = { workdir = "/w" }, journal = {} }
  for name, value in pairs(more or {}) do run[name] = value end
  function run.journal.tell(_, wish, a, text)
    local said = json.decode(text)
    t.same({ wish, a }, { "consent", "" })
    t.same(said, { counts = false, given = { consent = false, workdir = "/w" }, words = true, web_allow = "" })
    cuts = cuts + 1
    return true
  end
  t.ok(client_words.before(run, message))
  return cuts == 1
end

t.test("words of a client cut; yes and no, numbers, and what has no words do not", function()
  local harmless = { { wish = "stop" }, { wish = "look" }, { wish = "cancel" }, { wish = "answer", question = "a1", text = "allow" }, { wish = "answer", question = "a1", text = " No. " },
    { wish = "answer", question = "a1", text = "always" }, { wish = "answer", question = "q2", text = "yes" }, { wish = "signal", name = "n" }, { wish = "signal", name = "n", value = json.null },
    { wish = "signal", name = "n", value = 7 }, { wish = "signal", name = "n", value = true }, { wish = "signal", name = "run " .. OTHER, value = { ended = "done" } } }
  local words = { { wish = "say", to = "", text = "go" }, { wish = "answer", question = "i1", text = "yes" }, { wish = "answer", question = "q1", text = "yes" }, { wish = "answer", question = "q9", text = "yes" },
    { wish = "answer", question = "a1", text = "deny: do this" }, { wish = "answer", question = "a1", text = 'edit {"command":"ls"}' }, { wish = "answer", question = "q2", text = "yes, but" },
    { wish = "answer", question = "a1", text = { "allow" } }, { wish = "answer", text = "allow" }, { wish = "signal", name = "n", value = "go" }, { wish = "signal", name = "n", value = { "go" } },
    { wish = "signal", name = "n", value = { ended = "go" } }, { wish = "signal", name = "n", value = { ended = "done", kind = "tool" } }, { wish = "signal", name = "n", value = {} } }
  for _, said in ipairs(harmless) do t.ok(not is_cut(json.encode(said)), json.encode(said)) end
  for _, said in ipairs(words) do t.ok(is_cut(json.encode(said)), json.encode(said)) end
  for _, text in ipairs { "", "7", "[]", "{" } do t.ok(not is_cut(text), text) end -- which no run understands
end)

t.test("whoever allowed it may say anything: the same user, the run's program, a run that is not a client's", function()
  local said = '{"wish":"say","to":"","text":"go"'
  local mine = proof.mark("message", ID, nil, said .. ',"from":"person"}')
  for _, text in ipairs { mine, said .. ',"from":"run"}', said .. ',"from":"host"}', said .. ',"from":"record"}' } do t.ok(not is_cut(text), text) end
  for _, text in ipairs { said .. "}", said .. ',"from":"person"}', (mine:gsub('"go"', '"rm"')), proof.mark("message", OTHER, nil, said .. ',"from":"person"}'),
    proof.mark(ID, ID, nil, said .. ',"from":"person"}'), (mine:gsub("person", "client")), said .. ',"from":"client"}', said .. ',"from":"client","key":"0"}', said .. ',"from":["run"]}', said .. ',"from":true}' } do t.ok(is_cut(text), text) end
end)

t.test("a run that has lost all loses what people have allowed since", function()
  local said = '{"wish":"say","to":"","text":"go"}'
  t.ok(is_cut(said, { for_clients = true }))
  t.ok(is_cut(said, { for_clients = true, was_cut = true }))
  t.ok(not is_cut(said, { heard_words = true }))
  t.ok(is_cut(said, { heard_words = true, always = { 1 } }))
  t.ok(is_cut(said, { heard_words = true, named_hosts = { a = true } }))
end)

return t.finish()
