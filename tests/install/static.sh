#!/bin/sh
# The static program (packaging/static/build.sh), where it was built: it needs no library, runs in an empty root, finds the
# certificates of each system, and says what it cannot do.
#   static.sh SOURCE_DIR PROGRAM
set -eu
source=$1 program=$2
[ -x "$program" ] || {
    echo "skipped: there is no $program (./dev release static builds it)"
    exit 77
}
tmp=$(mktemp -d)
server=
trap 'code=$?; [ -z "$server" ] || kill "$server" 2>/dev/null || :; rm -rf "$tmp"; exit $code' EXIT INT TERM
cd "$tmp"

fail() {
    echo "static: $1" >&2
    exit 1
}

readelf -hW "$program" | grep -q 'Type: *DYN' || fail "it is no position-independent program"
readelf -lW "$program" | grep -q INTERP && fail "it needs a loader"
readelf -dW "$program" | grep -q NEEDED && fail "it needs libraries: $(readelf -dW "$program" | grep NEEDED)"
strip -o stripped "$program"
size=$(stat -c %s stripped)
[ "$size" -lt 12000000 ] || fail "it has $size bytes"

# ---- An empty root --------------------------------------------------------------------------
mkdir -p root/tmp
cp stripped root/hocket
inside() { env -i HOME=/tmp PATH=/nowhere /usr/sbin/chroot "$tmp/root" /hocket "$@"; }
if [ "$(id -u)" = 0 ] && inside --version >said 2>&1; then
    [ "$(cat said)" = "$(sed -n 's/^project(hocket VERSION \([0-9.]*\).*/hocket \1/p' "$source/CMakeLists.txt")" ] ||
        fail "in an empty root it says $(cat said)"
    inside new /tmp/trip >said 2>&1 || fail "hocket new fails in an empty root: $(cat said)"
    inside run --model sim --trust --quiet /tmp/trip "Plan a picnic" >said 2>&1 || fail "hocket run fails in an empty root: $(cat said)"
    inside runs >said 2>&1 && grep -q trip said || fail "the run was not kept: $(cat said)"
    inside doctor >said 2>&1 || : # it has problems
    grep -q 'mount -t proc' said || fail "hocket doctor does not see that there is no /proc: $(cat said)"
    mkdir -p root/sbin root/proc/self && : >root/sbin/apk
    inside doctor >said 2>&1 || :
    grep -q 'sudo apk add bubblewrap' said || fail "hocket doctor names another system's command: $(cat said)"
    rm -r root/sbin root/proc

    # ---- Certificates --------------------------------------------------------------------------
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost \
        -addext subjectAltName=IP:127.0.0.1 2>/dev/null
    port=$((20000 + $$ % 20000))
    openssl s_server -accept 127.0.0.1:$port -key key.pem -cert cert.pem -www >/dev/null 2>&1 &
    server=$!
    until openssl s_client -connect 127.0.0.1:$port </dev/null >/dev/null 2>&1; do kill -0 $server || fail "openssl does not serve"; done
    ask() {
        env -i HOME=/tmp OPENAI_API_KEY=none OPENAI_BASE_URL=https://127.0.0.1:$port/v1 "$@" /usr/sbin/chroot "$tmp/root" /hocket \
            run --store off --model openai-chat/x --timeout 5 assistant Hello >said 2>&1 || :
    }
    ask
    grep -q 'no CA certificates here' said || fail "it does not say that certificates are missing: $(cat said)"
    for place in etc/ssl/certs/ca-certificates.crt etc/pki/tls/certs/ca-bundle.crt etc/ssl/ca-bundle.pem etc/ssl/cert.pem; do
        mkdir -p "root/${place%/*}"
        cp cert.pem "root/$place"
        ask
        ! grep -q 'certificate' said || fail "it does not find /$place: $(cat said)"
        rm "root/$place"
    done
    cp cert.pem root/own.pem
    ask SSL_CERT_FILE=/own.pem
    ! grep -q 'certificate' said || fail "it does not take SSL_CERT_FILE: $(cat said)"
else
    echo "static: no chroot here: not tried in an empty root"
fi

# ---- What it cannot do ------------------------------------------------------------------------
mkdir modules
: >modules/lpeg.so
echo 'package.cpath = "modules/?.so"; return require "lpeg"' >main.lua
"$program" run --trust --store off main.lua >said 2>&1 && fail "it has loaded a C module"
grep -q 'is a static program' said || fail "it does not say that it loads no C modules: $(cat said)"

# ---- What its libraries were built with -----------------------------------------------------------------
for name in memory script; do
    HOCKET=$program sh "$source/tests/support/own_home.sh" sh "$source/tests/cli/$name.sh" >said 2>&1 || fail "cli/$name fails with it: $(grep -A 3 FAILED said)"
done
echo "static: well, $size bytes"
