#!/bin/sh
# The module of a Lua 5.4 in a program with another Lua: an error that names the cure, and no crash.
#   other_lua.sh INTERPRETER FOLDER
set -eu
for module in hocket hocket.json hocket.flow; do
    said=$(LUA_CPATH="$2/?.so" "$1" -e "print(select(2, pcall(require, '$module')))") || { echo "$module: exit code $?"; exit 1; }
    case $said in
    *"take the one in the folder of your Lua (5.1 for LuaJIT)"*) ;;
    *) echo "$module: $said"; exit 1 ;;
    esac
done
