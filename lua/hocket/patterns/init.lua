--- Loads what registers toolsets, so that agent files can name them.
require "hocket.patterns.facilitator"
return true
