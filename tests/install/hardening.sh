#!/bin/sh
# Reads the binaries: what the compiler and the linker were told to make them harder to misuse. What the page on security says of shadow stacks
# is so: a program has them where each of its objects has.
#   hardening.sh BUILD-DIRECTORY BUILD-TYPE
# Skipped (77) where the build says that it is not hardened, or there is no readelf.
set -u
build=$1 type=$2 failed=0
command -v readelf >/dev/null || exit 77
grep -q '^HOCKET_HARDEN:BOOL=ON' "$build/CMakeCache.txt" && grep -q '^HOCKET_SANITIZE:STRING=$' "$build/CMakeCache.txt" || exit 77

want() { # file, what, command whose output is to have the pattern
    readelf -W "$3" "$1" 2>/dev/null | grep -Eq "$4" || {
        echo "FAILED: $1: no $2"
        failed=1
    }
}

for file in "$build/hocket" "$build/libhocket.so" "$build/libhocket-serve.so" "$build/libhocket-store.so" "$build/libhocket-postgres.so" "$build/libhocket-bridge.so" "$build/lua/5.4/hocket.so"; do
    [ -e "$file" ] || continue
    want "$file" "position independence" -h 'Type: +DYN'
    want "$file" "RELRO" -l 'GNU_RELRO'
    want "$file" "BIND_NOW" -d '(BIND_NOW|Flags:.* NOW)'
    want "$file" "stack that is no code" -l 'GNU_STACK.* RW +0x'
done
has_shadow_stacks() { readelf -nW "$1" 2>/dev/null | grep -q SHSTK; }
page=$(dirname "$0")/../../docs/explanation/security.md
grep -q 'no shadow stacks' "$page" && says=no || says=yes
for file in "$build/hocket" "$build"/libhocket*.so "$build/lua/5.4/hocket.so"; do
    [ -e "$file" ] || continue
    has_shadow_stacks "$file" && has=yes || has=no
    [ "$has" = "$says" ] || {
        echo "FAILED: $file: shadow stacks: $has, and $page says: $says"
        failed=1
    }
done
start=$("${CC:-cc}" -print-file-name=Scrt1.o 2>/dev/null)
if [ "$says" = no ] && grep -qs '^ID=debian' /etc/os-release && [ -e "$start" ] && has_shadow_stacks "$start"; then
    echo "FAILED: $start has shadow stacks now: build with -fcf-protection=return, and mend $page"
    failed=1
fi
if grep -q '^HOCKET_STATIC:BOOL=ON' "$build/CMakeCache.txt"; then # musl, which has no checked copies, is inside
    want "$build/hocket" "stack canaries" -s '__stack_chk_fail'
    type=Static
fi
for file in "$build/hocket" "$build/libhocket.so"; do
    [ -e "$file" ] && [ "$type" != Static ] || continue
    want "$file" "stack canaries" --dyn-syms '__stack_chk_fail'
    [ "$type" != Release ] || want "$file" "checked copies" --dyn-syms '__(memcpy|snprintf)_chk'
done
[ "$failed" -eq 0 ] && echo "the binaries are hardened ($type)"
exit $failed
