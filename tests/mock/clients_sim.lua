-- Calls two of a client's own tools at once, whichever it has, and answers with what they said.
local function command(name) return function(file) return { [name] = "cat " .. file, description = "shows it", is_background = false } end end
local ways = {
  { "exec_command", function(file) return { cmd = "cat " .. file } end }, -- Codex
  { "run_shell_command", command "command" }, { "bash", command "command" }, { "look", function(file) return { name = file } end },
}

return function(q)
  if q.system:find "expert software developer" then return "one.txt\n```\nanother word\n```\n" end -- aider, which reads calls from no reply
  local results = {}
  for i = #q.messages, 1, -1 do
    if q.messages[i].role ~= "tool" then break end
    table.insert(results, 1, q.messages[i].text)
  end
  if #results > 0 then return "GOT " .. table.concat(results, " AND ") end
  for _, way in ipairs(ways) do
    if q.tools[way[1]] then return { reasoning = "Both files.", text = "I look.", calls = { { name = way[1], arguments = way[2] "one.txt" }, { name = way[1], arguments = way[2] "two.txt" } } } end
  end
  return "A title."
end
