#!/bin/sh
# Installs hocket from a folder or an address that holds a release: a tarball for this system, SHA256SUMS, and its
# signature. Nothing is used before its signature and its checksum were verified.
#
#   PREFIX/lib/hocket/VERSION-SUM/      the files of a release
#   PREFIX/lib/hocket/current           a link to one of them: an upgrade replaces this link in one step
#   PREFIX/bin/hocket, PREFIX/share/…   links by way of `current`; PREFIX/lib/hocket/links lists them, and
#                                       PREFIX/lib/hocket/folders what was made for them
#   PREFIX/lib/systemd, lib/sysusers.d  copies, which begin with the line $mark: systemd resolves links, and what it has enabled
#                                       would lead to an older release
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
# One spelling for a folder, as links are known by it: /opt/x/, /opt/./x and /opt//x are /opt/x.
prefix=$(printf '%s\n' "$prefix" | sed -e ':again' -e 's|/\.\{0,1\}/|/|' -e 't again' -e 's|\(.\)/\.\{0,1\}$|\1|')
base=$prefix/lib/hocket

mark='# By install.sh of hocket. An upgrade replaces this file: change it with systemctl edit.'

# A file or a link, also one that leads nowhere.
is_there() { [ -e "$1" ] || [ -L "$1" ]; }

# A link of ours, whatever it points to now, or a copy.
is_ours() {
    if [ -L "$1" ]; then
        case $(readlink "$1") in "$base/current/"*) true ;; *) false ;; esac
    else
        [ -f "$1" ] && [ "$(sed 1q "$1")" = "$mark" ]
    fi
}

# ---- Removing --------------------------------------------------------------------------------------------

remove_links() { # of a list, those that lead here
    while IFS= read -r link; do
        if is_ours "$prefix/$link"; then rm -f "$prefix/$link"; fi
    done <"$1"
}

remove_base() { # and what this script has made and is empty now, the deepest first
    folders=$( { [ ! -f "$base/folders" ] || cat "$base/folders"; } | LC_ALL=C sort -r)
    rm -rf "$base"
    for folder in $folders; do rmdir "$prefix/$folder" 2>/dev/null || :; done
}

remove_all() {
    if [ -f "$base/links" ]; then
        remove_links "$base/links"
    else # at most what was killed before it had installed anything
        [ -d "$base" ] && [ -z "$(ls -A "$base" | grep -v '^\.staging\.\|^folders$')" ] && [ -n "$(ls -A "$base")" ] ||
            die "there is nothing in $base that this script has installed"
    fi
    remove_base
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
    command -v openssl >/dev/null || die "openssl is missing, which verifies the signature: install it, or say --no-signature"
fi
[ "$(uname -s)" = Linux ] || die "this is $(uname -s): there are releases for Linux alone"
case $(uname -m) in
x86_64 | amd64) machine=x86_64 ;;
aarch64 | arm64) machine=arm64 ;;
*) die "there is no release for $(uname -m): only for x86_64 and arm64" ;;
esac
! is_there "$prefix/bin/hocket" || is_ours "$prefix/bin/hocket" ||
    die "$prefix/bin/hocket is there and was not installed by this script: remove it, or say --prefix"

[ -d "$prefix/lib" ] && lib='' || lib=lib
mkdir -p "$base"
[ -z "$lib" ] || echo "$lib" >>"$base/folders"
staging=$base/.staging.$$ # in the same file system: it is renamed
rm -rf "$staging"
mkdir "$staging"
leave() { # what has installed nothing leaves nothing
    rm -rf "$staging"
    case $(ls -A "$base") in '' | folders) remove_base ;; esac
}
trap leave EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# make_folder NAME: below the prefix; --remove takes those that were not there, so their names come first.
make_folder() {
    [ ! -d "$prefix/$1" ] || return 0
    case $1 in */*) make_folder "${1%/*}" ;; esac
    echo "$1" >>"$base/folders"
    mkdir "$prefix/$1"
}

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

# Units start the program where it is installed now. systemd would read a name with other letters as something else.
case $prefix in
*[!A-Za-z0-9/._+~@-]*)
    say "left out the units of systemd: $prefix has letters that they cannot name"
    rm -rf "$staging/tree/lib/systemd" "$staging/tree/lib/sysusers.d"
    ;;
esac
for file in "$staging/tree/lib/systemd/system"/* "$staging/tree/lib/sysusers.d"/*; do
    [ ! -f "$file" ] || sed -i -e "1i\\$mark" -e "s|\(ExecStart=\)/[^ ]*/hocket |\1$prefix/bin/hocket |" "$file"
done

before=
[ ! -L "$base/current" ] || before=$(readlink "$base/current")

# Links that the release has no file for any more go when the switch is done.
(cd "$staging/tree" && find . -type f ! -path './share/doc/*' ! -path './share/hocket/*' | sed 's|^\./||' | LC_ALL=C sort) >"$staging/new"
{ [ ! -f "$base/links" ] || cat "$base/links"; cat "$staging/new"; } | LC_ALL=C sort -u >"$staging/links"
mv "$staging/links" "$base/links" # before the release and any link is there, so that --remove knows them
if [ ! -d "$base/$release" ]; then mv "$staging/tree" "$base/$release"; fi
ln -s "$release" "$staging/current"
mv -T "$staging/current" "$base/current"
while IFS= read -r link; do
    make_folder "${link%/*}"
    if is_there "$prefix/$link" && ! is_ours "$prefix/$link"; then
        say "left $prefix/$link as it is: it was not installed by this script"
    elif [ "${link#lib/}" != "$link" ]; then
        cp "$base/$release/$link" "$staging/link"
        mv -T "$staging/link" "$prefix/$link"
    elif ! is_ours "$prefix/$link"; then
        ln -s "$base/current/$link" "$staging/link"
        mv -T "$staging/link" "$prefix/$link"
    fi
done <"$staging/new"
grep -vxF -f "$staging/new" "$base/links" >"$staging/gone" || [ $? = 1 ] # not comm, which some busyboxes lack
remove_links "$staging/gone"
mv "$staging/new" "$base/links"
for old in "$base"/* "$base"/.staging.*; do # older releases, and what was killed halfway
    case $old in "$base/$release" | "$base/current" | "$base/links" | "$base/folders" | "$staging") ;; *) rm -rf "$old" ;; esac
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
shell=${SHELL:-}
case ${shell##*/}:$prefix in
zsh:/usr | zsh:/usr/local) ;; # zsh looks there itself; bash and fish find theirs everywhere
zsh:*) [ ! -d "$prefix/share/zsh/site-functions" ] || say "for completions of zsh, write before compinit in ~/.zshrc: fpath+=('$prefix/share/zsh/site-functions')" ;;
esac
say "to begin with: hocket new trip && hocket run trip \"Plan a picnic\"; to remove it: sh install.sh --remove --prefix $prefix"
