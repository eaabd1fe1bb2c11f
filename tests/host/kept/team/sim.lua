return require "hocket.sim.team" {}
