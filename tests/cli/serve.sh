# hocket serve: who is let in, a run over HTTP, its end by a signal.
. "$(dirname "$0")/lib.sh"
command -v curl >/dev/null || { echo "skipped: no curl"; exit 77; }
HOME=$WORK/home
export HOME XDG_STATE_HOME=
mkdir "$HOME"
printf -- '---\nname: smith\ndescription: A smith.\n---\nYou are a smith.\n' >smith.md

serve() { # serve OPTION…: in the background; its address is in $url
  rm -f serving
  "$HOCKET" serve --listen 127.0.0.1:0 "$@" >out 2>serving &
  server=$!
  until_true grep -qs '^serving' serving
  url=$(sed -n 's/^serving //p' serving)
}
ask() { curl -sS --max-time 120 -H "Authorization: Bearer $token" "$@"; }
status() { curl -sS --max-time 120 -o body -w '%{http_code}' "$@"; }
stop() { kill -TERM $server; wait $server; code=$?; expect 0; }

what="hocket serve"
serve --store runs.db --access-log log smith.md
token=$(cat "$HOME/.local/state/hocket/serve-token")
same "$(stat -c %a "$HOME/.local/state/hocket/serve-token")" 600
hasnt serving "$token"

# without the token there is nothing but whether it is there
same "$(status "$url/healthz")" 200
same "$(status "$url/readyz")" 200
same "$(status "$url/api/agents")" 401
same "$(status -H 'Authorization: Bearer wrong' "$url/api/agents")" 401
same "$(status "$url/api/agents?token=$token")" 401
same "$(ask -o body -w '%{http_code}' "$url/api/agents")" 200
has body '"name":"smith"'
same "$(status -H "X-Api-Key: $token" "$url/api/agents")" 200
same "$(ask -o body -w '%{http_code}' "$url/nothing")" 404
same "$(ask -o body -w '%{http_code}' -X DELETE "$url/api/agents")" 405

# names and pages that are not this machine's
same "$(ask -o body -w '%{http_code}' -H 'Host: evil.example' "$url/api/agents")" 403
same "$(ask -o body -w '%{http_code}' -H 'Origin: https://evil.example' "$url/api/agents")" 403
same "$(ask -o body -w '%{http_code}' -H 'Origin: null' "$url/api/agents")" 403
same "$(ask -o body -w '%{http_code}' -H "Origin: http://localhost:1" "$url/api/agents")" 403
same "$(ask -o body -w '%{http_code}' -H "Origin: $url" "$url/api/agents")" 200

# a run
same "$(ask -o body -w '%{http_code}' -d '{}' "$url/api/runs")" 415
same "$(ask -o body -w '%{http_code}' -H 'Content-Type: application/json' -d '{"target":"smit"}' "$url/api/runs")" 404
has body "did you mean 'smith'?"
same "$(ask -o body -w '%{http_code}' -H 'Content-Type: application/json' -d '{"target":"smith","input":"Good day"}' "$url/api/runs")" 201
id=$(sed -n 's/.*"id":"\([0-9A-Z]*\)".*/\1/p' body)
ask -N "$url/api/runs/$id/events" >events
has events 'event: workflow_started'
has events 'event: workflow_finished'
has events '(simulated) You said: Good day'

stop
hasnt log "$token"
has log '"path":"/api/runs"'
run hocket runs --store runs.db
has out "$id"

# what may not be
run hocket serve --listen 0.0.0.0:0 smith.md; expect 2; has err '--behind-proxy'
run hocket serve --listen 127.0.0.1:0 --behind-proxy --no-token smith.md; expect 2
run hocket serve --listen nonsense smith.md; expect 2
chmod 644 "$HOME/.local/state/hocket/serve-token"
run hocket serve --listen 127.0.0.1:0 smith.md; expect 1; has err 'chmod 600'
run hocket serve --listen 127.0.0.1:0 --no-token none.md; [ $code != 0 ] || fail "there is no none.md"
finish
