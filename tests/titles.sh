#!/bin/sh
# The titles of commits: `area: imperative verb …`, at most 72 characters. Checks every commit since this file
# came into the tree; older ones stay as they are. In a tree without git there is nothing to check.
set -u
cd "${1:-.}" || exit 2
first=$(git log --diff-filter=A --format=%H -- tests/titles.sh 2>/dev/null | tail -n 1)
titles=$(git log --no-merges --format='%h %s' ${first:+"$first^.."} 2>/dev/null) || titles=
[ -n "$first" ] || titles=
bad=$(printf '%s\n' "$titles" | awk '
    $0 == "" { next }
    { hash = $1; title = substr($0, length($1) + 2); lower = tolower(title) }
    length(title) > 72 { print hash ": " length(title) " characters, at most 72: " title }
    title !~ /^[^ ].*: / { print hash ": has no area (\"store: retry when …\"): " title }
    lower ~ /^[^:]*: (what|who|whose|a|an|the|it|one|ones|those|that|nobody|nothing|each|every|where|which|there|in|of|two|no|so) / {
        print hash ": begins with no verb: " title
    }')
[ -z "$bad" ] || {
    printf '%s\n' "$bad" >&2
    exit 1
}
