#!/bin/sh
# Measures hocket against a bare libcurl client: see bench/run.lua, which takes the options.
exec lua5.4 "$(dirname "$0")/run.lua" "$@"
