# Three workers do runs out of one database, and are killed, stopped past their leases and cut off; the database is killed,
# restarted, and replaced by its standby. Then the history is looked at: every run ended, and once; nobody wrote who had lost
# a run; what must not be done twice was not. Started by tests/support/postgres.sh.
#   work_history.sh [SCHEDULES [KIND]]     a schedule is one such disturbance, at a random moment of work that goes on;
#                                          1,000 of them (./dev torture) take some 50 minutes
HOST=$HOCKET_TEST_POSTGRES_HOST PAIR=$HOCKET_TEST_POSTGRES_PAIR
. "$(dirname "$0")/lib.sh"
schedules=${1:-6} only=${2:-}
psql() { command psql -X -q -At "$PAIR" "$@"; }
seed=${HOCKET_TEST_SEED:-1}
random() { seed=$(((seed * 1103515245 + 12345) % 2147483648)); chosen=$((seed / 65536 % $1)); }
export HOME="$WORK/home" HOCKET_STORE="$PAIR" HOCKET_LEASE=2 PGCONNECT_TIMEOUT=10
cp -r "$HERE/work_history" history
mkdir home empty
run hocket store init; expect 0
run sh "$HOST/standby"; expect 0

# ---- What is noted beside it ------------------------------------------------------------------------------
# Each entry and record with the fence and the owner that the run had when it was written, and the session that wrote it;
# each end of a run, and each that came back to life. In the same transaction: it is there if and only if that is.
psql <<'SQL' || exit 1
CREATE SCHEMA audit;
CREATE TABLE audit.writes(at BIGSERIAL, time TIMESTAMPTZ DEFAULT clock_timestamp(), run BIGINT, what TEXT, n BIGINT, fence BIGINT, owner TEXT, session TEXT);
CREATE TABLE audit.ends(run BIGINT, state TEXT, fence BIGINT);
CREATE TABLE audit.revived(run BIGINT);
CREATE FUNCTION audit.claimed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO audit.writes(run, what, n, fence, owner, session) VALUES(new.no, 'claim', new.fence, new.fence,
    new.owner_pid || ' ' || new.owner_start || ' ' || new.owner_store, audit.session());
  RETURN new;
END $$;
CREATE FUNCTION audit.session() RETURNS TEXT LANGUAGE sql AS $$
  SELECT a.pid || ' ' || a.backend_start FROM pg_stat_activity a WHERE a.pid = pg_backend_pid() $$;
CREATE FUNCTION audit.wrote() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO audit.writes(run, what, n, fence, owner, session)
    SELECT r.no, TG_TABLE_NAME, CASE WHEN TG_TABLE_NAME = 'entries' THEN (to_jsonb(new)->>'n')::bigint ELSE (to_jsonb(new)->>'seq')::bigint END,
      r.fence, r.owner_pid || ' ' || r.owner_start || ' ' || r.owner_store, audit.session() FROM hocket.runs r WHERE r.no = new.run;
  RETURN new;
END $$;
CREATE FUNCTION audit.ended() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF new.state IN ('done', 'failed', 'cancelled') THEN INSERT INTO audit.ends VALUES(new.no, new.state, new.fence); END IF;
  IF old.state IN ('done', 'failed', 'cancelled') THEN INSERT INTO audit.revived VALUES(new.no); END IF;
  RETURN new;
END $$;
CREATE TRIGGER audit AFTER INSERT ON hocket.entries FOR EACH ROW EXECUTE FUNCTION audit.wrote();
CREATE TRIGGER audit AFTER INSERT ON hocket.records FOR EACH ROW EXECUTE FUNCTION audit.wrote();
CREATE TRIGGER claimed AFTER UPDATE ON hocket.runs FOR EACH ROW WHEN (old.fence <> new.fence) EXECUTE FUNCTION audit.claimed();
CREATE TRIGGER audit AFTER UPDATE ON hocket.runs FOR EACH ROW WHEN (old.state <> new.state) EXECUTE FUNCTION audit.ended();
SQL

# ---- Workers, and what is done to them ----------------------------------------------------------------------
death=$(command -v setpriv >/dev/null && echo setpriv --pdeathsig KILL) # they end with this shell, however that ends
working() { grep -c '"working"' "worker$1.out" 2>/dev/null; }
start() {
  eval "began$1=\$(working $1)"
  (cd empty && exec $death "$HOCKET" work --json --runs 4) >>"worker$1.out" 2>>"worker$1.err" &
  eval "worker$1=$!"
}
pid_of() { eval "pid=\$worker$1"; }
alive() { # nothing but a signal ends a worker; one that found no server when it began is begun anew, as a service is
  for i in 0 1 2; do
    pid_of $i
    kill -0 "$pid" 2>/dev/null && continue
    eval "before=\$began$i"
    [ "$before" = "$(working $i)" ] || fail "worker $i has ended by itself: $(tail -n 3 worker$i.err)"
    start $i
  done
}
stop_all() {
  for i in 0 1 2; do pid_of $i; kill -KILL "$pid"; wait "$pid" 2>/dev/null; done
}
left() { psql -c "SELECT count(*) FROM hocket.runs WHERE pool = 'default' AND state NOT IN ('done', 'failed', 'cancelled')"; }
written=0
goes_on() { # some of the work has been done since the last time, however slow the machine is
  random 25; more=$((written + chosen + 1))
  for _ in $(seq 1200); do
    written=$(psql -c 'SELECT last_value FROM audit.writes_at_seq')
    [ "$written" -lt $more ] && [ "$(left)" != 0 ] || return
    sleep 0.05
  done
}
die() { # a worker ends behind an effect, whichever comes first
  : >witness.die
  while [ -e witness.die ] && [ "$(left)" != 0 ]; do sleep 0.05; done
  if [ -e witness.die ]; then rm -f witness.die; return; fi
  while :; do
    for i in 0 1 2; do
      pid_of $i
      kill -0 "$pid" 2>/dev/null && continue
      wait "$pid" 2>/dev/null
      start $i
      return
    done
    sleep 0.05
  done
}
disturb() {
  goes_on
  random 3; pid_of "$chosen"; who=$chosen
  random 150; sleep "0.$(printf %03d "$chosen")"
  kind=$only
  [ "$kind" ] || case $(($1 % 8)) in
  0) kind=kill ;;
  1) kind=stop ;;
  2) kind=cut ;;
  3) kind=failover ;;
  4) kind=effect ;;
  5) kind=restart ;;
  *) random 3; kind=$(echo "kill stop cut" | cut -d ' ' -f $((chosen + 1))) ;;
  esac
  echo "$(date +%T.%N) $1 $kind of worker $who" >>disturbed
  case $kind in
  kill) kill -KILL "$pid"; wait "$pid" 2>/dev/null; start "$who" ;;
  effect) die; die ;; # the second time it may be in the first effect of a run that another one had lost
  stop) kill -STOP "$pid"; sleep 2.5; kill -CONT "$pid" ;;
  cut) psql -c "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'hocket'" >/dev/null ;;
  failover) sh "$HOST/failover" && sleep 0.1 && sh "$HOST/standby" ;;
  restart) random 2; sh "$HOST/stop" "$([ "$chosen" = 1 ] && echo QUIT || echo INT)"; sh "$HOST/start" ;;
  esac
}

cat >submit.lua <<'X'
local from, to, witness = (...):match "^(%d+) (%d+) (.+)$"
for no = tonumber(from), tonumber(to) do
  assert(require("hocket").submit("history", ("%d %s"):format(no, witness)))
end
X
submitted=0
submit() { # so many more
  run hocket run --store "$PAIR" -q submit.lua "$((submitted + 1)) $((submitted + $1)) $WORK/witness"
  expect 0
  submitted=$((submitted + $1))
}
: >witness
submit 9
for i in 0 1 2; do start $i; done
n=0
while [ $n -lt "$schedules" ] && [ $failures = 0 ]; do
  [ "$(left)" -ge 6 ] || submit 9
  disturb $n
  alive
  n=$((n + 1))
done
# As long as it goes on, however slow the machine is.
before= same=0
while now=$(left) && [ "$now" != 0 ] && [ $same -lt 240 ]; do
  now="$now $(psql -c 'SELECT last_value FROM audit.writes_at_seq')"
  same=$((same + 1)); [ "$now" = "$before" ] || same=0
  before=$now; sleep 0.5
done
alive
stop_all

# ---- The history ----------------------------------------------------------------------------------------------
same "$(left)" 0
none() { found=$(psql -c "$2" | head -n 5); [ -z "$found" ] || fail "$1: $found"; }
results="hocket.runs r JOIN hocket.files f ON f.generation = r.id AND f.path = '=result ' || (SELECT max(e.fence) FROM audit.ends e WHERE e.run = r.no) JOIN hocket.texts t ON t.no = f.text WHERE r.pool = 'default'"
none "a run has not ended done" "SELECT r.id, r.state, convert_from(t.text, 'UTF8')::jsonb->>'error' FROM $results AND r.state <> 'done'"
none "a run has ended twice" "SELECT run, count(*) FROM audit.ends GROUP BY run HAVING count(*) > 1"
none "a run came back from its end" "SELECT run FROM audit.revived"
none "a run was written after its end" "SELECT w.run, w.what, w.n FROM audit.writes w JOIN audit.ends e ON e.run = w.run WHERE w.fence > e.fence"
none "somebody wrote who had lost the run" "SELECT run, what, n, fence FROM
  (SELECT *, max(fence) OVER (PARTITION BY run, what ORDER BY n) AS highest FROM audit.writes) w WHERE fence < highest"
none "somebody wrote in another's name" "SELECT session, count(DISTINCT owner) FROM audit.writes WHERE owner NOT LIKE '0 %' GROUP BY session HAVING count(DISTINCT owner) > 1"
none "two wrote under one fence" "SELECT run, fence, count(DISTINCT owner) FROM audit.writes GROUP BY run, fence HAVING count(DISTINCT owner) > 1"
none "entries are missing" "SELECT r.id FROM hocket.runs r WHERE r.last_n <> (SELECT count(*) FROM hocket.entries e WHERE e.run = r.no)"
same "$(psql -c "SELECT count(*) FROM hocket.runs WHERE pool = 'default'")" $submitted

# What each run says that it has done, beside what was done.
psql -c "SELECT substring(r.input FROM '^\d+') || ' ' || (convert_from(t.text, 'UTF8')::jsonb->>'text') FROM $results" >said
same "$(wc -l <said)" $submitted
awk '
  FNR == NR { if ($2 == "once") done[$1 " " $3]++; else again[$1 " " $3]++; next }
  { for (i = 1; i <= 3; i++) {
      times = done[$1 " step" i]
      if (index($0, "step" i "=paid") && times != 1) print "run " $1 ": step " i " is said to be done, and was " times + 0 " times"
      else if (!index($0, "step" i "=paid") && !index($0, "step" i "=unknown")) print "run " $1 " says nothing of step " i
    }
    if (!again[$1 " end"]) print "run " $1 " has no end" }
  END { for (what in done) if (done[what] > 1) print what " was done " done[what] " times" }' witness said >wrong
[ ! -s wrong ] || fail "$(head -n 5 wrong)"
for no in $(awk '{ print $1 == "run" ? $2 : $1 }' wrong | sort -u | head -n 2); do # how it came
  psql -F ' ' -c "SELECT w.at, w.time, w.fence, w.owner, w.session, w.what, w.n, e.kind, e.name, e.at_ms, substr(e.value, 1, 40) FROM audit.writes w JOIN hocket.runs r ON r.no = w.run
    LEFT JOIN hocket.entries e ON w.what = 'entries' AND e.run = w.run AND e.n = w.n WHERE r.input LIKE '${no%:} %' AND w.what <> 'records' ORDER BY w.at LIMIT 12"
  cat disturbed
  grep -h "$(psql -c "SELECT id FROM hocket.runs WHERE input LIKE '${no%:} %'")" worker*.out
done
[ $failures = 0 ] && psql -c "SELECT '$schedules schedules: $submitted runs ended once, ' || (SELECT count(*) FROM audit.writes) || ' writes by '
  || (SELECT count(DISTINCT (run, fence)) FROM audit.writes) || ' claims, $(grep -c ' once ' witness) effects, none twice, $(grep -o '=unknown' said | wc -l) unknown'"
finish
