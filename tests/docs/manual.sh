#!/bin/sh
# The man pages and the completions are what the program says of itself, and whole: each option of each command is in
# its page and in the completion of each shell. groff and mandoc, where they are installed, find no fault in the pages.
#   manual.sh HOCKET SOURCE_DIR MANUAL_DIR DATE
set -eu
hocket=$1 source=$2 manual=$3 date=$4
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT INT TERM
failed=0

fail() {
    echo "manual: $1" >&2
    failed=1
}

# ---- Current --------------------------------------------------------------------------
"$hocket" help --json >"$tmp/description.json"
"$hocket" run --store off --trust --quiet -C "$tmp" "$source/docs/tools/manual.lua" "$date" >/dev/null
for folder in man completions; do
    diff -r "$manual/$folder" "$tmp/$folder" >&2 || fail "$manual/$folder is not what the program says: build again"
done

# ---- Whole ----------------------------------------------------------------------------
# The line of a command in the file of a shell, or its lines.
in_shell() {
    case $1 in
    bash) sed -n "/^_hocket_options/,/^}/s/^    '$2') //p" "$manual/completions/hocket" ;;
    zsh) sed -n "/^_hocket_command/,\$ { /^    '$2')/,/;;/p }" "$manual/completions/_hocket" ;;
    fish) grep -F "__hocket_within \"$2\"" "$manual/completions/hocket.fish" ;;
    esac
}

check_command() {
    command=$1
    page=$manual/man/hocket-$(echo "$command" | tr ' ' '-').1
    [ -f "$page" ] || { fail "there is no $page"; return; }
    for shell in bash zsh fish; do in_shell $shell "$command" >"$tmp/$shell"; done
    # shellcheck disable=SC2086
    "$hocket" $command --help | sed -n '/^options:/,/^$/s/^ *\(-[a-zA-Z], \)\{0,1\}--\([a-z-]*\).*/\2/p' >"$tmp/options"
    [ -s "$tmp/options" ] || fail "'hocket $command --help' lists no options"
    while read -r option; do
        grep -qF -- "\\-\\-$(echo "$option" | sed 's/-/\\-/g')\\fR" "$page" || fail "$page lacks --$option"
        grep -qE -- "--$option( |')" "$tmp/bash" || fail "bash does not complete 'hocket $command --$option'"
        grep -qE -- "--$option[=[]" "$tmp/zsh" || fail "zsh does not complete 'hocket $command --$option'"
        grep -qE -- "-l $option " "$tmp/fish" || fail "fish does not complete 'hocket $command --$option'"
    done <"$tmp/options"
}

"$hocket" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' >"$tmp/commands"
[ -s "$tmp/commands" ] || fail "'hocket --help' lists no commands"
while read -r command; do check_command "$command"; done <"$tmp/commands"
check_command "mcp serve"
"$hocket" check --help | sed -n "/^keys of/,\$s/^  \([a-z_.][a-z_.]*\) .*/\1/p" >"$tmp/keys"
[ -s "$tmp/keys" ] || fail "'hocket check --help' lists no keys"
while read -r key; do
    grep -qF "\\fB$key\\fR" "$manual/man/hocket-agent.5" || fail "hocket-agent.5 lacks $key"
done <"$tmp/keys"

# ---- Well formed ----------------------------------------------------------------------
for page in "$manual"/man/*; do
    ! command -v groff >/dev/null || groff -ww -man -Tutf8 "$page" >/dev/null 2>"$tmp/said" && [ ! -s "$tmp/said" ] ||
        { cat "$tmp/said" >&2; fail "groff warns of $page"; }
    ! command -v mandoc >/dev/null || mandoc -Tlint -Wwarning "$page" >&2 || fail "mandoc warns of $page"
    if command -v man >/dev/null; then
        LC_ALL=C MANPAGER=cat man -l "$page" >"$tmp/shown" 2>"$tmp/said" && [ ! -s "$tmp/said" ] && grep -q '^NAME' "$tmp/shown" ||
            { cat "$tmp/said" >&2; fail "man does not show $page"; }
    fi
done
for tool in groff mandoc man; do
    command -v $tool >/dev/null || echo "manual: $tool is not installed: not asked"
done
exit $failed
