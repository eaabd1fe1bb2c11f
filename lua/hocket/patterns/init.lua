--- Loads what registers toolsets, so that agent files can name them.
require "hocket.patterns.facilitator"
require "hocket.tools.ask_user"
require "hocket.tools.builtin"
require "hocket.tools.delegate"
require "hocket.tools.delegate_to_agent"
return true
