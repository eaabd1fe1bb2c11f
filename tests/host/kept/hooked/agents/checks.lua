local checks = {}

function checks.passes(about)
  local file <close> = assert(io.open(_G.letters_of_hooks, "a"))
  file:write("guard ", about.agent, "\n")
end

return checks
