# What a run came to is told alike of those that workers have done and of all others, from what is kept.
. "$(dirname "$0")/lib.sh"
. "$HERE/work_lib.sh"
team trip
newest() { "$HOCKET" runs --limit 1 --json | grep -o '"id":"01[^"]*"' | head -n 1 | cut -d'"' -f4; }
# A member of the object in a file, where its value has no object in it but the one that it is.
member() { grep -oE "\"$2\":(\{[^{}]*\}|\[[^][{}]*\]|\"[^\"]*\"|[^,{}\"]+)" "$1" | head -n 1 | sed 's/\([0-9]\)\.0\([,}]\)/\1\2/g'; }
alike() { for name in "$@"; do same "$(member told.json "$name")" "$(member was.json "$name")"; done; }

# ---- hocket wait --json ---------------------------------------------------------------------------------
run "$HOCKET" run -q --json trip "Rome"; expect 0; cp out was.json; id=$(newest)
run "$HOCKET" wait --json "$id"; expect 0; cp out told.json
alike run ok finish error partial simulated models usage; has told.json '"text":"## General\n\n(simulated) What one'; has told.json '"state":"done"'; has told.json '"seconds":0.'
has told.json '"tasks":[{'; same "$(grep -o '"assigned_to":"[^"]*"' told.json | sort)" "$(grep -o '"assigned_to":"[^"]*"' was.json | sort)"
echo 'print "hi" return "said"' >says.lua
run "$HOCKET" run -q --json says.lua; cp out was.json; id=$(newest); run "$HOCKET" wait --json "$id"; expect 0; cp out told.json
alike run ok text finish error partial simulated models usage tasks document; hasnt told.json '"output":['
run "$HOCKET" wait "$id"; expect 0; has out hi; has out said
echo 'error "not today"' >fails.lua
run "$HOCKET" run -q --json fails.lua; expect 1; cp out was.json; id=$(newest); run "$HOCKET" wait --json "$id"; expect 1; cp out told.json
alike run ok text finish error partial simulated models usage tasks document; has told.json '"state":"failed"'
printf -- '---\nname: poet\nmax_tokens: 1\n---\nYou write.\n' >poet.md
run "$HOCKET" run -q --json --max-tokens 3 poet.md "Snow and ice and all that is cold"; cp out was.json; id=$(newest); run "$HOCKET" wait --json "$id"; cp out told.json
alike run ok finish error partial simulated models usage
# As of a worker's, which keeps all of it.
worker 1; detach trip "Rome"; run "$HOCKET" wait --json "$id"; expect 0; has out '"finish":"stop"'; has out '"document":{"slots"'; end 1 TERM; expect 0

# ---- GET /api/runs/ID ---------------------------------------------------------------------------------------
command -v curl >/dev/null || finish
"$HOCKET" serve --no-token --listen 127.0.0.1:0 poet.md >serve.out 2>serving & server=$!; workers="$workers $server"
until_true grep -q '^serving' serving; url=$(sed -n 's/^serving //p' serving)
run "$HOCKET" run -q --json trip "Rome"; expect 0; cp out was.json; id=$(newest)
curl -sS --max-time 60 "$url/api/runs/$id" >told.json; sed 's/.*"result":{/{/' told.json >result.json
has told.json '"result":{'; for name in ok finish error partial usage; do same "$(member result.json $name)" "$(member was.json $name)"; done
curl -sS --max-time 60 "$url/api/runs" >told.json; hasnt told.json '"result":{'
kill -TERM $server; wait $server
finish
