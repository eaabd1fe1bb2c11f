#!/bin/sh
# kit.sh SOURCE BUILD LUAJIT TOOLCHAIN: what is installed for an engine, as the guide shows it (docs/guides/embedding.md): its programs
# in C and C++ built by find_package and by pkg-config, its ways to sleep, and its script in LuaJIT.
set -eu
source_dir=$1 build=$2 luajit=$3 toolchain=$4
here=$source_dir/tests/windows
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
kit="$work/the kit"
cmake --install "$build" --prefix "$kit" >"$work/out"

# blocks LANGUAGE: the guide's N-th block of a language in its part on Windows is block-N.LANGUAGE.
blocks() {
    awk -v of="$1" -v out="$work/block" '/^## / { on = $0 == "## On Windows" } !on { next }
        /^```/ && inside { inside = 0; next } /^```/ { inside = substr($1, 4); n += inside == of; next }
        inside == of { print > (out "-" n "." of) }' "$source_dir/docs/guides/embedding.md"
}
blocks c
blocks cpp
blocks lua

# The ways to sleep, in programs: hocket_wait is WAY 1, hocket_backend_handle 2, wakeup_cb 3.
cat - "$work/block-1.c" "$work/block-2.c" "$work/block-3.c" >"$work/sleeps.c" <<'END'
#include <hocket/hocket.h>
#include <stdio.h>
#include <windows.h>
static hocket_host *host;
static int done;
END
cat >>"$work/sleeps.c" <<'END'
static void say(hocket_host *h, uint64_t run, const struct hocket_result *result, void *ud)
{
    done = printf("%s\n", result->error ? result->error->message : result->text);
}
static HWND of_messages(void)
{
    WNDCLASS class = { .lpfnWndProc = on_message, .lpszClassName = TEXT("hocket") };
    RegisterClass(&class);
    return CreateWindow(TEXT("hocket"), NULL, 0, 0, 0, 0, 0, HWND_MESSAGE, NULL, NULL, NULL);
}
int main(void)
{
    struct hocket_options options = { .size = sizeof(options), .thread = WAY == 3 };
    struct hocket_run_spec spec = { .size = sizeof(spec), .target = "buffer:npc.md", .input = "Good day!", .options = "{\"model\":\"sim\"}" };
    if (WAY == 3)
        options.wakeup_cb = woken, options.wakeup_ud = of_messages();
    hocket_open(&options, &host, NULL);
    hocket_serve_attach(host, NULL);
    hocket_load_buffer(host, "npc.md", "---\nname: npc\n---\nYou sell fish.\n", 0, NULL);
    hocket_run_start(host, &spec, NULL, NULL, say, NULL, NULL);
    if (WAY == 1)
        sleep_in_hocket();
    else if (WAY == 2)
        sleep_for_handles();
    else
        woken(options.wakeup_ud);
    for (MSG m; !done && GetMessage(&m, NULL, 0, 0) > 0; DispatchMessage(&m))
        TranslateMessage(&m);
    hocket_close(host, NULL, NULL);
}
END
cat >"$work/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.23)
project(first C CXX)
find_package(hocket 0.1 REQUIRED COMPONENTS serve store)
add_executable(first_c block-4.c)
add_executable(first_cpp block-1.cpp)
foreach(way 1 2 3)
  add_executable(sleeps${way} sleeps.c)
  target_compile_definitions(sleeps${way} PRIVATE WAY=${way})
endforeach()
foreach(one first_c first_cpp sleeps1 sleeps2 sleeps3)
  target_link_libraries(${one} hocket::hocket)
  target_link_options(${one} PRIVATE -static)
endforeach()
END
cmake -S "$work" -B "$work/built" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$toolchain" -Dhocket_DIR="$kit/lib/cmake/hocket" >"$work/out" 2>&1 &&
    cmake --build "$work/built" >>"$work/out" 2>&1 || { cat "$work/out" >&2 && exit 1; }
cp "$work"/built/*.exe "$kit/bin/"
cc=$(sed -n 's/^set(CMAKE_C_COMPILER \(.*\))/\1/p' "$toolchain")
flags=$(PKG_CONFIG_LIBDIR="$kit/lib/pkgconfig" pkg-config --cflags --libs hocket)
eval "$cc \"$work/block-4.c\" $flags -o \"$kit/bin/pkg_config.exe\""

# answers PROGRAM [ARGUMENT…]
answers() {
    timeout 60 sh "$here/wine.sh" "$@" >"$work/out" 2>&1 </dev/null || :
    grep -q '^(simulated) You said: Good day!' "$work/out" || {
        echo "kit.sh: $1 printed:" >&2
        cat "$work/out" >&2
        exit 1
    }
}
for one in first_c first_cpp pkg_config sleeps1 sleeps2 sleeps3; do answers "$kit/bin/$one.exe"; done
echo 'while run do update() end' >>"$work/block-1.lua"
export LUA_CPATH="$kit/lua/5.1/?.dll"
answers "$luajit" "$work/block-1.lua"
