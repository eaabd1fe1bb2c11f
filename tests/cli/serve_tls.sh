# hocket serve with a certificate of its own: who is served, what is refused, and what happens when it changes.
. "$(dirname "$0")/lib.sh"
command -v curl >/dev/null && command -v openssl >/dev/null || { echo "skipped: no curl or no openssl"; exit 77; }
HOME=$WORK/home
HOCKET_SERVE_TOKEN=abcdefghijklmnopqrstuvwxyz
export HOME HOCKET_SERVE_TOKEN XDG_STATE_HOME=
mkdir "$HOME"
printf -- '---\nname: smith\ndescription: A smith.\n---\nYou are a smith.\n' >smith.md

pair() { # pair NAME HOST
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$1.key" -out "$1.crt" -days 2 \
    -subj "/CN=$2" -addext "subjectAltName=DNS:$2,IP:127.0.0.1" 2>/dev/null
}
pair a box.example
pair b new.example
cp a.crt now.crt; cp -p a.key now.key
ask() { curl -sS --max-time 120 --cacert now.crt -H "Authorization: Bearer $HOCKET_SERVE_TOKEN" "$@"; }
status() { ask -o body -w '%{http_code}' "$@"; }
subject() { openssl s_client -connect "127.0.0.1:$port" </dev/null 2>/dev/null | sed -n 's/^subject=CN = //p'; }

what="hocket serve with a certificate"
setsid "$HOCKET" serve --listen 0.0.0.0:0 --tls-cert now.crt --tls-key now.key smith.md >out 2>serving & server=$!
until [ -s serving ]; do sleep 0.05; done
port=$(sed -n 's,^serving https://0.0.0.0:,,p' serving)
url=https://127.0.0.1:$port
same "$(status "$url/api/agents")" 200
same "$(curl -sS --cacert now.crt -o body -w '%{http_code}' "$url/api/agents")" 401
same "$(status --resolve "box.example:$port:127.0.0.1" "https://box.example:$port/api/agents")" 200
same "$(status -H 'Host: evil.example' "$url/api/agents")" 403
same "$(status -H 'Host: new.example' "$url/api/agents")" 403
same "$(status -H "Origin: https://127.0.0.1:$port" "$url/api/agents")" 200
same "$(status -H 'Content-Type: application/json' -d '{"model":"smith","messages":[{"role":"user","content":"Hello"}]}' "$url/v1/chat/completions")" 200
has body 'You said: Hello'
same "$(curl -sS --http2 --cacert now.crt -o body -w '%{http_version}' "$url/healthz")" 1.1
head -c 100000000 /dev/zero >big
same "$(status -H 'Content-Type: application/json' --data-binary @big "$url/api/runs")" 413

# who does not speak it, and who speaks an old one
same "$(curl -sS -o body -w '%{http_code}' "http://127.0.0.1:$port/healthz")" 400
has body 'https://'
run openssl s_client -connect "127.0.0.1:$port" -tls1_1 -cipher 'DEFAULT:@SECLEVEL=0'
[ $code != 0 ] || fail "TLS 1.1 is spoken"

# many at once, and some that only begin
cat >readers.py <<'END'
import asyncio, ssl, sys, os
port, token, n = int(sys.argv[1]), os.environ["HOCKET_SERVE_TOKEN"], 200
ctx = ssl.create_default_context(cafile="now.crt")
async def main():
    idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
    open_ones = []
    async def begin():
        r, w = await asyncio.open_connection("127.0.0.1", port, ssl=ctx)
        w.write(("GET /api/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n" % token).encode())
        await r.readuntil(b"\r\n\r\n")
        open_ones.append((r, w))
    await asyncio.gather(*[begin() for _ in range(n)])
    r, w = await asyncio.open_connection("127.0.0.1", port, ssl=ctx)
    body = b'{"target":"smith","input":"x"}'
    w.write(("POST /api/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (token, len(body))).encode() + body)
    await r.readuntil(b"\r\n\r\n")
    async def hear(r):
        seen = b""
        while b'"state":"done"' not in seen:
            more = await r.read(65536)
            if not more:
                return 0
            seen += more
        return 1
    print("heard by", sum(await asyncio.gather(*[hear(r) for r, _ in open_ones])))
    for _, w in open_ones + idle + [(r, w)]:
        w.transport.abort()
asyncio.run(main())
END
if command -v python3 >/dev/null; then
  run python3 readers.py "$port"
  has out "heard by 200"
fi

# a renewed certificate is taken: by a signal at once, and by itself; one that does not fit is not
same "$(subject)" box.example
cp b.crt now.crt
kill -HUP $server
until grep -q 'is not that of the certificate' serving; do sleep 0.05; done
same "$(subject)" box.example
cp -p b.key now.key
kill -HUP $server
until [ "$(subject)" = new.example ]; do sleep 0.05; done
same "$(status --resolve "new.example:$port:127.0.0.1" "https://new.example:$port/api/agents")" 200
cp -p a.key now.key; cp a.crt now.crt
until [ "$(subject)" = box.example ]; do sleep 0.2; done
kill -TERM $server; wait $server; code=$?; expect 0
hasnt serving "$HOCKET_SERVE_TOKEN"
hasnt serving 'PRIVATE KEY'

# what may not be
serve() { run hocket serve --listen "$@" smith.md; }
serve 0.0.0.0:0; expect 2; has err '--tls-cert'
serve 0.0.0.0:0 --tls-cert now.crt; expect 2; has err 'go together'
serve 0.0.0.0:0 --tls-cert now.crt --tls-key now.key --no-token; expect 2
serve 127.0.0.1:0 --tls-cert now.crt --tls-key b.key; expect 2; has err 'is not that of the certificate'
serve 127.0.0.1:0 --tls-cert none --tls-key b.key; [ $code != 0 ] || fail "there is no such file"; has err 'none: No such file'
chmod 644 now.key
serve 127.0.0.1:0 --tls-cert now.crt --tls-key now.key; expect 1; has err 'chmod 600'

# a socket that was handed over is looked at as an address is
cat >handed.py <<'END'
import os, socket, sys
listener = socket.create_server(("0.0.0.0", 0))
os.dup2(listener.fileno(), 3)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[1], [sys.argv[1], "serve", "smith.md"])
END
if command -v python3 >/dev/null; then
  run python3 handed.py "$HOCKET"; expect 2; has err 'others can reach the socket'
fi
finish
