--- Text as man pages want it (man(7)): for groff without a warning, and for mandoc.
local roff = {}

local written = { ["\\"] = "\\e", ["-"] = "\\-", ["'"] = "\\(aq", ["`"] = "\\(ga", ["^"] = "\\(ha", ["~"] = "\\(ti", ['"'] = "\\(dq" }

--- A text without macros in it; what can be copied stays what it is.
---@param text string
function roff.escape(text)
  text = text:gsub("…", "..."):gsub("[\\'`^~\"-]", written) -- a terminal of ASCII has no ellipsis
  text = text:gsub("[\xC2-\xF4][\x80-\xBF]+", function(c) return ("\\[u%04X]"):format(utf8.codepoint(c)) end)
  return (text:gsub("^%.", "\\&."):gsub("\n%.", "\n\\&."))
end

--- Running text, in lines of at most some 76 bytes.
---@param text string
function roff.text(text)
  local lines, line = {}, ""
  for word in text:gmatch "%S+" do
    word = roff.escape(word)
    if line ~= "" and #line + #word > 75 then
      lines[#lines + 1], line = line, ""
    end
    if line == "" then word = word:gsub("^%.", "\\&.") end
    line = line == "" and word or line .. " " .. word
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n")
end

function roff.bold(text) return "\\fB" .. roff.escape(text) .. "\\fR" end
function roff.italic(text) return "\\fI" .. roff.escape(text) .. "\\fR" end

--- Lines that stay as they are.
---@param text string
---@param out string[]
function roff.literal(text, out)
  out[#out + 1] = ".EX"
  out[#out + 1] = roff.escape((text:gsub("\n+$", "")))
  out[#out + 1] = ".EE"
end

-- A list in two columns, or what is drawn, is no running text.
local function is_literal(line)
  return (line:find "^%s" or line:find "%S  +%S") ~= nil
end

--- Paragraphs: running text is filled, lists and examples stay as they are.
---@param text string
---@param out string[]
function roff.body(text, out)
  local first = true -- right below a heading there is no need of a macro
  local function add(lines, literal)
    if #lines == 0 then return end
    if not first then out[#out + 1] = ".PP" end
    first = false
    if literal then return roff.literal(table.concat(lines, "\n"), out) end
    out[#out + 1] = roff.text(table.concat(lines, " "))
  end
  for paragraph in (text:gsub("\n+$", "") .. "\n\n"):gmatch "(.-)\n\n+" do
    local lines, literal = {}, false
    for line in (paragraph .. "\n"):gmatch "(.-)\n" do
      if is_literal(line) ~= literal then
        add(lines, literal)
        lines, literal = {}, not literal
      end
      lines[#lines + 1] = line
    end
    add(lines, literal)
  end
end

--- "  75    the run waits" as entries of a list.
---@param text string
---@param out string[]
function roff.columns(text, out)
  for name, what in text:gmatch "%s*(%S+)%s+([^\n]+)\n" do
    out[#out + 1] = ".TP"
    out[#out + 1] = roff.bold(name)
    out[#out + 1] = roff.text(what)
  end
end

return roff
