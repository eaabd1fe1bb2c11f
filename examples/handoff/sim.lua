-- The scripted model of the handoff example: it plays the writer, the editor and the last look.
local function framed(text, kind)
  return text:match(("<%s%%-%%w+ of=\"[^\"]*\">\n(.-)\n</%s%%-"):format(kind, kind))
end

local function sentence(text)
  text = text:gsub("%s+", " "):gsub("^%s*announce:?%s*", ""):gsub("[%s%.]*$", "")
  return text:sub(1, 1):upper() .. text:sub(2) .. "."
end

return function(request)
  local text = request.last.text
  if request.system:find("You draft announcements", 1, true) then
    return { text = ("We are glad to be able to announce the following to all our customers. %s We thank you for your patience and your trust."):format(sentence(text)) }
  elseif request.system:find("You edit drafts", 1, true) then
    local draft = framed(text, "response")
    local fact = draft:match "^[^%.]*%. (.*) We thank you" or draft
    return { text = ("# News\n\n%s"):format(fact) }
  end
  return { text = ("%s\n\nApproved: all that was asked for is in it."):format(framed(text, "response")) }
end
