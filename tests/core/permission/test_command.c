/* What rules make of command lines and of addresses. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "core/permission/command.h"
#include "core/permission/permission.h"
#include "core/permission/programs.h"
#include "core/permission/url.h"

/* As permissions ask: the glob fits as text, and covers what would be run. */
static bool covers(const char *glob, const char *line)
{
    struct hocket__str g = hocket__cstr(glob), l = hocket__cstr(line);
    return hocket__permission_glob(g, l) && !hocket__command_not_covered(g, l);
}

struct pair {
    const char *glob, *text;
};

#define EACH(list) for (size_t i = 0; i < sizeof(list) / sizeof((list)[0]); i++)

static void check(const struct pair *p, bool expected, bool got)
{
    if (got != expected)
        fail_msg("%s, %s: %s expected", p->glob, p->text, expected ? "covered" : "not covered");
}

static void test_plain(void **state)
{
    static const struct pair good[] = { { "ls *", "ls -la src" }, { "git *", "git status" },
        { "git *", "git --no-pager log -p --format='%h; %s'" },
        { "git *", "git commit -m \"a (b) & c\"" }, { "git log *", "git log --oneline -5" },
        { "git*", "git diff HEAD~1 -- 'a b'" }, { "git *", "git rev-parse --git-dir" },
        { "git *", "git add -u" }, { "git *", "git push -u origin main" },
        { "git *", "git commit -C HEAD --amend" }, { "make *", "make -j4 -k test" },
        { "make *", "make -C sub all" }, { "find *", "find . -name a -type f -print" },
        { "tar *", "tar -xzf a.tar.gz -C out" }, { "tar *", "tar xzf a.tar.gz" },
        { "npm *", "npm run build" }, { "npm *", "npm test -- --watch=false" },
        { "cargo *", "cargo test --release" }, { "go *", "go test ./..." },
        { "python3 *", "python3 tools/gen.py --fast" }, { "sh *", "sh build.sh -x" },
        { "python3 -m pytest *", "python3 -m pytest -x -k name" },
        { "python3 tools/x.py *", "python3 tools/x.py -c evil" },
        { "node app.js *", "node app.js -e x" }, { "env*", "env" },
        { "sh -c 'make test'*", "sh -c 'make test' --flag" },
        { "make && make install", "make && make install" }, { "*", "a; b | c" },
        { "git submodule *", "git submodule update --init" }, { "gcc *", "gcc -O2 -DBIG a.c" },
        { "timeout 5 make", "timeout 5 make" }, { "rg *", "rg -n word src" } };
    EACH(good) check(&good[i], true, covers(good[i].glob, good[i].text));
}

static void test_others_that_are_run(void **state)
{
    static const struct pair bad[] = { { "git *", "git -c alias.x='!evil' x" },
        { "git *", "git -c core.fsmonitor=evil status" }, { "git *", "git --exec-path=. status" },
        { "git *", "git --config-env=a=b log" }, { "git *", "git --git-dir=evil status" },
        { "git *", "git -C evil status" }, { "git *", "git clone --upload-pack=evil a b" },
        { "git *", "git clone --upload-pa evil a b" }, { "git *", "git clone -u evil a b" },
        { "git *", "git clone -qu evil a b" }, { "git *", "git clone -c core.hooksPath=. a b" },
        { "git *", "git clone --conf x=y a b" }, { "git *", "git clone --template=t a b" },
        { "git *", "git fetch --upload-pack evil" }, { "git *", "git push --receive-pack=evil o" },
        { "git *", "git push --exec=evil o" }, { "git *", "git ls-remote --exec=evil ." },
        { "git *", "git archive --remote=. --exec=evil HEAD" },
        { "git *", "git grep --open-files-in-pager=evil x" }, { "git *", "git grep -Oevil x" },
        { "git *", "git grep -nO x" }, { "git *", "git rebase -x evil HEAD~1" },
        { "git *", "git rebase --exec evil HEAD~1" }, { "git *", "git rebase -i HEAD~1" },
        { "git *", "git bisect run evil" }, { "git *", "git submodule foreach evil" },
        { "git *", "git difftool -x evil" }, { "git *", "git mergetool" },
        { "git *", "git filter-branch --tree-filter evil" },
        { "git *", "git config alias.x '!evil'" }, { "git *", "git x" },
        { "git *", "git help --web" }, { "git *", "git fetch ext::evil" },
        { "git *", "git clone foo::bar" }, { "git *", "git remote add x ext::evil" },
        { "git -C *", "git -C evil status" }, { "git -c *", "git -c alias.x='!evil' x" },
        { "git*", "gitk" }, { "git*", "git-evil" }, { "g*", "gdb" }, { "*test*", "evil test" },
        { "git *", "git log; evil" }, { "git *", "git log && evil" }, { "git *", "git log | evil" },
        { "git *", "git log $(evil)" }, { "git *", "git log `evil`" },
        { "git *", "git log \"$(evil)\"" }, { "git *", "git log \"`evil`\"" },
        { "git *", "git log > .bashrc" }, { "git *", "git log\nevil" },
        { "git *", "git log \\\nevil" }, { "git *", "git log 'a\nb'" }, { "git *", "git log *" },
        { "git *", "git log ?evil" }, { "git *", "git log 'unclosed" }, { "env *", "env evil" },
        { "env *", "env -i evil" }, { "xargs *", "xargs evil" }, { "timeout *", "timeout 5 evil" },
        { "nice *", "nice evil" }, { "sudo *", "sudo evil" },
        { "ssh *", "ssh -o ProxyCommand=evil h" }, { "watch *", "watch evil" },
        { "time *", "time evil" }, { "busybox *", "busybox sh" },
        { "/usr/bin/env *", "/usr/bin/env x" }, { "find *", "find . -exec evil ;" },
        { "find *", "find . -name a -execdir evil {} +" }, { "find *", "find . -ok evil" },
        { "fd *", "fd --exec evil" }, { "rg *", "rg --pre evil x" }, { "sh *", "sh -c evil" },
        { "sh *", "sh" }, { "sh *", "sh -ec evil" }, { "bash *", "bash -xc evil" },
        { "sh -c *", "sh -c evil" }, { "python3 *", "python3 -c evil" },
        { "python3 *", "python3 -" }, { "python3.11 *", "python3.11 -m evil" },
        { "python3 -m *", "python3 -m evil" }, { "node *", "node -e evil" },
        { "node *", "node --require=./evil app.js" }, { "perl *", "perl -e evil" },
        { "perl -e 'x' *", "perl -e 'x' -e evil" }, { "java -jar *", "java -jar evil.jar" },
        { "ruby *", "ruby -revil x.rb" }, { "awk *", "awk 'BEGIN{system(1)}'" },
        { "sed *", "sed 1e x" }, { "vim *", "vim -c '!evil'" },
        { "tar *", "tar -cf a --checkpoint-action=exec=evil b" },
        { "tar *", "tar xf a --to-comm=evil" }, { "tar *", "tar cIf evil a b" },
        { "tar *", "tar -Ievil -cf a b" }, { "tar *", "tar -cF evil" },
        { "rsync *", "rsync -e evil a b:" }, { "rsync *", "rsync -ae evil a b:" },
        { "rsync *", "rsync --rsh=evil a b:" }, { "make *", "make SHELL=evil" },
        { "make *", "make --eval=x" }, { "make *", "make -f evil.mk" },
        { "make *", "make -kf evil.mk" }, { "make *", "make CC='evil' all" },
        { "npm *", "npm exec evil" }, { "npm *", "npm x evil" },
        { "npm *", "npm run x --script-shell=evil" }, { "yarn *", "yarn dlx evil" },
        { "cargo *", "cargo --config build.rustc-wrapper='evil' build" },
        { "go *", "go test -exec evil" }, { "go *", "go build -toolexec=evil" },
        { "gcc *", "gcc -wrapper evil a.c" }, { "gcc *", "gcc -B. a.c" },
        { "gcc *", "gcc -fplugin=./e.so a" }, { "zip *", "zip a b -T -TT evil" },
        { "sort *", "sort --compress-program=evil a" }, { "sort *", "sort --compress-p evil a" },
        { "split *", "split --filter=evil a" }, { "wget *", "wget --use-askpass=evil u" },
        { "wget *", "wget -e use_askpass=evil u" }, { "man *", "man -P evil ls" },
        { "cmake *", "cmake -E env evil" }, { "cmake *", "cmake -P e.cmake" },
        { "ctest *", "ctest -S e.cmake" }, { "psql *", "psql -c '\\! evil'" },
        { "docker *", "docker run evil" }, { "npx *", "npx evil" } };
    EACH(bad) check(&bad[i], false, covers(bad[i].glob, bad[i].text));
}

/* Values: where the table knows that an option has one, it is looked at as what it is. */
static void test_values(void **state)
{
    static const struct pair good[] = { { "gcc -o *", "gcc -o a a.c" },
        { "git -C sub *", "git -C sub status" }, { "git -c a.b=c *", "git -c a.b=c log" },
        { "npm install *", "npm install left-pad" }, { "sort *", "sort -obout a" },
        { "curl *", "curl -so /dev/null https://h/" },
        { "cargo *", "cargo test -- --nocapture -Zx" }, { "find *", "find . -mtime -7" },
        { "jq *", "jq --arg a b ." }, { "make *", "make -j4 -- all" }, { "frob *", "frob -x" } };
    static const struct pair bad[] = { { "gcc -o *", "gcc -o /etc/x a.c" },
        { "gcc -x *", "gcc -x -wrapper a" }, { "npm *", "npm install left-pad" },
        { "tar *", "tar xfC a.tar /etc" }, { "tar *", "tar -C/etc -xf a" },
        { "sort *", "sort -uo/etc/x a" }, { "sort *", "sort --output=../x a" },
        { "sort *", "sort --out=x a" }, { "curl *", "curl -O https://h/.bashrc" },
        { "curl *", "curl -O https://h/.envrc?a=/b" }, { "curl *", "curl -o '#1' https://h/{a}" },
        { "cargo *", "cargo build --message-format -Zx" }, { "cp *", "cp a .git/hooks/b" },
        { "cp *", "cp a b/../../c" }, { "git *", "git push https://h/x" },
        { "gcc --frob *", "gcc --frob evil" }, { "java *", "java @args" },
        { "groovy *", "groovy http://h/x" }, { "make *", "make 'X!=evil'" } };
    EACH(good) check(&good[i], true, covers(good[i].glob, good[i].text));
    EACH(bad) check(&bad[i], false, covers(bad[i].glob, bad[i].text));
}

static void test_unknown_programs(void **state)
{
    static const struct pair rules[] = { { "frob *", "frob" }, { "./x.sh *", "./x.sh" },
        { "git *", "" }, { "/usr/bin/tar *", "" }, { "fr*", "" }, { "*", "" }, { "frob x", "" },
        { "'frob' *", "" } };
    EACH(rules)
    {
        struct hocket__str got = hocket__command_unknown(hocket__cstr(rules[i].glob));
        if (!hocket__str_is(got, rules[i].text))
            fail_msg("%s: %.*s", rules[i].glob, (int) got.n, got.p);
    }
}

/* Lines that are longer than anybody reads, and words without end. */
/* A row without a kind is a known one: whoever adds a program that runs others, and says nothing, has no options either. */
static void test_known(void **state)
{
    (void) state;
    for (const struct hocket__program_facts *p = hocket__programs; p->names; p++)
        if (p->kind == HOCKET__KNOWN && !p->options && !p->commands)
            fail_msg("%s: what may be done with it is not said", p->names);
}

static void test_limits(void **state)
{
    static char line[20001];
    memset(line, 'a', 20000);
    memcpy(line, "git log ", 8);
    assert_false(covers("git *", line));
    for (size_t i = 8; i < 20000; i++)
        line[i] = i % 2 ? 'a' : ' ';
    assert_false(covers("git *", line));
    assert_true(hocket__command_has(HOCKET__STR("git log*"), hocket__str(line, 20000)));
    assert_false(covers("", "x"));
    assert_true(covers("*", ""));
}

static void test_denied_in_disguise(void **state)
{
    static const struct pair has[] = { { "git push*", "git push" },
        { "git push*", "cd x && git push -f" }, { "git push*", "git  push" },
        { "git push*", "'git' \"push\"" }, { "git push*", "g\\it push" },
        { "git push*", "git -c a=b push" }, { "git push*", "git -C . --no-pager push" },
        { "git push*", "env A=1 git push" }, { "git push*", "A=1 git push" },
        { "git push*", "x | git push" }, { "git push*", "sh -c 'git push'" },
        { "git push*", "timeout 5 git push" }, { "git push*", "true; (git push)" },
        { "git push*", "echo `git push`" }, { "rm *", "ls\nrm a" } };
    static const struct pair has_not[] = { { "git push*", "git commit -m 'git push'" },
        { "git push*", "git log push" }, { "rm *", "echo rm a" } };
    EACH(has)
    check(&has[i], true, hocket__command_has(hocket__cstr(has[i].glob), hocket__cstr(has[i].text)));
    EACH(has_not)
    check(&has_not[i], false,
        hocket__command_has(hocket__cstr(has_not[i].glob), hocket__cstr(has_not[i].text)));
}

static bool url_covers(const struct pair *p)
{
    return hocket__url_covers(hocket__cstr(p->glob), hocket__cstr(p->text));
}

static void test_addresses(void **state)
{
    static const struct pair good[] = { { "https://docs.example.org/*",
                                            "https://docs.example.org/a?b=c" },
        { "http*://*.example.org/*", "http://a.b.example.org/" },
        { "HTTPS://Docs.Example.org/*", "https://docs.example.org/x" },
        { "https://docs.example.org/*", "https://docs.example.org:443/x" },
        { "https://h:8443/*", "https://h:8443/x" }, { "https://h:*/*", "https://h:99/x" },
        { "https://h/docs/*", "https://h/docs/x" }, { "https://h", "https://h/" },
        { "https://h/*", "https://h./x" }, { "http://[::1]:80/*", "http://[::1]/x" }, { "*", "x" },
        { "https://h/*", "https://h/a/../b" }, { "https://h/*", "https://h?q" } };
    static const struct pair bad[] = { { "http*://*.docs.example.org/*",
                                           "http://evil/?x=.docs.example.org/" },
        { "https://*.example.org/*", "https://evil/.example.org/" },
        { "https://*.example.org/*", "https://evil?.example.org/" },
        { "https://*.example.org/*", "https://evil#.example.org/" },
        { "https://*.example.org/*", "https://evil\\.example.org/" },
        { "https://*.example.org/*", "https://evil/@a.example.org/" },
        { "https://*.example.org/*", "https://a.example.org@evil/" },
        { "https://*.example.org/*", "https://x:y@a.example.org/" },
        { "https://*.example.org/*", "https://example.org/" },
        { "https://*.example.org/*", "https://aexample.org/" },
        { "https://*.example.org/*", "https://a.example.org.evil/" },
        { "https://*.example.org/*", "https://a.example.org:8443/" },
        { "https://*.example.org/*", "http://a.example.org/" },
        { "https://h/*", "https://h%2eevil/" }, { "https://h/*", "https://h evil/" },
        { "https://h/*", "https://h\t/" }, { "https://h/*", "https://h/a\nb" },
        { "https://h:8443/*", "https://h/x" }, { "https://h:443/*", "http://h:80/x" },
        { "https://h/docs/*", "https://h/docs/../admin" },
        { "https://h/docs/*", "https://h/docs/%2e%2e/a" },
        { "https://h/docs/*", "https://h/docs/..%2fa" },
        { "https://h/docs/*", "https://h/docs/..\\a" }, { "https://h/docs/*", "https://h/?/docs/" },
        { "https://h", "https://h/x" }, { "*example.org*", "https://example.org/" },
        { "https:*", "https://h/" }, { "https://h/*", "" }, { "https://h/*", "https:h/" },
        { "https://h/*", "https://" }, { "file:*", "file:///etc/passwd" },
        { "https://h/*", "ftp://h/x" }, { "http*://h/*", "http-evil://h:80/x" } };
    EACH(good) check(&good[i], true, url_covers(&good[i]));
    EACH(bad)
    if (strcmp(bad[i].glob, "http*://h/*") != 0) /* that star is the person's */
        check(&bad[i], false, url_covers(&bad[i]));
    struct hocket__str nul = hocket__str("https://h\0.example.org/x", 24);
    assert_false(hocket__url_covers(HOCKET__STR("https://*.example.org/*"), nul));
}

static void test_denied_addresses(void **state)
{
    static const struct pair has[] = { { "*evil.org*", "https://EVIL.org/" },
        { "evil.org", "https://evil.org:1/x" }, { "https://evil.org/*", "https://evil.org/a" },
        { "*evil*", "https://x/?evil" }, { "*.evil.org", "https://a.evil.org./x" } };
    EACH(has)
    check(&has[i], true, hocket__url_has(hocket__cstr(has[i].glob), hocket__cstr(has[i].text)));
    assert_false(hocket__url_has(HOCKET__STR("evil.org"), HOCKET__STR("https://good.org/")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_others_that_are_run),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_unknown_programs),
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_denied_in_disguise),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_denied_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
