-- Every line of a file is one JSON value.
local fs = require "hocket.fs"
local json = require "hocket.json"

for line in assert(fs.read((...))):gmatch "[^\n]+" do
  local value, err = json.decode(line)
  if value == nil then return nil, { code = "parse", message = ("%s in: %s"):format(err.message, line) } end
end
return "well"
