#!/bin/sh
# postgres.sh COMMAND…: runs a test with a PostgreSQL of its own, from Debian's packages: in a new folder, reached
# through a socket in it alone, by the user that runs the test; root gives it to "nobody", as the server refuses
# root. The command finds
#   HOCKET_TEST_POSTGRES        postgres://hocket@/test?host=FOLDER   (a superuser)
#   HOCKET_TEST_POSTGRES_HOST   the folder: `start` in it starts the server again after `stop`, or a crash
# Skipped (77) where there is none.
bin=
for dir in /usr/lib/postgresql/*/bin; do
    [ -x "$dir/initdb" ] && [ -x "$dir/postgres" ] && bin=$dir
done
[ -n "$bin" ] || {
    echo "skipped: there is no PostgreSQL server here (Debian package postgresql)"
    exit 77
}
as=
if [ "$(id -u)" -eq 0 ]; then
    command -v setpriv >/dev/null || exit 77
    as="setpriv --reuid 65534 --regid 65534 --clear-groups"
fi
# A socket's path is short, and TMPDIR may be closed to others.
host=$(mktemp -d /tmp/hocket-pg-XXXXXX) || exit 1
server=
finish() {
    [ -z "$server" ] || kill -QUIT "$(cat "$host/pid" 2>/dev/null)" 2>/dev/null
    i=0 # gone before its folder is
    while [ -e "$host/pid" ] && kill -0 "$(cat "$host/pid")" 2>/dev/null && [ $i -lt 600 ]; do
        sleep 0.05
        i=$((i + 1))
    done
    # What a server that was killed has left: the key and the number of its memory are in a line of this file.
    segment=$(sed -n 7p "$host/data/postmaster.pid" 2>/dev/null | awk '{ print $2 }')
    [ -z "$segment" ] || ipcrm -m "$segment" 2>/dev/null
    rm -rf "$host"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP
chmod 755 "$host"
[ -z "$as" ] || chown 65534:65534 "$host"
export LC_ALL=C
$as "$bin/initdb" -D "$host/data" -U hocket -A trust -E UTF8 --no-sync >"$host/log" 2>&1 || {
    cat "$host/log"
    exit 1
}
# A machine that fails is no subject of these tests; a server that does is.
cat >>"$host/data/postgresql.conf" <<CONF
listen_addresses = ''
unix_socket_directories = '$host'
fsync = ${HOCKET_TEST_POSTGRES_FSYNC:-off}
shared_buffers = 16MB
dynamic_shared_memory_type = mmap
max_connections = 60
max_prepared_transactions = 0
autovacuum = off
CONF
cat >"$host/start" <<START
#!/bin/sh
# In the background.
$as \$death "$bin/postgres" -D "$host/data" >>"$host/log" 2>&1 &
echo \$! >"$host/pid"
i=0
until "$bin/pg_isready" -q -h "$host"; do
    kill -0 "\$(cat "$host/pid")" 2>/dev/null || { cat "$host/log"; exit 1; }
    sleep 0.05
done
START
cat >"$host/stop" <<STOP
#!/bin/sh
# stop [SIGNAL]: QUIT is a crash, INT an orderly end; back when it is gone.
pid=\$(cat "$host/pid")
kill -"\${1:-INT}" "\$pid"
while kill -0 "\$pid" 2>/dev/null; do sleep 0.02; done
rm -f "$host/pid"
STOP
# The first one ends with this shell, however that ends; one that a test has started anew by what is done on exit.
death=$(command -v setpriv >/dev/null && echo setpriv --pdeathsig QUIT)
. "$host/start"
server=yes
"$bin/createdb" -h "$host" -U hocket test || exit 1
HOCKET_TEST_POSTGRES="postgres://hocket@/test?host=$host" HOCKET_TEST_POSTGRES_HOST=$host "$@"
