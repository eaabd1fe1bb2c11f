# `hocket show --html`: a run as one page that needs no server. What a browser makes of it is tests/browser/file.mjs.
. "$(dirname "$0")/lib.sh"
export HOCKET_STORE="$WORK/kept/runs.db"
A=01KANC3V0QZJ9E4W2X6T8B5M7A B=01KAPC3V0QZJ9E4W2X6T8B5M7B
cat >fill <<X
run $A done <script>alert(1)</script>
input </script><script>alert(2)</script><!--
put
event {"seq":1,"type":"workflow_started","message":"</script><img src=x onerror=alert(3)>"}
event {"type":"output",
event "a text"
event [1]
event {"seq":5,"type":"final_answer","content":"<!--<script>"}
release
run $B done b.md
put
release
X
what=fill; "$FILL" "$HOCKET_STORE" <fill || fail "no store to look at"

run hocket show $A --html a.html; expect 0; empty out; has err "3 records cannot be read, and are left out"
same "$(stat -c %a a.html)" 600
same "$(head -c 34 a.html)" "<!doctype html><!-- hocket run -->"
has a.html "default-src 'none'; script-src 'sha256-"
what="elements"; same "$(grep -c '^<script' a.html)" 2; same "$(grep -oi '</script' a.html | wc -l)" 2; same "$(grep -oF '<!--' a.html | wc -l)" 1
hasnt a.html "<img"; has a.html '\u003cimg src=x'
if grep -q '^import \|^export ' a.html; then fail "a module is left"; fi
hasnt a.html 'src="/'; hasnt a.html 'href="/'
what="styles"; for css in "$ROOT"/page/*.css; do grep -qF "$(grep -m1 '{' "$css")" a.html || fail "$css is not in it"; done
what="what is packed is the same unpacked"
for file in "$ROOT"/page/view.js "$ROOT"/page/main.js; do grep -v "^import \|^export \|^ *//" "$file" >wanted
  grep -vxFf a.html wanted >missing && fail "$file is not whole: $(head -n 3 missing)"
done

# It is there whole or as it was, and replaces pages of runs alone.
run hocket show $B --html a.html; expect 0; hasnt a.html "onerror"
echo precious >mine; run hocket show $A --html mine; expect 1; has err "mine is there, and is no page of a run"; same "$(cat mine)" precious
ln -s mine link; run hocket show $A --html link; expect 1; same "$(cat mine)" precious
run hocket show $A --html mine --force; expect 0; has mine "hocket-run"
run hocket show $A --html no/such/dir; expect 1; has err "No such file"
run hocket show $A --html /dev/full; expect 1
run hocket show ZZ --html z.html; expect 1; [ ! -e z.html ] || fail "a page of nothing"
run hocket show $A --html z.html --at 9; expect 2; has err "there is no record 9"; [ ! -e z.html ] || fail "a page of too few"
run hocket show $A --html z.html --at 1; expect 0; hasnt z.html '"seq":5'
run hocket show $A --html z.html --json; expect 2
run hocket show $A --html z.html --agent x; expect 2
[ -z "$(ls | grep '[.]html[.]')" ] || fail "pieces are left: $(ls)"
what="a pipe"; hocket show $A --html - >pipe 2>err; hocket show $A --html b.html 2>/dev/null; cmp -s pipe b.html || fail "stdout gets something else"
what="a full pipe"; hocket show $A --html - >/dev/full 2>err; code=$?; expect 1; has err "No space left"
finish
