#!/bin/sh
# What older versions wrote is read by this one: agents, a store, an export (tests/versions). Save games: host/stored/saved.
. "$(dirname "$0")/lib.sh"

# The id of the run of an agent in the store.
id_of() { hocket runs --store runs.db | awk -v agent="$1" 'index($0, agent) { print $1 }'; }

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
    has err 'all as they were told'
  done
  run hocket show "$(id_of talker)" --store runs.db
  has out 'turn 3'

  run hocket answer "$(id_of buyer)" a1 --allow --store runs.db
  expect 0
  run hocket resume "$(id_of buyer)" --store runs.db
  expect 0
  has out bought
  echo four >said
  "$HOCKET" chat --resume "$(id_of talker)" --store runs.db <said >out 2>err
  code=$?
  expect 0
  has out 'turn 4'

  run hocket import --store other.db team.run
  expect 0
  run hocket replay "$(hocket runs --store other.db | awk '{ print $1; exit }')" --store other.db
  expect 0
  has err 'all as they were told'
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

finish
