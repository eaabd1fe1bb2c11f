#!/bin/sh
# install.sh: from a folder and from a server of this machine; signatures, checksums, upgrades, removing; and killed
# before each program that it starts, the version that was there goes on working.
#   installer.sh SOURCE_DIR BUILD_DIR
set -eu
source=$1 build=$2
tmp=$(mktemp -d)
server=
trap 'code=$?; [ -z "$server" ] || kill "$server" 2>/dev/null || :; rm -rf "$tmp"; exit $code' EXIT INT TERM
cd "$tmp"
export HOME="$tmp/home"
mkdir home

fail() {
    echo "installer: $1" >&2
    [ ! -f said ] || sed 's/^/  said: /' said >&2
    exit 1
}
install() { SHELL=${SHELL_OF_PERSON:-/bin/bash} sh "$source/install.sh" "$@" >said 2>&1; }
refuses() { # TEXT ARGUMENT…: it says so, and the prefix is as it was
    text=$1
    shift
    install "$@" && fail "'$*' should be refused"
    grep -qF -e "$text" said || fail "'$text' expected of '$*'"
}
runs() { [ "$(prefix/bin/hocket --version)" = "$1" ] || fail "prefix/bin/hocket should be $1: $2"; }

# ---- Two releases -----------------------------------------------------------------------
openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out private.pem 2>/dev/null
openssl pkey -in private.pem -pubout -out public.pem
openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out strange.pem 2>/dev/null
openssl pkey -in strange.pem -pubout -out other.pem
HOCKET_SIGNING_KEY=private.pem "$source/cmake/dist.sh" "$build" one
HOCKET_SIGNING_KEY=private.pem "$source/cmake/dist.sh" "$build" again
cmp one/*.tar.gz again/*.tar.gz || fail "two tarballs of one build differ"
tarball=$(cd one && ls ./*.tar.gz)
version=$(one=$(ls one/*.tar.gz) && one=${one##*/hocket-} && echo "hocket ${one%-linux-*}")

publish() { # DIR: signs what is in it
    (cd "$1" && sha256sum ./*.tar.gz | sed 's|  \./|  |' >SHA256SUMS)
    openssl dgst -sha256 -sign private.pem -out "$1/SHA256SUMS.sig" "$1/SHA256SUMS"
}
machine=${tarball#*-linux-}
# release DIR VERSION CODE: a small one, whose program is a script that ends with CODE, with a page of its own.
release() {
    mkdir -p "$1" "made/$1/hocket-$2/bin" "made/$1/hocket-$2/share/man/man1" "made/$1/hocket-$2/lib/systemd/system"
    printf '#!/bin/sh\necho hocket %s\nexit %d\n' "$2" "$3" >"made/$1/hocket-$2/bin/hocket"
    chmod +x "made/$1/hocket-$2/bin/hocket"
    echo '.TH PAGE 1' >"made/$1/hocket-$2/share/man/man1/hocket-page-of-$1.1"
    printf '[Service]\nExecStart=/usr/local/bin/hocket work\n' >"made/$1/hocket-$2/lib/systemd/system/hocket-unit-of-$1.service"
    tar -czf "$1/hocket-$2-linux-$machine" -C "made/$1" "hocket-$2"
    publish "$1"
}
release two 9.9.9 0
release mute 9.9.9 1
release old 0.0.9 0

mkdir -p prefix/share/man # of somebody else, and empty: it stays
# ---- From a folder ----------------------------------------------------------------------
install --from one --key public.pem --prefix prefix || fail "it does not install"
runs "$version" "after installing"
grep -q "installed $version" said || fail "it does not say what it did"
prefix/bin/hocket run --model sim --quiet --store off assistant Hello >answer || fail "the program does not run"
grep -q fpath said && fail "it talks of zsh to a person with another shell"
for file in man/man1/hocket-run.1 man/man5/hocket-agent.5 bash-completion/completions/hocket zsh/site-functions/_hocket; do
    [ -s "prefix/share/$file" ] || fail "share/$file is not installed"
done
units="lib/systemd/system/hocket-serve.service lib/systemd/system/hocket-serve.socket lib/systemd/system/hocket-work.service lib/sysusers.d/hocket.conf"
for file in $units; do
    [ -f "prefix/$file" ] && [ ! -L "prefix/$file" ] || fail "$file is not installed as a file"
done
grep -q "^ExecStart=$tmp/prefix/bin/hocket work " prefix/lib/systemd/system/hocket-work.service || fail "the unit starts another program"
grep -q "ExecStart=/usr" prefix/lib/systemd/system/* && fail "a unit names another program"
if command -v systemctl >/dev/null; then # what is enabled survives upgrades
    mkdir -p root/etc/systemd/system root/usr/local/lib/systemd
    cp -r prefix/lib/systemd/system root/usr/local/lib/systemd/system
    systemctl --root="$tmp/root" enable hocket-work >said 2>&1 || fail "it cannot be enabled"
    [ "$(readlink root/etc/systemd/system/multi-user.target.wants/hocket-work.service)" = /usr/local/lib/systemd/system/hocket-work.service ] ||
        fail "what is enabled leads elsewhere"
fi
SHELL_OF_PERSON=/bin/zsh install --from one --key public.pem --prefix prefix && grep -q 'installed in .* already' said || fail "a second time is no upgrade"
grep -qF "fpath+=('$tmp/prefix/share/zsh/site-functions')" said || fail "it does not say where zsh finds completions"

# ---- What is refused, and changes nothing -------------------------------------------------
find prefix | LC_ALL=C sort >before
cp -r two forged && echo x >>"forged/hocket-9.9.9-linux-$machine"
refuses "the checksum of" --from forged --key public.pem --prefix prefix
refuses "the checksum of" --from forged --no-signature --prefix prefix
(cd forged && sha256sum ./*.tar.gz | sed 's|  \./|  |' >SHA256SUMS)
refuses "the signature of" --from forged --key public.pem --prefix prefix
refuses "the signature of" --from two --key other.pem --prefix prefix
cp -r two unsigned && rm unsigned/SHA256SUMS.sig
refuses "has no SHA256SUMS.sig" --from unsigned --key public.pem --prefix prefix
refuses "'--key' is missing" --from two --prefix prefix
refuses "only https://" --from http://example.org/dist --key public.pem --prefix prefix
refuses "only https://" --from http://127.0.0.1.example.org/dist --key public.pem --prefix prefix
refuses "has no SHA256SUMS" --from nowhere --key public.pem --prefix prefix
refuses "unknown option" --form two --key public.pem --prefix prefix
refuses "does not run here" --from mute --key public.pem --prefix prefix
mkdir -p foreign/bin && echo mine >foreign/bin/hocket
refuses "was not installed by this script" --from two --key public.pem --prefix foreign
[ "$(cat foreign/bin/hocket)" = mine ] || fail "it has replaced a program of somebody else"
ln -sf "$tmp/not-there" foreign/bin/hocket
refuses "was not installed by this script" --from two --key public.pem --prefix foreign
install --from two --key other.pem --prefix never && fail "it installs what another key has signed"
[ -z "$(find never -mindepth 1)" ] || fail "it has left $(find never -mindepth 1)"
find prefix | LC_ALL=C sort >after
cmp -s before after || fail "what was refused has changed $(diff before after)"
runs "$version" "after what was refused"

# ---- Without openssl, no signature is verified: it refuses, unless the person wants that --------------------
programs="mkdir rm mv ln tar cp sed grep sha256sum openssl find sort cat cut readlink uname id"
mkdir few
for program in $programs gzip ls rmdir chmod; do [ $program = openssl ] || ln -s "$(command -v $program)" few/; done
with_few() { PATH=$tmp/few "$(command -v sh)" "$source/install.sh" "$@" >said 2>&1; }
with_few --from two --key public.pem --prefix few_prefix && fail "it does not verify the signature"
grep -q 'openssl is missing, .*--no-signature' said || fail "it does not say that openssl is missing"
[ ! -e few_prefix ] || fail "without openssl it has changed something"
cp -r two damaged && echo x >>"damaged/hocket-9.9.9-linux-$machine"
with_few --from damaged --no-signature --prefix few_prefix && fail "without openssl it installs a damaged file"
grep -q "the checksum of" said || fail "without openssl no checksum is verified"
with_few --from two --no-signature --prefix few_prefix || fail "it does not install with --no-signature"
[ "$(few_prefix/bin/hocket --version)" = "hocket 9.9.9" ] || fail "the program of --no-signature is another one"

# ---- Killed before each program that it starts ----------------------------------------------
mkdir shim
for program in $programs; do
    real=$(command -v $program)
    cat >shim/$program <<END
#!/bin/sh
echo >>"$tmp/started" # several of a pipe do so at once
n=0
while read -r _; do n=\$((n + 1)); done <"$tmp/started"
[ \$n -le "\$KILL_BEHIND" ] || { kill -9 "\$VICTIM"; exit 1; }
exec $real "\$@"
END
    chmod +x shim/$program
done
kills=0
while :; do
    install --from old --key public.pem --prefix prefix || fail "it does not install the older release after $kills kills"
    runs "hocket 0.0.9" "after $kills kills and an older release"
    code=0
    : >started
    # shellcheck disable=SC2016
    KILL_BEHIND=$kills sh -c 'export VICTIM=$$ PATH="$1/shim:$PATH"; shift; exec sh "$@"' sh "$tmp" "$source/install.sh" \
        --from two --key public.pem --prefix prefix >said 2>&1 || code=$?
    case $(prefix/bin/hocket --version) in
    "hocket 0.0.9" | "hocket 9.9.9") ;;
    *) fail "killed before its program $kills: no version works" ;;
    esac
    [ $code != 0 ] || break
    [ $code = 137 ] || fail "before its program $kills it ended with $code"
    kills=$((kills + 1))
done
[ $kills -gt 20 ] || fail "it was killed $kills times only"
runs "hocket 9.9.9" "after an upgrade"
[ -s prefix/share/man/man1/hocket-page-of-two.1 ] || fail "the page of the new release is not there"
[ ! -L prefix/share/man/man1/hocket-page-of-old.1 ] && [ ! -L prefix/share/man/man1/hocket-run.1 ] || fail "the page of the older release is still there"
grep -qx "ExecStart=$tmp/prefix/bin/hocket work" prefix/lib/systemd/system/hocket-unit-of-two.service || fail "the unit of the new release is not there"
for file in $units lib/systemd/system/hocket-unit-of-old.service; do
    [ ! -e "prefix/$file" ] || fail "$file of the older release is still there"
done
[ "$(ls -A prefix/lib/hocket | wc -l)" = 4 ] || fail "more is left than current, links, folders and one release: $(ls -A prefix/lib/hocket)"

# Killed in the midst of a first installation, it leaves only what can be removed.
real=$(command -v mv)
mkdir shim_mv
cat >shim_mv/mv <<END
#!/bin/sh
echo >>"$tmp/moved"
[ \$(wc -l <"$tmp/moved") -le "\$KILL_BEHIND" ] || { kill -9 "\$VICTIM"; exit 1; }
exec $real "\$@"
END
chmod +x shim_mv/mv
for moved in 0 1 2 3; do
    : >moved
    # shellcheck disable=SC2016
    KILL_BEHIND=$moved sh -c 'export VICTIM=$$ PATH="$1/shim_mv:$PATH"; shift; exec sh "$@"' sh "$tmp" "$source/install.sh" \
        --from two --key public.pem --prefix first >said 2>&1 && fail "it was not killed behind $moved moves"
    sh "$source/install.sh" --remove --prefix first >said 2>&1 || fail "killed behind $moved moves, it does not remove: $(cat said)"
    [ -z "$(find first ! -type d)" ] && [ ! -e first/lib ] || fail "it has left $(find first)"
done

# A folder is known by any spelling of its path.
install --from two --key public.pem --prefix ./prefix// && grep -q 'installed in .* already' said || fail "a slash makes another folder of it"

# What somebody else has put there stays, and an upgrade brings the units again.
mkdir -p prefix/lib/systemd/system && echo mine >prefix/lib/systemd/system/hocket-work.service
install --from one --key public.pem --prefix prefix || fail "it does not upgrade"
grep -q "left .*hocket-work.service as it is" said && [ "$(cat prefix/lib/systemd/system/hocket-work.service)" = mine ] || fail "it has replaced a unit of somebody else"
ln -sf "$tmp/not-there" prefix/lib/systemd/system/hocket-work.service
install --from one --key public.pem --prefix prefix || fail "it does not upgrade beside a link that leads nowhere"
[ "$(readlink prefix/lib/systemd/system/hocket-work.service)" = "$tmp/not-there" ] || fail "it has replaced a link of somebody else"
rm prefix/lib/systemd/system/hocket-work.service
install --from one --key public.pem --prefix prefix || fail "it does not install again"
sed -i 's/^ExecStart=.*/ExecStart=older/' prefix/lib/systemd/system/hocket-work.service
install --from one --key public.pem --prefix prefix && grep -q "^ExecStart=$tmp" prefix/lib/systemd/system/hocket-work.service || fail "an upgrade leaves an older unit"
install --from one --key public.pem --prefix "a prefix" && grep -q "left out the units" said && [ ! -e "a prefix/lib/systemd" ] || fail "units name a folder with a space"

# ---- With busybox's programs alone, as in small systems ----------------------------------------
if command -v busybox >/dev/null; then
    mkdir applets && busybox --install -s applets && ln -sf "$(command -v openssl)" applets/openssl
    small() { env -i PATH="$tmp/applets" HOME="$HOME" "$tmp/applets/sh" "$source/install.sh" "$@" >said 2>&1; }
    small --from two --key public.pem --prefix small && grep -q 'installed hocket 9.9.9' said || fail "it does not install with busybox"
    small --from old --key public.pem --prefix small && [ "$(small/bin/hocket --version)" = "hocket 0.0.9" ] || fail "it does not change the release with busybox"
    [ ! -e small/share/man/man1/hocket-page-of-two.1 ] || fail "with busybox it leaves a page of the other release"
    small --remove --prefix small && [ -z "$(find small ! -type d)" ] && [ ! -e small/lib ] || fail "with busybox it leaves $(find small)"
else
    echo "installer: there is no busybox: not tried with it"
fi

# ---- Removing ---------------------------------------------------------------------------
echo mine >prefix/bin/other
sh "$source/install.sh" --remove --prefix "$tmp/./prefix/" >said 2>&1 || fail "it does not remove"
[ "$(find prefix ! -type d)" = prefix/bin/other ] || fail "it has left or taken something: $(find prefix ! -type d)"
[ "$(find prefix -type d | LC_ALL=C sort | tr '\n' ' ')" = "prefix prefix/bin prefix/share prefix/share/man " ] || fail "it has left or taken a folder: $(find prefix -type d)"
refuses "nothing in" --remove --prefix prefix

# ---- From a server, into the home ---------------------------------------------------------
if command -v python3 >/dev/null && command -v curl >/dev/null; then
    python3 -u -m http.server --bind 127.0.0.1 --directory "$tmp" 0 >port 2>requests &
    server=$!
    : >>port
    until grep -q "port [0-9]" port; do kill -0 $server && sleep 0.1 || fail "the server does not start"; done
    port=$(sed -n 's/.*port \([0-9]*\).*/\1/p' port)
    install --from "http://127.0.0.1:$port/one/" --key public.pem --prefix "$HOME/.local" || fail "it does not install from a server"
    [ "$("$HOME/.local/bin/hocket" --version)" = "$version" ] || fail "the program from a server is another one"
    refuses "has no SHA256SUMS" --from "http://127.0.0.1:$port/nowhere" --key public.pem --prefix "$HOME/.local"
else
    echo "installer: python3 and curl are not both installed: not tried from a server"
fi
echo "installer: well, killed $kills times"
