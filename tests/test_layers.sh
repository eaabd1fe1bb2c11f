#!/bin/sh
# Keeps the layers: who may include whom, and which file knows which library.
#   base < os < net, serve, store (siblings) < bind < host; core sees base; cli sees the public header alone, module os/library.h as well
# Within a layer tests/layers.txt says who may include whom.
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
check os base
check net base os
check serve base os
check store base os
check bind base core net serve store os
check host base core net serve store os bind
check cli
check module os

# Within a layer: tests/layers.txt.
concepts() {
    awk '
    function concept(path,  part, n, name) {
        sub(/^os\/(posix|linux|macos|uv|windows)\//, "os/", path)
        n = split(path, part, "/")
        sub(/\/[^\/]*$/, "", path)
        if (n > 2) return path
        name = part[2]
        sub(/\.[ch]$/, "", name)
        sub(/^lua_/, "", name)
        return part[1] "/" name
    }
    function wrong(text) { print "layers: " text | "cat >&2"; bad = 1 }
    FILENAME == "tests/layers.txt" {
        if ($0 ~ /^#/ || NF == 0) next
        name = $1
        sub(/:$/, "", name)
        split(name, part, "/")
        for (i = 2; i <= NF; i++) {
            lower = part[1] "/" $i
            if (!(lower in known)) wrong("tests/layers.txt: " name " names " lower ", which does not stand above it")
            may[name, lower] = 1
        }
        known[name] = 1
        layers[part[1]] = 1
        next
    }
    {
        colon = index($0, ":")
        file = substr($0, 5, colon - 5)
        line = substr($0, colon + 1)
        split(line, quoted, "\"")
        other = quoted[2]
        from = concept(file)
        to = concept(other)
        split(from, part, "/")
        if (part[1] in layers) {
            used[from] = used[to] = 1
            if (!(from in known)) wrong("src/" file " belongs to " from ", which has no line in tests/layers.txt")
            else if (from != to && index(to, part[1] "/") == 1 && !((from, to) in may))
                wrong("src/" file " includes " other ": tests/layers.txt does not let " from " include " to)
        }
        sub(/^os\/(posix|linux|macos|uv|windows)\//, "os/", other)
        n = split(other, part, "/")
        if (n > 2 && part[n] != part[n - 1] ".h" && index(from "/", to "/") != 1)
            wrong("src/" file " includes " other ": of a folder others see the header that is named as the folder")
    }
    END {
        for (name in known) if (!(name in used)) wrong("tests/layers.txt has " name ", of which there is no file")
        exit bad
    }' tests/layers.txt "$1" || failed=1
}
includes=$(mktemp)
grep -rE '^#include "[a-z]+/' src --include='*.[ch]' | grep -v '#include "hocket/' >"$includes"
concepts "$includes"
rm -f "$includes"

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

only 'cJSON|^#include <cjson/' src/base/json/tree.c
only 'yaml.h' src/base/yaml/yaml.c
for file in $(grep -rlE '^#include <curl/' src include); do
    case $file in
    src/net/http/*.[ch] | src/net/curl.[ch]) ;;
    *) complain "$file includes curl, which belongs to src/net/http" ;;
    esac
done
for file in $(grep -rlE '^#include <libpq-fe\.h>' src include); do
    case $file in
    src/store/postgres/*.[ch]) ;;
    *) complain "$file includes libpq, which belongs to src/store/postgres" ;;
    esac
done
for file in $(grep -rlE '^#include <sqlite3\.h>' src include); do
    case $file in
    src/store/sqlite/*.[ch]) ;;
    *) complain "$file includes SQLite, which belongs to src/store/sqlite" ;;
    esac
done
for file in $(grep -rlE '^#include <openssl/' src include); do
    case $file in
    src/serve/tls/*.[ch]) ;;
    *) complain "$file includes OpenSSL, which belongs to src/serve/tls" ;;
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
    src/net/* | src/serve/* | src/store/* | src/bind/* | src/host/* | src/os/*) ;;
    *) complain "$file includes libuv" ;;
    esac
done
# One system's headers and conditions: src/os/posix and the folders of one system, and what base needs of them. The program is POSIX's so far;
# the bridge loads hocket once for all threads; heap.c asks glibc for a setting of its own.
headers='unistd|fcntl|poll|dlfcn|pthread|signal|spawn|termios|pwd|dirent|netdb|sched|(sys|netinet|arpa|linux)/[a-z_]+'
for file in $(grep -rlE "^ *# *include <($headers)\.h>" src include); do
    case $file in
    src/os/posix/* | src/os/linux/* | src/os/macos/* | src/os/windows/* | src/base/* | src/cli/* | src/module/bridge_load.c) ;;
    *) complain "$file includes a header of POSIX, which belongs to src/os/posix or a folder of one system" ;;
    esac
done
for file in $(grep -rlE '^ *# *(if|ifdef|ifndef|elif).*(__linux__|__APPLE__|_WIN32|__GLIBC__|__FreeBSD__|__unix__)' src include); do
    case $file in
    src/os/* | src/base/* | src/cli/host/heap.c) ;;
    *) complain "$file asks for the system, which belongs to src/os" ;;
    esac
done
# Whether a path is absolute says fs.is_absolute, which knows drives. Time zones and local sockets are POSIX's.
for file in $(grep -rlE ':sub\(1, ?1\) [=~]= "/"|(path|dir|name|file):(find|match)[ (]*"\^/"' lua); do
    case $file in
    */base/timezone.lua | */base/socket_path.lua) ;;
    *) complain "$file looks for a slash at the beginning of a path: fs.is_absolute" ;;
    esac
done
for file in $(grep -rlE '\b(lua_resume|lua_yieldk?)\(' src); do
    [ "$file" = src/bind/fiber/await.c ] || complain "$file resumes or yields Lua, which belongs to src/bind/fiber/await.c"
done
# No folder of sources is a heap: more than 30 files ask for a folder of what belongs together.
for folder in $(find src include lua -type d); do
    files=$(find "$folder" -maxdepth 1 -name '*.[ch]' -o -maxdepth 1 -name '*.lua' | wc -l)
    [ "$files" -le 30 ] || complain "$folder has $files files, of at most 30: make a folder of some that belong together"
done
[ $failed = 0 ] && echo "layers: the arrows point down"
exit $failed
