-- The names that agent files can have in `tools:`.
return table.concat(require("hocket.tool").names(), "\n")
