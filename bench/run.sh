#!/bin/sh
# Measures hocket against a bare libcurl client: see bench/run.lua, which takes the options. Runs are kept
# only where a case says so: else a person's own store would grow, and clocks stand still while a script runs.
HOCKET_STORE=off exec lua5.4 "$(dirname "$0")/run.lua" "$@"
