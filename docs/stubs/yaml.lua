---@meta hocket.yaml

--- YAML as agent files use it: mappings, sequences and scalars of YAML 1.2.
---
---     local yaml = require "hocket.yaml"
---     local value, places = yaml.decode "name: food\ntools: [clock]\n"
---     print(value.tools[1], places["/tools/0"][1])      -- clock, and the line that it stands on
---
--- Aliases, anchors, tags and duplicate keys are refused.
local yaml = {}

--- Reads a document. Errors begin with "line:column: ".
---@param text string
---@param first_line? integer The number of the text's first line; 1.
---@param places_as_json? boolean Returns the places as JSON text, which is cheaper if they are seldom read.
---@param ordered? boolean Mappings remember the order of their members, as `json.object` does.
---@return any? value
---@return table<string, integer[]>|string|hocket.Error places Line and column of every value, by JSON pointer.
function yaml.decode(text, first_line, places_as_json, ordered) end

return yaml
