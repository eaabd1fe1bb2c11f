#!/bin/sh
# What older versions wrote is read by this one: agents, a store, an export (tests/versions). Save games: host/stored/saved.
. "$(dirname "$0")/lib.sh"

# The id of the run of an agent in the store.
id_of() { hocket runs --store runs.db | awk -v agent="$1" 'index($0, agent) { print $1 }'; }

# Its log ends in the middle of an approval: whatever the answer is, the run ends as it would have in its version, and replays.
in_approval() {
  store=$1.db; buyer=$(id_of buyer); word=--$1; paid=paid
  [ "$1" != deny ] || paid=
  [ "$1" != edit ] || { word='edit {"command":"echo more"}'; paid=more; }
  if [ "$1" = fork ]; then
    run hocket fork "$buyer" --store "$store"; expect 0; buyer=$(cat out); word=--allow
  fi
  run hocket answer "$buyer" a1 "$word" --store "$store"
  expect 0
  run hocket resume "$buyer" --store "$store"
  expect 0
  has out bought
  run hocket show --json "$buyer" --store "$store"
  same "$(grep -oE '\\n(paid|more)\\n' out | head -n 1 | tr -dc a-z | sed 's/^n//; s/n$//')" "$paid"
  run hocket replay "$buyer" --store "$store"
  expect 0
  has err 'all as recorded'
}

check_version() {
  run hocket check agents/lead.md agents/buyer.md agents/talker.md
  expect 0
  run hocket store check --store runs.db
  expect 0
  for agent in lead buyer talker; do
    run hocket show "$(id_of $agent)" --store runs.db
    expect 0
    run hocket replay "$(id_of $agent)" --store runs.db
    expect 0
    has err 'all as recorded'
  done
  run hocket show "$(id_of talker)" --store runs.db
  has out 'turn 3'

  for how in allow deny always edit fork; do
    cp runs.db $how.db
    in_approval $how
  done
  echo four >said
  "$HOCKET" chat --resume "$(id_of talker)" --store runs.db <said >out 2>err
  code=$?
  expect 0
  has out 'turn 4'

  run hocket import --store other.db team.run
  expect 0
  run hocket replay "$(hocket runs --store other.db | awk '{ print $1; exit }')" --store other.db
  expect 0
  has err 'all as recorded'
}

versions=0
for folder in "$ROOT"/tests/versions/*/; do
  [ -e "$folder/runs.db" ] || continue
  versions=$((versions + 1))
  mkdir "$versions" && cd "$versions" || exit 1
  cp -r "$folder"/* .
  what="$folder"
  check_version
  cd ..
done
[ $versions -gt 0 ] || fail 'no version was tried'

# The edition of built-in prompts is the one that a run began with, wherever it goes on.
cat >told.lua <<'END'
local edition = require "hocket.internal.base.edition"
local context = require "hocket.internal.core.fiber".context()
assert(require "hocket".ask "Go on?")
return ("edition %d of %d"):format(edition.of(context.run), edition.NOW)
END
now=$(sed -n 's/^#define HOCKET__EDITION //p' "$ROOT/src/core/run_state.h")
# begun NAME; then_says NAME WORDS
begun() { run hocket run told.lua --store "$1.db" && expect 75 && id=$(hocket runs --store "$1.db" | awk '{ print $1; exit }'); }
then_says() {
  run hocket answer "$id" "$(hocket show "$id" --store "$1.db" | grep -o '\bq[0-9]\+\b' | head -1)" yes --store "$1.db"
  run hocket resume "$id" --trust --store "$1.db"
  has out "$2"
}
begun new
then_says new "edition $now of $now"
command -v sqlite3 >/dev/null && {
  begun old
  sqlite3 old.db "UPDATE runs SET sum_set = NULL, options = replace(options, '\"edition\":$now,', '')"
  then_says old "edition 1 of $now"
  begun between
  sqlite3 between.db "UPDATE runs SET sum_set = NULL, options = replace(options, '\"edition\":$now,', '\"edition\":3,')"
  run hocket resume "$id" --trust --store between.db
  expect 1
  has err 'edition 3'
  begun newer
  sqlite3 newer.db "UPDATE runs SET sum_set = NULL, options = replace(options, '\"edition\":$now,', '\"edition\":99,')"
  run hocket resume "$id" --trust --store newer.db
  expect 1
  has err 'edition 99'
}

finish
