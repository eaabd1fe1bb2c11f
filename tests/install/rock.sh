#!/bin/sh
# luarocks make, of a build that is there: it installs the module and its libraries alone, which load in that Lua, and removes them
# again.
#   rock.sh SOURCE_DIR BUILD_DIR
set -eu
source=$1 HOCKET_ROCK_BUILD=$2
export HOCKET_ROCK_BUILD
command -v luarocks >/dev/null || { echo "skipped: there is no luarocks"; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT INT TERM
cp "$source"/hocket-*.rockspec "$tmp/"
cd "$tmp"
HOME=$tmp/home
export HOME

fail() {
    echo "rock: $1" >&2
    exit 1
}

sed -i "s|packaging/rock.sh|$source/packaging/rock.sh|" ./*.rockspec # the build is the source's
tried='' skipped=''
for lua in lua5.1 lua5.2 lua5.3 lua5.4 luajit; do
    command -v $lua >/dev/null || { skipped="$skipped $lua (not installed)"; continue; }
    version=$($lua -e 'io.write(_VERSION:match("%d.%d"))')
    [ -f "$HOCKET_ROCK_BUILD/lua/$version/hocket.so" ] || { skipped="$skipped $lua (its headers were missing when hocket was built)"; continue; }
    # Another installation below the same prefix has its libraries there, which are not the module's.
    mkdir -p "a tree/lib"
    for library in hocket hocket-bridge; do echo "not a library" >"a tree/lib/lib$library.so.0"; done
    luarocks --lua-version "$version" --tree "a tree" make ./*.rockspec >said 2>&1 || fail "luarocks make for Lua $version: $(cat said)"
    luarocks --lua-version "$version" --tree "a tree" list --porcelain | grep -q '^hocket	0.1.0-1	installed' || fail "it is not listed for Lua $version"
    (cd "a tree/lib/lua/$version" && ls) >files
    ! grep -vE '^(hocket\.so|libhocket(-bridge|-serve|-store|-postgres)?\.so\.0)$' files || fail "more than the module is installed"
    [ -z "$(find "a tree" -name '*.a' -o -name '*.h' -o -name 'hocket' -type f -o -name '*.pc')" ] || fail "it installs more than modules: $(find "a tree")"
    LUA_CPATH="$tmp/a tree/lib/lua/$version/?.so" "$lua" -e 'local hocket = require "hocket"
        local agent = { name = "echo", prompt = "Say it again.", model = "sim" }
        local echo = hocket.host and assert(hocket.host:agent(agent)) or hocket.agent(agent)
        assert(hocket.run(echo, "hello from a rock").text:find("hello from a rock", 1, true))' || fail "require \"hocket\" failed in $lua"
    rm "a tree/lib"/lib*.so.0
    luarocks --lua-version "$version" --tree "a tree" remove hocket >said 2>&1 || fail "luarocks remove: $(cat said)"
    [ -z "$(find "a tree" -name '*hocket*.so*')" ] || fail "luarocks remove leaves files"
    tried="$tried $lua"
done
[ -n "$tried" ] || fail "no Lua was tried:$skipped"
luarocks lint ./*.rockspec >said 2>&1 || fail "luarocks lint: $(cat said)"
[ -z "$skipped" ] || echo "rock: skipped:$skipped"
echo "rock: well, in$tried"
