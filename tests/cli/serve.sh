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
same "$(ask -o body -w '%{http_code}' -H 'Host: evil.example' -H 'X-Forwarded-For: 192.0.2.1' "$url/api/agents")" 403
same "$(ask -o body -w '%{http_code}' -H 'Origin: https://evil.example' "$url/api/agents")" 403
same "$(ask -o body -w '%{http_code}' -H 'Origin: null' "$url/api/agents")" 403
same "$(ask -o body -w '%{http_code}' -H "Origin: http://localhost:1" "$url/api/agents")" 403
same "$(ask -o body -w '%{http_code}' -H "Origin: $url" "$url/api/agents")" 200

# the page: for anybody who asks this machine, packed, with nothing of anybody in it
until_true grep -qs "^page: $url/\$" serving
same "$(status -D head -H 'Accept-Encoding: gzip' "$url/")" 200
gunzip <body >page.html
has page.html '<script type="module" src="/page/main.js"></script>'
for line in 'content-encoding: gzip' 'content-type: text/html; charset=utf-8' 'x-content-type-options: nosniff' 'referrer-policy: no-referrer' \
  "content-security-policy: default-src 'self'" "script-src 'self';" "frame-ancestors 'none'" 'cross-origin-resource-policy: same-origin' 'cache-control: no-cache'; do
  has head "$line"
done
hasnt head unsafe
tag=$(sed -n 's/^etag: \(".*"\).*/\1/p' head)
same "$(status -H 'Accept-Encoding: gzip' -H "If-None-Match: $tag" "$url/")" 304
same "$(curl -sS --max-time 120 -I -o head -w '%{http_code} %{size_download}' "$url/page/main.js")" "200 0"
has head 'content-type: text/javascript; charset=utf-8'
for name in $(grep -o '/page/[a-z.]*' page.html); do same "$(status "$url$name")" 200; done
same "$(status -H 'Accept-Encoding: identity' "$url/")" 406
same "$(status "$url/page/nothing.js")" 404
same "$(status "$url/page/..%2f..%2fmain.js")" 404
same "$(status "$url/page/")" 404
same "$(status -H 'Host: evil.example' "$url/")" 403
same "$(status -H 'Host: evil.example' "$url/page/main.js")" 403
same "$(status "$url/pages")" 401

# a run
same "$(ask -o body -w '%{http_code}' -d '{}' "$url/api/runs")" 415
same "$(ask -o body -w '%{http_code}' -H 'Content-Type: application/json' -d '{"target":"smit"}' "$url/api/runs")" 404
has body "did you mean 'smith'?"
same "$(ask -o body -w '%{http_code}' -H 'Content-Type: application/json' -d '{"target":"smith","input":"Good day"}' "$url/api/runs")" 201
id=$(sed -n 's/.*"id":"\([0-9A-Z]*\)".*/\1/p' body)
ask -N "$url/api/runs/$id/events" >events
has events '"type":"workflow_started"'
has events '"type":"workflow_finished"'
has events 'event: end'
has events '(simulated) You said: Good day'

# 100 MB: refused before they are sent; of a stranger much less
head -c 100000000 /dev/zero >big
same "$(ask -o body -w '%{http_code}' -H 'Content-Type: application/json' --data-binary @big "$url/api/runs")" 413
same "$(status -H 'Transfer-Encoding: chunked' --data-binary @big "$url/api/runs")" 413
head -c 100000 /dev/zero >small
same "$(status -H 'Content-Type: application/json' --data-binary @small "$url/api/runs")" 413
same "$(ask -o body -w '%{http_code}' -H 'Content-Type: application/json' --data-binary @small "$url/api/runs")" 400
same "$(status "$url/healthz")" 200

# what stands in an address is shown nowhere, and leads nowhere
same "$(ask -o body -w '%{http_code}' "$url/api/runs/..%2f..%2fetc%2fpasswd?secret=sesame")" 400
same "$(ask -o body -w '%{http_code}' --path-as-is "$url/api/../../../etc/passwd")" 404
same "$(ask -o body -w '%{http_code}' "$url/api/runs/%00")" 400
same "$(ask -o body -w '%{http_code}' "$url/api/runs/$id/files/..%2f..%2fsecret")" 404

stop
# a person on a terminal gets an address that has the token; a log never does (above)
if "$PTY" -- true >/dev/null 2>&1; then
  run "$PTY" -w "#token=" key:3 -- "$HOCKET" serve --listen 127.0.0.1:0 --store off smith.md
  has out "/#token=$token"
  run "$PTY" -w "page: " key:3 -- "$HOCKET" serve --listen 127.0.0.1:0 --store off --no-token smith.md
  hasnt out "#token="
fi

mkdir own
echo '<p>mine' >own/index.html
export HOCKET_PAGE_DIR=own; serve smith.md; unset HOCKET_PAGE_DIR
curl -sS --max-time 120 "$url/" >body
same "$(cat body)" '<p>mine'
same "$(status "$url/page/main.js")" 404
stop
hasnt log sesame
has log '"address":"127.0.0.1"'
hasnt serving sesame
hasnt log "$token"
hasnt log 192.0.2.1
has log '"path":"/api/runs"'
run hocket runs --store runs.db
has out "$id"

# behind a proxy: whom it asks for is the last of the list, which a client may have begun itself
serve --store off --access-log log2 --behind-proxy smith.md
same "$(ask -o body -w '%{http_code}' -H 'X-Forwarded-For: 203.0.113.9, 192.0.2.1' -H 'X-Forwarded-Proto: https' "$url/.well-known/agent-card.json")" 200
has body '"url":"https://127.0.0.1'
same "$(ask -o body -w '%{http_code}' -H 'X-Forwarded-For: <script>' "$url/api/agents")" 200
stop
has log2 '"address":"192.0.2.1"'
hasnt log2 203.0.113.9
hasnt log2 '<script>'

# as systemd starts it: a socket that listens already, and a word when it is ready, alive and at its end
cat >as_systemd.py <<'END'
import os, signal, socket, sys, urllib.request
listener = socket.create_server(("127.0.0.1", 0))
told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
told.bind("told")
told.settimeout(120)
pid = os.fork()
if pid == 0:
    os.setsid()
    os.dup2(listener.fileno(), 3)
    os.set_inheritable(3, True)  # where it was 3 all along it is closed with the others else
    os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()), NOTIFY_SOCKET=os.path.abspath("told"), WATCHDOG_USEC="200000")
    os.execv(sys.argv[1], [sys.argv[1], "serve", "--store", "off", "smith.md"])
words = [told.recv(100)]
while words[0] != b"READY=1":
    words = [told.recv(100)]
port = listener.getsockname()[1]
words.append(urllib.request.urlopen("http://127.0.0.1:%d/healthz" % port).read())
while words[-1] != b"WATCHDOG=1":
    words.append(told.recv(100))
os.kill(pid, signal.SIGHUP)
words.append(urllib.request.urlopen("http://127.0.0.1:%d/healthz" % port).read())
os.kill(pid, signal.SIGTERM)
while words[-1] != b"STOPPING=1":
    words.append(told.recv(100))
print(words[0], words[1], words[-1], os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
if python3 -c 'import os; os.waitstatus_to_exitcode' 2>/dev/null; then
  run python3 as_systemd.py "$HOCKET"
  has out "b'READY=1'"
  has out "b'STOPPING=1' 0"
fi

# what may not be
run hocket serve --listen 0.0.0.0:0 smith.md; expect 2; has err '--behind-proxy'
run hocket serve --listen 127.0.0.1:0 --behind-proxy --no-token smith.md; expect 2
run hocket serve --listen nonsense smith.md; expect 2
chmod 644 "$HOME/.local/state/hocket/serve-token"
run hocket serve --listen 127.0.0.1:0 smith.md; expect 1; has err 'chmod 600'
run hocket serve --listen 127.0.0.1:0 --no-token none.md; [ $code != 0 ] || fail "there is no none.md"

# a store that somebody named and that cannot be used
echo "no database" >bad.db
run hocket serve --listen 127.0.0.1:0 --no-token --store bad.db smith.md; expect 1; has err 'bad.db'

# a store that nobody named and that cannot be used is done without, as by `hocket run`
mkdir deaf; : >deaf/.local
what="a server without a store"
rm -f serving
(unset HOCKET_STORE XDG_STATE_HOME; HOME=$PWD/deaf; export HOME; exec "$HOCKET" serve --listen 127.0.0.1:0 --no-token smith.md >out 2>serving) & server=$!
until_true grep -qs '^page:' serving # the line behind it
url=$(sed -n 's/^serving //p' serving)
for _ in 1 2; do # also when it is known by then
    same "$(status -H 'Content-Type: application/json' -d '{"model":"smith","messages":[{"role":"user","content":"Hello"}]}' "$url/v1/chat/completions")" 200
done
stop; has serving 'runs are not kept'
# Without a model the first request would fail: the start says so. An agent that names its own needs no other.
printf -- '---\nname: own\nmodel: sim\n---\nOne.\n' >own.md
unset HOCKET_MODEL; chmod 600 "$HOME/.local/state/hocket/serve-token"
serve --store model.db own.md; until_true grep -qs "^page" serving; stop; hasnt serving "no model"
serve --store model.db smith.md; until_true grep -qs "^page" serving; stop; has serving "warning: there is no model to ask"; hasnt serving "no TARGET"
serve --store model.db; until_true grep -qs "^page" serving; stop; has serving "no TARGET: no agents are served"

finish
