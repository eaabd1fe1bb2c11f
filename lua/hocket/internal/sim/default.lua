--- The scripted model that answers when no script is given: it plays a facilitator and its
--- specialists in general terms, and repeats what it is told otherwise.
return require "hocket.sim.team" {}
