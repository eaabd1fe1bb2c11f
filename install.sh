#!/bin/sh
# Installs hocket from a folder or an address that holds a release: a tarball for this system, SHA256SUMS, and its
# signature. Nothing is used before its signature and its checksum were verified.
#
#   PREFIX/lib/hocket/VERSION-SUM/      the files of a release
#   PREFIX/lib/hocket/current           a link to one of them: an upgrade replaces this link in one step
#   PREFIX/bin/hocket, PREFIX/share/…   links by way of `current`; PREFIX/lib/hocket/links lists them
#
# So whatever ends this script halfway leaves the version that was there.
set -eu
umask 022

usage() {
    cat <<'TEXT'
usage: sh install.sh --from DIR|URL --key FILE [--prefix DIR]
       sh install.sh --remove [--prefix DIR]

  --from DIR|URL   where the release is; addresses have to begin with https://, those of this machine also with http://
  --key FILE       the public key that SHA256SUMS.sig was made with, as PEM
  --no-signature   in the place of --key: only checksums are verified, which are no better than where they come from
  --prefix DIR     where to install: /usr/local for root, else ~/.local
  --remove         remove what this script has installed there; runs and settings stay
TEXT
}

say() { echo "install.sh: $*"; }
die() {
    echo "install.sh: $*" >&2
    exit 1
}
wrong() {
    echo "install.sh: $*" >&2
    usage >&2
    exit 2
}

from='' key='' signed=yes prefix='' remove=
while [ $# -gt 0 ]; do
    case $1 in
    --from | --key | --prefix)
        [ $# -gt 1 ] && [ -n "$2" ] || wrong "'$1' needs a value"
        case $1 in --from) from=$2 ;; --key) key=$2 ;; --prefix) prefix=$2 ;; esac
        shift
        ;;
    --no-signature) signed= ;;
    --remove) remove=yes ;;
    --help | -h) usage && exit 0 ;;
    *) wrong "unknown option '$1'" ;;
    esac
    shift
done

if [ -z "$prefix" ] && [ "$(id -u)" = 0 ]; then
    prefix=/usr/local
elif [ -z "$prefix" ]; then
    prefix=${HOME:?HOME is not set: say --prefix DIR}/.local
fi
case $prefix in
/*) ;;
*) prefix=$PWD/$prefix ;;
esac
base=$prefix/lib/hocket

# A link of ours, whatever it points to now.
is_ours() {
    [ -L "$1" ] && case $(readlink "$1") in "$base/current/"*) true ;; *) false ;; esac
}

# ---- Removing --------------------------------------------------------------------------------------------

remove_links() { # of a list, those that lead here
    while IFS= read -r link; do
        if is_ours "$prefix/$link"; then rm -f "$prefix/$link"; fi
    done <"$1"
}

remove_all() {
    if [ -f "$base/links" ]; then
        remove_links "$base/links"
    else # at most what was killed before it had installed anything
        [ -d "$base" ] && [ -z "$(ls -A "$base" | grep -v '^\.staging\.')" ] && [ -n "$(ls -A "$base")" ] ||
            die "there is nothing in $base that this script has installed"
    fi
    rm -rf "$base"
    # folders that are empty now, the deepest first
    for folder in share/man/man1 share/man/man5 share/man share/bash-completion/completions share/bash-completion \
        share/zsh/site-functions share/zsh share/fish/vendor_completions.d share/fish share bin lib; do
        rmdir "$prefix/$folder" 2>/dev/null || :
    done
    say "removed hocket from $prefix; runs and settings stay (~/.local/state/hocket, ~/.config/hocket)"
}

if [ -n "$remove" ]; then
    remove_all
    exit 0
fi

# ---- The release -----------------------------------------------------------------------------------------

[ -n "$from" ] || wrong "'--from' is missing"
if [ -n "$signed" ]; then
    [ -n "$key" ] || wrong "'--key' is missing: whose signature is to be verified? (or say --no-signature)"
    [ -f "$key" ] || die "there is no key $key"
    command -v openssl >/dev/null || die "openssl is missing, which verifies the signature"
fi
[ "$(uname -s)" = Linux ] || die "this is $(uname -s): there are releases for Linux alone"
case $(uname -m) in
x86_64 | amd64) machine=x86_64 ;;
aarch64 | arm64) machine=arm64 ;;
*) die "there is no release for $(uname -m): only for x86_64 and arm64" ;;
esac
[ ! -e "$prefix/bin/hocket" ] || is_ours "$prefix/bin/hocket" ||
    die "$prefix/bin/hocket is there and was not installed by this script: remove it, or say --prefix"

mkdir -p "$base"
staging=$base/.staging.$$ # in the same file system: it is renamed
rm -rf "$staging"
mkdir "$staging"
trap 'rm -rf "$staging"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# get NAME: a file of the release, into the staging folder.
get() {
    case $from in
    https://* | http://127.0.0.1[:/]* | http://localhost[:/]*)
        if command -v curl >/dev/null; then
            curl -fsSL --proto-redir =https -o "$staging/$1" "${from%/}/$1"
        elif command -v wget >/dev/null; then
            wget -q -O "$staging/$1" "${from%/}/$1"
        else
            die "neither curl nor wget is there to fetch $from"
        fi
        ;;
    *://*) die "$from: only https:// is fetched" ;;
    *) cp "$from/$1" "$staging/$1" ;;
    esac || die "$from has no $1, or it cannot be read"
}

get SHA256SUMS
if [ -n "$signed" ]; then
    get SHA256SUMS.sig
    openssl dgst -sha256 -verify "$key" -signature "$staging/SHA256SUMS.sig" "$staging/SHA256SUMS" >/dev/null 2>&1 ||
        die "the signature of SHA256SUMS is not by $key: nothing was changed"
fi
tarball=$(sed -n "s/^[0-9a-f]\{64\}  \(hocket-[A-Za-z0-9.+~_]*-linux-$machine\.tar\.gz\)\$/\1/p" "$staging/SHA256SUMS")
case $tarball in
'') die "$from has no release for linux-$machine" ;;
*"
"*) die "$from has several releases for linux-$machine" ;;
esac
get "$tarball"
line=$(grep -x "[0-9a-f]*  $tarball" "$staging/SHA256SUMS")
(cd "$staging" && echo "$line" | sha256sum -c - >/dev/null 2>&1) ||
    die "the checksum of $tarball is wrong: nothing was changed"
sum=$(echo "$line" | cut -c 1-12)
release=${tarball#hocket-}
release=${release%-linux-*}-$sum

# ---- Installing ------------------------------------------------------------------------------------------

mkdir "$staging/tree"
tar -xzf "$staging/$tarball" -C "$staging/tree" --strip-components=1 || die "$tarball cannot be unpacked"
version=$("$staging/tree/bin/hocket" --version) ||
    die "the program does not run here (see above): nothing was changed"

before=
[ ! -L "$base/current" ] || before=$(readlink "$base/current")
if [ ! -d "$base/$release" ]; then mv "$staging/tree" "$base/$release"; fi

# Links that the release has no file for any more go when the switch is done.
(cd "$base/$release" && find bin share -type f ! -path 'share/doc/*' ! -path 'share/hocket/*' | LC_ALL=C sort) >"$staging/new"
{ [ ! -f "$base/links" ] || cat "$base/links"; cat "$staging/new"; } | LC_ALL=C sort -u >"$staging/links"
mv "$staging/links" "$base/links" # before any link is there, so that --remove knows it
ln -s "$release" "$staging/current"
mv -T "$staging/current" "$base/current"
while IFS= read -r link; do
    mkdir -p "$prefix/${link%/*}"
    if [ -e "$prefix/$link" ] && ! is_ours "$prefix/$link"; then
        say "left $prefix/$link as it is: it was not installed by this script"
    elif ! is_ours "$prefix/$link"; then
        ln -s "$base/current/$link" "$staging/link"
        mv -T "$staging/link" "$prefix/$link"
    fi
done <"$staging/new"
LC_ALL=C comm -23 "$base/links" "$staging/new" >"$staging/gone"
remove_links "$staging/gone"
mv "$staging/new" "$base/links"
for old in "$base"/* "$base"/.staging.*; do # older releases, and what was killed halfway
    case $old in "$base/$release" | "$base/current" | "$base/links" | "$staging") ;; *) rm -rf "$old" ;; esac
done

if [ -z "$before" ]; then
    say "installed $version into $prefix ($base)"
elif [ "$before" = "$release" ]; then
    say "$version was installed in $prefix already"
else
    say "upgraded $prefix from ${before%-*} to $version"
fi
case :$PATH: in
*:"$prefix/bin":*) ;;
*) say "$prefix/bin is not in PATH: add it, or run $prefix/bin/hocket" ;;
esac
say "to begin with: hocket new trip && hocket run trip \"Plan a picnic\"; to remove it: sh install.sh --remove --prefix $prefix"
