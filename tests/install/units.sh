#!/bin/sh
# systemd's units: installed, disabled, with a user, a state folder and walls, and systemd finds nothing wrong with them.
#   units.sh BUILD_DIR HOCKET
set -eu
build=$1 hocket=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT INT TERM
unset DESTDIR
fail() {
    echo "units: $1" >&2
    exit 1
}

# The rules of the build, with a manifest of this test's own.
sed "s|$build/install_|$tmp/install_|g; s|$build/\\\${CMAKE_INSTALL_MANIFEST}|$tmp/\${CMAKE_INSTALL_MANIFEST}|" "$build/cmake_install.cmake" >"$tmp/install.cmake"
cmake "-DCMAKE_INSTALL_PREFIX=$tmp/root" -DCMAKE_INSTALL_COMPONENT=program -P "$tmp/install.cmake" >"$tmp/log" 2>&1 || fail "it does not install: $(cat "$tmp/log")"
dir=$tmp/root/lib/systemd/system
for unit in hocket-serve.service hocket-work.service hocket-serve.socket; do
    [ -f "$dir/$unit" ] || fail "$unit is not installed"
done
[ -z "$(find "$tmp/root" -name '*.wants' -o -name '*.requires')" ] || fail "a unit is enabled: $(find "$tmp/root" -name '*.wants')"
grep -q '^u hocket ' "$tmp/root/lib/sysusers.d/hocket.conf" || fail "nobody makes the user"
for unit in hocket-serve hocket-work; do
    for line in User=hocket StateDirectory=hocket StateDirectoryMode=0700 NoNewPrivileges=yes ProtectSystem=strict ProtectHome=yes CapabilityBoundingSet= UMask=0077; do
        grep -qx "$line" "$dir/$unit.service" || fail "$unit.service lacks $line"
    done
    grep -q '@' "$dir/$unit.service" && fail "$unit.service has a place that is not filled in"
    grep -q "^ExecStart=/.*/hocket ${unit#hocket-}" "$dir/$unit.service" || fail "$unit.service starts something else"
    # It takes the options that stand there.
    sed -n 's/^ExecStart=[^ ]* *//p' "$dir/$unit.service" >"$tmp/words"
    # shellcheck disable=SC2046 # several words
    "$hocket" $(cat "$tmp/words") --help >/dev/null || fail "hocket $(cat "$tmp/words") is not understood"
done

command -v systemd-analyze >/dev/null || { echo "skipped: no systemd-analyze"; exit 77; }
mkdir "$tmp/verified"
for unit in hocket-serve.service hocket-work.service hocket-serve.socket; do
    sed "s|^ExecStart=[^ ]*|ExecStart=$hocket|" "$dir/$unit" >"$tmp/verified/$unit"
done
systemd-analyze verify --man=no "$tmp/verified"/hocket-* >"$tmp/said" 2>&1 || fail "systemd refuses a unit: $(cat "$tmp/said")"
if grep -F "$tmp" "$tmp/said"; then fail "systemd has something to say of a unit"; fi
# It can fail.
sed -i 's/^ProtectSystem=strict/ProtectSystme=strict/' "$tmp/verified/hocket-work.service"
systemd-analyze verify --man=no "$tmp/verified/hocket-work.service" >"$tmp/said" 2>&1 || true
grep -q ProtectSystme "$tmp/said" || fail "systemd-analyze finds no mistake: $(cat "$tmp/said")"
