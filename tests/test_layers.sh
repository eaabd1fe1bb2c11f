#!/bin/sh
# Keeps the layers: who may include whom, and which file knows which library.
#   base < core, net, serve, store, sys (siblings) < bind < host; cli and module see the public header alone
set -u
cd "${1:-.}" || exit 1
failed=0
complain() {
    echo "layers: $1" >&2
    failed=1
}

# layer, and the layers that it may include
check() {
    layer=$1
    shift
    [ -d "src/$layer" ] || return 0
    for include in $(grep -rhoE '^#include "[a-z]+/' src/"$layer" | sed 's/.*"//; s,/,,' | sort -u); do
        case " $* $layer " in
        *" $include "*) ;;
        *) complain "src/$layer includes $include/: $(grep -rlE "^#include \"$include/" src/"$layer" | tr '\n' ' ')" ;;
        esac
    done
}

check base
check core base
check net base
check serve base
check store base
check sys base
check bind base core net serve store sys
check host base core net serve store sys bind
check cli
check module

# library's header, and the files that may include it
only() {
    header=$1
    shift
    for file in $(grep -rlE "^#include <$header" src include); do
        case " $* " in
        *" $file "*) ;;
        *) complain "$file includes <$header…>, which belongs to: $*" ;;
        esac
    done
}

only 'cJSON|^#include <cjson/' src/base/json_tree.c
only 'yaml.h' src/base/yaml.c
for file in $(grep -rlE '^#include <curl/' src include); do
    case $file in
    src/net/http/*.[ch] | src/net/curl.[ch]) ;;
    *) complain "$file includes curl, which belongs to src/net/http" ;;
    esac
done
for file in $(grep -rlE '^#include [<"](lua|lauxlib|lualib)\.' src include); do
    case $file in
    src/bind/* | src/host/* | src/module/*) ;;
    *) complain "$file includes Lua, which belongs to src/bind, src/host and src/module" ;;
    esac
done
for file in $(grep -rlE '^#include <uv\.h>' src include); do
    case $file in
    src/net/* | src/serve/* | src/bind/* | src/host/* | src/sys/*) ;;
    *) complain "$file includes libuv" ;;
    esac
done
for file in $(grep -rlE '\b(lua_resume|lua_yieldk?)\(' src); do
    [ "$file" = src/bind/fiber/await.c ] || complain "$file resumes or yields Lua, which belongs to src/bind/fiber/await.c"
done
[ $failed = 0 ] && echo "layers: the arrows point down"
exit $failed
