#!/bin/sh
# own_home.sh [NAME=VALUE…] COMMAND…: runs a test as users run hocket: with a home, in which runs are kept. It is the test's own
# and is removed afterwards. Nothing in the caller's environment says where runs are kept.
home=$(mktemp -d) || exit 1
trap 'chmod -R u+rwX "$home" 2>/dev/null; rm -rf "$home"' EXIT
trap 'exit 130' INT TERM HUP
unset HOCKET_STORE XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_RUNTIME_DIR XDG_STATE_HOME
HOME=$home env "$@"
