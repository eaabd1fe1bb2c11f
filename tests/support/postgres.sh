#!/bin/sh
# postgres.sh COMMAND…: runs a test with a PostgreSQL of its own, from Debian's packages: in a new folder, reached
# through a socket in it alone, by the user that runs the test; root gives it to "nobody", as the server refuses
# root. The command finds
#   HOCKET_TEST_POSTGRES        postgres://hocket@/test?host=FOLDER   (a superuser)
#   HOCKET_TEST_POSTGRES_HOST   the folder: `start` in it starts the server again after `stop`, or a crash; `standby`
#                               gives it a second one that has all that is committed, and `failover` kills the first
#                               and promotes the second, which is then what `start`, `stop` and `standby` are about
#   HOCKET_TEST_POSTGRES_PAIR   a URL of whichever of the two is the first one
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
finish() {
    for one in "$host" "$host/b"; do
        kill -QUIT "$(cat "$one/pid" 2>/dev/null)" 2>/dev/null
        i=0 # gone before its folder is
        while [ -e "$one/pid" ] && kill -0 "$(cat "$one/pid")" 2>/dev/null && [ $i -lt 600 ]; do
            sleep 0.05
            i=$((i + 1))
        done
        # What a server that was killed has left: the key and the number of its memory are in a line of this file.
        segment=$(sed -n 7p "$one/data/postmaster.pid" 2>/dev/null | awk '{ print $2 }')
        [ -z "$segment" ] || ipcrm -m "$segment" 2>/dev/null
    done
    rm -rf "$host"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP
mkdir "$host/b"
chmod 755 "$host" "$host/b"
[ -z "$as" ] || chown 65534:65534 "$host" "$host/b"
echo "$host" >"$host/first"
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
# In the background; back when it answers.
one=\${server:-\$(cat "$host/first")}
$as \$death "$bin/postgres" -D "\$one/data" >>"$host/log" 2>&1 &
echo \$! >"\$one/pid"
until "$bin/pg_isready" -q -h "\$one"; do
    kill -0 "\$(cat "\$one/pid")" 2>/dev/null || { cat "$host/log"; exit 1; }
    sleep 0.05
done
START
cat >"$host/stop" <<STOP
#!/bin/sh
# stop [SIGNAL]: QUIT is a crash, INT an orderly end; back when it is gone.
one=\$(cat "$host/first")
pid=\$(cat "\$one/pid")
kill -"\${1:-INT}" "\$pid"
while kill -0 "\$pid" 2>/dev/null; do sleep 0.02; done
rm -f "\$one/pid"
STOP
cat >"$host/standby" <<STANDBY
#!/bin/sh
# From here on nothing is committed that the second one has not, too.
set -e
one=\$(cat "$host/first") two=$host
[ "\$one" != "$host" ] || two=$host/b
ask() { PGOPTIONS="-c client_min_messages=warning" "$bin/psql" -X -q -At -h "\$one" -U hocket -d postgres -c "\$1"; }
until $as rm -rf "\$two/data"; do sleep 0.05; done # processes of the one that was killed may still end
$as "$bin/pg_basebackup" -h "\$one" -U hocket -D "\$two/data" -R -X stream -c fast --no-sync >>"$host/log" 2>&1
echo "unix_socket_directories = '\$two'" >>"\$two/data/postgresql.conf"
server=\$two sh "$host/start"
ask "ALTER SYSTEM SET synchronous_standby_names = '*'"
ask "SELECT pg_reload_conf()" >/dev/null
until [ "\$(ask "SELECT sync_state || state FROM pg_stat_replication")" = syncstreaming ]; do sleep 0.05; done
ask CHECKPOINT # by the process that tells all others of the setting
ask "SELECT pg_logical_emit_message(true, '', '')" >/dev/null # what was committed before has got there
STANDBY
cat >"$host/failover" <<FAILOVER
#!/bin/sh
one=\$(cat "$host/first") two=$host
[ "\$one" != "$host" ] || two=$host/b
segment=\$(sed -n 7p "\$one/data/postmaster.pid" | awk '{ print \$2 }')
pid=\$(cat "\$one/pid")
kill -KILL "\$pid"
while kill -0 "\$pid" 2>/dev/null; do sleep 0.02; done
rm -f "\$one/pid"
ipcrm -m "\$segment" 2>/dev/null # goes with the last process that has it
"$bin/psql" -X -q -At -h "\$two" -U hocket -d postgres -c "SELECT pg_promote(true, 600)" >/dev/null || exit 1
echo "\$two" >"$host/first"
FAILOVER
# The first one ends with this shell, however that ends; one that a test has started anew by what is done on exit.
death=$(command -v setpriv >/dev/null && echo setpriv --pdeathsig QUIT)
. "$host/start"
"$bin/createdb" -h "$host" -U hocket test || exit 1
HOCKET_TEST_POSTGRES="postgres://hocket@/test?host=$host" HOCKET_TEST_POSTGRES_HOST=$host \
    HOCKET_TEST_POSTGRES_PAIR="postgres://hocket@/test?host=$host,$host/b&target_session_attrs=read-write" "$@"
