# Who consents to what a run does: a person, for their own run, in their own store, on their own command line. Everywhere else what the
# record allows counts for nothing. Each case has a run that was allowed everything ask for a command; RAN is there where it ran.
. "$(dirname "$0")/lib.sh"
. "$HERE/consent_lib.sh"

# ---- Ours, on the command line, with work and by a schedule ------------------------------------------------
ours a.db; resume a.db "$id"; expect 0; ran; not_said
ours a.db; resume a.db "$id" --approve deny; expect 0; held
ours a.db; resume a.db "$id" --approve 'execute_command(ls *)=allow'; expect 75; held
ours a.db --approve deny; resume a.db "$id" --approve allow; expect 0; held # what was forbidden stays so
run hocket run --trust --store a.db helper.md "ASK RUN"; id=$(newest a.db); run hocket answer --store a.db "$id" q1 blue
resume a.db "$id" --approve allow; expect 0; ran # who says so now
run hocket replay --store a.db "$id"; expect 0; has err "all as recorded"
ours a.db; resume a.db "$(hocket fork --store a.db "$id" 2>/dev/null)"; expect 75; held # its parent's answer is not its own
run hocket run --trust --approve allow --store a.db helper.md "good day"; expect 0
run hocket fork --store a.db "$(newest a.db)" --latest --input "RUN"; resume a.db "$(cat out)"; expect 0; ran; not_said
run hocket chat --trust --approve allow --store a.db helper.md "good day" </dev/null
id=$(newest a.db); run hocket say --store a.db "$id" "RUN please"; run hocket chat --store a.db --resume "$id"; ran; not_said
run hocket run -d --trust --approve allow --store a.db helper.md "RUN"; id=$(cat out)
work() { "$HOCKET" work --store "$1" >work.out 2>&1 & worker=$!; run hocket wait --store "$1" "$id"; kill -TERM $worker; wait $worker; }
work a.db; expect 0; ran
run hocket schedule add --store a.db '@yearly' helper.md "RUN" --name s --trust --approve allow; expect 0
run hocket schedule run --store a.db s; expect 0; id=$(cat out); work a.db; expect 0; ran

# ---- Not ours, or not here ----------------------------------------------------------------------------------
# exported and imported: also where it came from, and under its own name
ours a.db; run hocket export --store a.db "$id" it.run; run hocket import --store b.db it.run; expect 0
resume b.db "$id"; expect 75; held; said
resume b.db "$id"; expect 75; held; not_said
run hocket answer --store b.db "$id" a2 --allow; resume b.db "$id"; expect 0; ran # who is asked may say yes
run hocket rm --store a.db "$id"; run hocket import --store a.db it.run; expect 0
resume a.db "$id"; expect 75; held; said
run hocket import --store c.db it.run; resume c.db "$id" --approve allow; expect 0; ran; said
# whoever says so now allows what that allows, and nothing more: what the exporter forbade stays forbidden
ours a.db --approve deny; run hocket export --store a.db "$id" it.run; run hocket import --store k.db it.run; resume k.db "$id" --approve allow; held
# leave that was given and not taken stays where it was given
run hocket run --trust --store a.db helper.md "RUN"; expect 75; id=$(newest a.db)
run hocket answer --store a.db "$id" a1 --allow; run hocket export --store a.db "$id" it.run
run hocket import --store d.db it.run; resume d.db "$id"; expect 75; held; has err "a1"
resume a.db "$id"; expect 0; ran
# a copy of the store, one that somebody has changed, another user's
ours a.db; for file in a.db*; do cp "$file" "copy${file#a}"; done; resume copy.db "$id"; expect 75; held; said
command -v sqlite3 >/dev/null && { ours e.db --approve deny; sqlite3 e.db "UPDATE runs SET sum_set = NULL, options = replace(options, '\"allow\",\"deny\"', '\"allow\"')"; resume e.db "$id"; expect 75; held; said; }
ours f.db; mkdir ../other; HOME="$WORK/other" resume f.db "$id"; expect 75; held; said
# what the variables of its process permitted stands in the record, too
run env HOCKET_APPROVE=allow "$HOCKET" run --trust --store a.db helper.md "ASK RUN"; expect 75; id=$(newest a.db); run hocket answer --store a.db "$id" q1 blue
run hocket export --store a.db "$id" it.run; run hocket import --store h.db it.run; resume h.db "$id"; expect 75; held
run env HOCKET_APPROVE=allow "$HOCKET" resume --store a.db "$id"; expect 0; ran; allowing=$id
run hocket run -d --store a.db helper.md "RUN"; id=$(cat out)
command -v sqlite3 >/dev/null && {
  sqlite3 a.db "INSERT INTO files SELECT '$id', path, hash, text FROM files WHERE generation = '$allowing' AND path = '0 variable HOCKET_APPROVE'"
  for file in a.db*; do cp "$file" "copy${file#a}"; done; resume copy.db "$id"; expect 75; held
  run hocket run -d --store j.db helper.md "RUN"; id=$(cat out)
  sqlite3 j.db "SELECT cast(t.text AS TEXT) FROM files f JOIN texts t ON t.no = f.text WHERE path = '@'" | tr -d '\n' | sed 's/"variables":{/&"HOCKET_APPROVE":"allow",/' >head
  sqlite3 j.db "UPDATE texts SET text = readfile('head'), hash = x'$(sha256sum <head | cut -c1-64)' WHERE no = (SELECT text FROM files WHERE path = '@')"
  for file in j.db*; do cp "$file" "copy${file#j}"; done; resume copy.db "$id"; expect 75; held
}
leaked() { expect 0; has out "its name cannot be resolved"; }
run env HOCKET_WEB_ALLOW=leak.invalid "$HOCKET" run --trust --store a.db helper.md LEAK; expect 75; id=$(newest a.db); run hocket answer --store a.db "$id" q1 blue
run hocket export --store a.db "$id" it.run; run hocket import --store h.db it.run; run hocket import --store i.db it.run
run hocket import --store l.db it.run; resume l.db "$id" --approve allow; expect 75; has err "web_fetch"; hasnt out "resolved" # nor do its hosts come along
resume h.db "$id"; expect 75; has err "web_fetch"; hasnt out "resolved"
resume h.db "$id"; expect 75; has err "web_fetch" # in a second life, too
run hocket answer --store h.db "$id" a2 --allow; resume h.db "$id"; leaked; run hocket replay --store h.db "$id"; expect 0; has err "all as recorded"
run env HOCKET_WEB_ALLOW=leak.invalid "$HOCKET" resume --store i.db "$id"; leaked # who says so now
resume a.db "$id"; leaked
# its fork is no more ours than it is
ours a.db; run hocket export --store a.db "$id" it.run; run hocket import --store g.db it.run
run hocket fork --store g.db "$id" --latest; resume g.db "$(cat out)" --trust; expect 75; held; has err "does not count"
# a log that ends where the model has asked for the command: what was let in there is not begun here
run hocket run --trust --approve allow --store a.db helper.md "RUN"; expect 0; ran; id=$(newest a.db)
at=$(hocket show --store a.db "$id" --json | grep -o '"seq":[0-9]*[^{]*"type":"model_reply"' | head -n 1 | grep -o '[0-9]*' | head -n 1)
[ -n "$at" ] || at=3
for n in $at $((at + 1)) $((at + 2)); do
  run hocket fork --store a.db "$id" --at "$n"; fork=$(cat out); run hocket export --store a.db "$fork" "at$n.run"
  run hocket import --store "at$n.db" "at$n.run"; resume "at$n.db" "$fork"; held
done

# ---- Over HTTP ------------------------------------------------------------------------------------------------
command -v curl >/dev/null || finish
run hocket run --trust --approve allow --store a.db helper.md "good day"; done_run=$(newest a.db)
run hocket chat --trust --approve allow --store a.db helper.md "good day" </dev/null; talk=$(newest a.db)
ours a.db; asking=$id
# the proof of who began it is for nobody to see
for words in show answer; do run hocket $words --store a.db "$asking" --json; has out '"consent":true'; hasnt out '"made"'; done
run hocket show --store a.db "$asking" --html it.html; expect 0; hasnt it.html '"made":"'
serves deny
rests() { until_true sh -c "curl -sS -H 'Authorization: Bearer $token' $url/api/runs/$1 | grep -q '\"state\":\"\(waiting\|done\|parked\|failed\)\"'"; }
forks() { # forks ID BODY: the new run's id in $id
  what="fork of $1 with $2"
  id=$(api "$url/api/runs/$1/fork" -d "$2" | grep -o '"id":"[0-9A-Z]*' | cut -c7-)
  [ ${#id} = 26 ] || fail "there is a fork"
  rests "$id"
}
forks "$done_run" '{"latest": true, "input": "RUN please"}'; held
forks "$talk" '{"input": "RUN please"}'; held
forks "$talk" '{"latest": true, "input": "RUN please"}'; held
what="resume, then say"
api "$url/api/runs/$asking/resume" -d '{}' >body; rests "$asking"; held
api "$url/api/runs/$talk/say" -d '{"text": "RUN please"}' >body; rests "$talk"; held
api "$url/api/runs/$talk/records" >body; same "$(grep -c "does not count here" body)" 1
kill -TERM $server; wait $server
# what a client has continued its owner does not take up with more
run hocket chat --store a.db --resume "$talk" "RUN again" </dev/null; held

# The server's limit binds a run that its owner began without one, from where the client takes it up; its replay ends so, too.
run hocket run --trust --store a.db helper.md "ASK SLOW"; expect 75; id=$(newest a.db); run hocket answer --store a.db "$id" q1 blue
what="serve -t"; serves deny -t 1; api "$url/api/runs/$id/resume" -d '{}' >body
fails() { api "$url/api/runs/$id" >body && grep -q '"state":"failed"' body; }
until_true fails; has body '"code":"timeout"'; has body "within 1 seconds"
kill -TERM $server; wait $server
run hocket replay --store a.db "$id"; has err "all as recorded"; has err "within 1 seconds"

# What is made in a new home is for its owner alone, whatever the umask is: else no run would be kept there.
what="a new home"; mkdir new; echo 'return "at once"' >end.lua
(umask 0; HOME="$PWD/new" "$HOCKET" run -q end.lua) >out 2>err; empty err
same "$(stat -c %a new/.local/state/hocket)" 700
# nor may others write it where a token, or the key of webhooks, is the first that is kept there
for words in "" "--webhook http://127.0.0.1:9/"; do
  what="a new home, by serve $words"; rm -rf new; mkdir new
  (umask 0; HOME="$PWD/new"; export HOME; HOCKET_SERVE_TOKEN=${words:+0123456789012345678901234567890123456789} exec "$HOCKET" serve --listen 127.0.0.1:0 --store off $words helper.md) >out 2>err & server=$!
  until_true grep -q 'serving' err out
  kill -TERM $server; wait $server
  same "$(stat -c %a new/.local/state/hocket)" 700
  same "$(find new -type f ! -perm 600)" ""
  [ -n "$(find new -type f)" ] || fail "nothing is kept there"
done
finish
