--- Forms of commands under a rule that names their program alone (`execute_command(tar *)=allow`): none that starts another
--- program, or writes elsewhere, is allowed. At least twenty for each program of the table, made of the words that its manual
--- has for such things; and what is allowed of installed programs is run, with a log of every program that starts.
local attack = require "attack"
local fs = require "hocket.internal.core.fs"
local permission = require "hocket.permission"
local policy = require "hocket.internal.run.policy"
local process = require "hocket.process"
local tool = require "hocket.tool"

local class = attack.class "commands"

local shell = tool { name = "execute_command", description = "x", parameters = { type = "object" }, effects = { "run" }, subject = "command",
  kinds = { command = "command" }, run = function() return "done" end }

local checks = {}
-- Nobody is there to ask: what is not allowed by the rule is denied.
local function is_allowed(program, line)
  checks[program] = checks[program] or permission.new("a", { shell }, nil,
    { layers = assert(policy.of_run { approve = { ("execute_command(%s*)=allow"):format(program) } }), protect = function() return {}, {} end })
  return checks[program]:check(shell, { command = line }, function() end) == true
end

local function words(text)
  local list = {}
  for word in text:gmatch "%S+" do list[#list + 1] = word end
  return list
end

-- ---- Forms that ask ---------------------------------------------------------------------------------------------------

--- Programs that run what they are given, and interpreters: every form but a plain script.
local runs = words [[env xargs nice nohup timeout time stdbuf setsid ionice chrt taskset flock chroot unshare nsenter sudo doas su runuser setpriv
  strace ltrace gdb lldb valgrind perf watch parallel ssh scp script entr busybox toybox systemd-run dbus-run-session xvfb-run firejail bwrap
  start-stop-daemon at batch crontab exec command builtin eval source trap docker podman nix nix-shell npx bunx pnpx uvx pipx vi vim nvim
  view ex ed emacs nano less more most man info gdbserver tmux screen expect socat nc ncat netcat telnet ftp sftp mail mutt sqlite3 psql mysql
  awk gawk mawk nawk sed m4 bc dc coproc alias doit just task poetry pipenv hatch conda mamba asdf mise direnv rustup pyenv rbenv nvm bundle
  deno bun R scala patch gpg gpg2 ldd rake ant sbt bazel buck meson scons xdg-open open pylint tox nox]]
local run_forms = words "evil ./evil -c|evil -e|evil --exec|evil --exec=evil --command=evil -x|evil -- evil|-c|evil A=1|evil -i|evil -S|evil -n|5|evil --|evil ; 5|evil -u|A|evil @evil !evil -f|evil"
local interpreters = words "sh bash dash zsh ksh mksh fish csh tcsh python3 pypy perl ruby node nodejs lua luajit php Rscript tclsh guile osascript pwsh julia elixir groovy java"
local script_forms = words "-c|evil +c|evil -e|evil -p|evil -m|evil -|evil - -i -s|evil --eval|evil --eval=evil -r|./evil|x.js -x|evil -o|evil|x @evil http://h/evil -jar|evil -l|evil -E|evil -ic|evil --require=./evil|x -X|evil -B|evil -W|x|-c|evil"

--- For each program: what its manual has for starting others, or for writing elsewhere. `>O` is an option with a path.
local known = {
  find = "-exec -execdir -ok -okdir -fprint -fprint0 -fls -fprintf -delete -files0-from",
  ["fd fdfind"] = "-x -X --exec --exec-batch -l --list-details --base-directory -aX",
  rg = "--pre --hostname-bin -z --search-zip --pre-glob -nz --ignore-file",
  ["tar bsdtar"] = "-I -F --to-command --checkpoint-action --use-compress-program --info-script --new-volume-script --rsh-command --rmt-command -T --files-from -P --absolute-names -W --transform --checkpoint-a --to-c >-f >-C >--file >--directory",
  rsync = "-e --rsh --rsync-path --log-file -M --remote-option --files-from --temp-dir --daemon --config --write-batch --backup-dir --partial-dir -ae /",
  zip = "-T -TT --unzip-command --test -b --temp-path -O --out -lf -sp -rT /", unzip = "-: -P -M -W -K -^ --pager >-d",
  ["gzip gunzip zcat bzip2 bunzip2 bzcat xz unxz xzcat lzma unlzma zstd unzstd zstdcat lz4"] = "--files --files0 -o --output-dir-flat --patch-from --filelist -D /",
  sort = "--compress-program -T --temporary-directory --compress-p --files0-from --random-source >-o >--output", shuf = "--filter --output-file --exec --program -Z >-o >--output",
  split = "--filter --filt -S --program /", csplit = "--filter --exec --program -S /", uniq = "--exec --filter --output -o --program -Z",
  diff = "-l --paginate --pag --from-file --to-file -lu -D --GTYPE-group-format", tree = "-R -H -T -O --infofile --fromfile >-o",
  file = "-z -Z -C -S --compile --uncompress --no-sandbox --uncompress-noreport", date = "-s --set 010100002030 -S --date-set --exec 1", hostname = "-F -b --file --boot evil x nis",
  ["xxd hexdump hd"] = "-R -autoskip --exec -f --filter -L", ["cp mv ln"] = "--rsh -e --target-dir --exec --context --file /", ["rm rmdir mkdir touch tee truncate"] = "--reference --no-preserve-root --exec -r=x --context --file /",
  ["chmod chgrp chown"] = "--reference --from --no-preserve-root --exec --dereference --ref /", install = "-s --strip --strip-program --exec -Z=x --context /",
  curl = "-K --config --engine -E --cert --key --libcurl --hsts --alt-svc --etag-save -J --remote-header-name --url -w --write-out --next -: --unix-socket --netrc-file --proxy-cert >-o >--output >-c >-D",
  wget = "-e --execute --use-askpass --config --content-disposition --trust-server-names --post-file --warc-file --hsts-file --rejected-log -B --ca-certificate >-O >-P >-o >-a",
  ["make gmake"] = "-f -I -E --file --makefile --eval --include-dir SHELL= CC= X!= X:= --eva --fil -kf MAKEFLAGS= >-C >--directory", bmake = "-f -I -m -T -d -J -V -v -D SHELL= X!= --eval >-C",
  ["ninja samu"] = "-f -t --file --tool -nf -vt -F >-C", cmake = "-E -P -C -D --toolchain --debugger --install --open --find-package --workflow --trace-redirect --graphviz -DCMAKE_C_COMPILER= --profiling-output -- --system-information >--build >-B >-S",
  ctest = "-S -SP -D -M -T -A --script --build-and-test --build-makeprogram --launch --interactive-debug-mode --overwrite -- --resource-spec-file >-O >--test-dir",
  ["gcc cc g++ c++"] = "-wrapper -B -specs --specs -fplugin= -fuse-ld= -Wl,-plugin, -Wa, -Wp, -Xlinker -Xassembler -Xpreprocessor -T -fplugin-arg-x-y= @args -dumpbase -dumpdir -aux-info -iplugindir= --sysroot= -fdump-final-insns= >-o >-MF",
  ["clang clang++"] = "-fuse-ld= --ld-path= -fpass-plugin= -fplugin= -Xclang -mllvm -B --gcc-toolchain= -gcc-toolchain -Wl,-plugin, -Xlinker --config -resource-dir -fno-integrated-as= @args -fcrash-diagnostics-dir= -ivfsoverlay >-o",
  ld = "-plugin --plugin -plugin-opt --plugin= -T --script -dT -b -R -I --dynamic-linker --error-handling-script= --retain-symbols-file --version-script --out-implib --dependency-file @args -c --mri-script >-o >-Map",
  ["ar ranlib"] = "--plugin --plu --thin --output -M --target -l @args /", strip = "--plugin --plu -F --target -K -N -R @args /", ["nm objdump"] = "--plugin --plu --ifunc-chars --target -M -P --process-links",
  rustc = "-C -Clinker= --codegen -Z --extern -L -l --emit --target --sysroot @args --remap-path-prefix -Ccodegen-units=1,linker= --json --dep-info >-o >--out-dir",
  ["rustfmt gofmt"] = "--config --config-path --print-config -r -cpuprofile -file-lines /",
  javac = "-processor -processorpath --processor-path -J-javaagent: -Xplugin: @args --module-path -p --processor-module-path -A --system --upgrade-module-path -bootclasspath -XD >-d >-s >-h",
  mvn = "-f -s -gs -D -Dexec.executable= exec:exec exec:java -l --file --settings --toolchains -t install deploy site org.evil:x:1:run -Dmaven.ext.class.path= --log-file --define",
  gradle = "-p -I -b -c -D -P -g --init-script --build-file --settings-file --project-dir --include-build --gradle-user-home --system-prop --project-prop --project-cache-dir -Dorg.gradle.java.home= --write-locks",
  npm = "exec exe x init create edit explore config set install-test pkg publish link help docs repo bugs version rebuild --script-shell --shell --node-options --prefix --call --userconfig --globalconfig --git --viewer --editor -C -g",
  pnpm = "exec dlx x create init config set patch env setup --shell --script-shell --node-options --prefix -C --dir --use-node-version --userconfig deploy publish evil", yarn = "exec dlx run|evil create init config set link node plugin evil --cwd --use-yarnrc --script-shell --modules-folder --prefix --preload global",
  pip = "config install|evil download|evil wheel|evil install|-e|. install|--editable|. --python --editor --keyring-provider --proxy --log --cache-dir install|--index-url=x install|-i|x|-r|r.txt install|--config-settings=x|. install|--global-option=x|. install|--prefix=/x install|--root=/x install|-t|../x install|-f|x",
  ["pytest py.test"] = "-c -p -o -W --rootdir --confcutdir --config-file --override-ini --pdbcls --pdb --basetemp --import-mode --log-file --debug --pastebin --pyargs --trace /", ruff = "--config --cache-dir --output-file --stdin-filename -o /",
  black = "-c --code --config --stdin-filename --required-version --python-cell-magics /", mypy = "-c --config-file --python-executable --install-types --custom-typeshed-dir --shadow-file --html-report --junit-xml --any-exprs-report /",
  flake8 = "--config --append-config --enable-extensions --require-plugins --stdin-display-name >--output-file /", eslint = "-c --config -f --format --rulesdir --parser --plugin --resolve-plugins-relative-to --ignore-path --cache-location --parser-options >-o /",
  prettier = "--config --plugin --parser --plugin-search-dir --ignore-path --stdin-filepath --find-config-path --cache-location /", tsc = "--plugins --generateTrace --generateCpuProfile --locale --tsBuildInfoFile --declarationDir --rootDir --typeRoots @args >-p >--outDir /",
  cargo = "install|evil add|evil clippy|--|-Clinker=evil rustc rustdoc fix publish login owner yank vendor +./evil run|--config=x test|--manifest-path=/x --config -Z -C build|--target=./evil.json build|-Zx build|--artifact-dir=x build|--out-dir=x evil uninstall new|/x new|../x",
  go = "generate tool get|evil install|evil@latest run|evil.com/x@latest run|/x.go run|../x.go vet|-vettool=./evil build|-toolexec=./evil build|-toolexec|./evil test|-exec=./evil test|-exec|./evil build|-overlay=x build|-modfile=x build|-ldflags=-extld=./evil build|-gcflags=x env|-w|CC=./evil env|-u|CC work fix bug telemetry mod|edit -C list|-C|x build|-o|/x build|-compiler=gccgo",
  git = "-c|alias.x=!evil|x -c|core.pager=evil|log --exec-path=.|status -C|x|status --git-dir=x|status --config-env=a=B|log clone|--upload-pack=evil|a clone|-u|evil|a clone|-c|core.hooksPath=x|a clone|--template=x|a clone|ext::evil clone|a|/x clone|a|../x fetch|--upload-pa=evil pull|--upload-pack=evil push|--receive-pack=evil|o push|--exec=evil|o push|https://h/x push|git@h:x push|../x ls-remote|--upload-pack=evil|. archive|--exec=evil|--remote=.|HEAD grep|-Oevil|x grep|--open-files-in-pager=evil|x rebase|-x|evil rebase|-i|HEAD~1 rebase|--exec=evil bisect|run|evil bisect|visualize submodule|foreach|evil submodule|add|ext::x difftool mergetool filter-branch config|x|y config|-f|x config|--edit daemon instaweb gui send-email credential evil lfs help|-w|x web--browse remote|add|x|ext::evil init|--template=x init|/x init|--separate-git-dir=x log|--ext-diff diff|--textconv diff|--output=/x diff|--output=.git/hooks/x add|-i add|-e add|-p commit|-t|x commit|-S commit|-e tag|-s|x tag|-v|x merge|-s|evil rebase|-s|evil cat-file|--filters|x cat-file|--textconv|x worktree|add|/x p4 svn cvsserver shell upload-pack receive-pack maintenance hook|run|x format-patch|-o|/x apply|--unsafe-paths|x apply|--directory=../x branch|--edit-description show|--show-signature verify-commit|x notes|edit stash|-p",
}

local places = words "/etc/x ../x a/../../x ~/x .git/hooks/x .bashrc .envrc h:x .ssh/x .vscode/tasks.json a/.git/config .npmrc"

local function line_of(program, form)
  return program .. " " .. form:gsub("|", " ")
end

-- The forms that one word of a manual gives.
local function forms_of(word)
  local forms = {}
  local option = word:match "^>(.+)$"
  if word == "/" then
    for _, place in ipairs(places) do table.move({ place, "a|" .. place }, 1, 2, #forms + 1, forms) end
  elseif option then
    for _, place in ipairs(places) do
      forms[#forms + 1] = option .. "|" .. place
      if option:find "^%-%-" then forms[#forms + 1] = option .. "=" .. place end
    end
  elseif word:find "|" then
    forms = { word }
  elseif word:find "[=,:]$" then
    forms = { word .. "evil", word .. "./evil", "a|" .. word .. "evil" }
  elseif word:find "^%-" then
    forms = { word, word .. "|./evil", word .. "=./evil", "a|" .. word .. "|evil" }
  else
    forms = { word, word .. "|evil", word .. "|./evil|x" }
  end
  return forms
end

local asked = {} -- program -> how many forms

local function asks(program, form)
  local line = line_of(program, form)
  asked[program] = (asked[program] or 0) + 1
  class:check(line, is_allowed(program, line) and "it was allowed" or nil)
end

for _, program in ipairs(runs) do
  for _, form in ipairs(run_forms) do asks(program, form) end
end
for _, program in ipairs(interpreters) do
  for _, form in ipairs(script_forms) do asks(program, form) end
end
for names, list in pairs(known) do
  for _, program in ipairs(words(names)) do
    for _, word in ipairs(words(list)) do
      for _, form in ipairs(forms_of(word)) do asks(program, form) end
    end
  end
end

-- ---- Forms that stay allowed -----------------------------------------------------------------------------------------

local ordinary = {}
for line in ([[
git status|git status -sb|git log|git log --oneline -5|git log -p -n 3|git log --stat --since='2 weeks ago'|git diff|git diff --cached|git diff HEAD~1 -- a.c|git show HEAD|git show --stat|git add a.c|git add -A|git add .
git commit -m 'a (b) & c'|git commit -am x|git commit --amend --no-edit|git branch|git branch -a|git branch -d x|git checkout -b x|git checkout a|git switch -c y|git restore a.c|git reset --hard HEAD|git stash|git stash pop|git stash list
git tag -l|git tag v1|git fetch origin|git pull --rebase|git push origin main|git push -u origin HEAD|git clone https://h/x.git|git clone --depth 1 https://h/x.git y|git remote -v|git merge --no-ff x|git rebase main|git rebase --continue|git cherry-pick abc
git blame a.c|git grep -n foo|git ls-files|git rev-parse HEAD|git describe --tags|git config --list|git config --get user.name|git rm --cached a.c|git mv a.c b.c|git shortlog -sn|git reflog|git clean -nd|git init sub|git apply --check p.diff
gcc -c a.c -o a.o|gcc a.c|gcc -Wall -Wextra -O2 -g a.c -o a|gcc -std=c11 -Iinclude -DX=1 -c a.c|gcc -fsanitize=address a.c|gcc -shared -fPIC a.c -o a.so|gcc --version|g++ -std=c++17 a.cc|cc -o a a.c -lm|clang -c a.c|clang -Wall a.c -o a|ld --version|ar rcs liba.a a.o|nm a.o|objdump -d a.o|strip a
make|make all|make -j4|make -j 4 all|make -C sub|make -n|make -k test|make clean|make -B|ninja|ninja -C build|ninja -j 4 all|cmake -S . -B build|cmake --build build|cmake --build build -j 4|cmake --build build --target all|cmake -B build -DCMAKE_BUILD_TYPE=Release|cmake --version|cmake . -G Ninja
ctest|ctest --output-on-failure|ctest -R foo|ctest --test-dir build -j4|ctest -N|cargo build|cargo build --release|cargo test|cargo test foo|cargo run|cargo check|cargo clippy|cargo fmt|cargo fmt --check|cargo tree|cargo doc --no-deps|cargo --version|cargo test -- --nocapture
cargo new x|rustc --version|rustc a.rs|rustc -O -o a a.rs|go build|go build ./...|go test ./...|go test -v -run TestX ./...|go test -race ./...|go vet ./...|go fmt ./...|go run main.go|go run .|go mod tidy|go env|go env GOPATH|go version|go list -m all|go list ./...|go test -cover|gofmt -l a.go
javac A.java|javac -d out A.java|java -version|mvn test|mvn -q compile|mvn clean package -DskipTests|gradle build|gradle test --offline|npm test|npm run build|npm install|npm ci|npm ls|npm run lint|npm outdated|npm view react version|npm --version|npm run test -- --watch=false|pnpm test|pnpm install|pnpm run build|yarn install|yarn test
pip list|pip show x|pip freeze|pip --version|pip install -r requirements.txt|pip check|pytest|pytest -x|pytest -q tests|pytest -k foo|pytest tests/a.py::b|pytest -v --tb=short|python3 a.py|python3 a.py --flag|python3 --version|node a.js|node --version|ruby a.rb|perl a.pl|lua a.lua|sh a.sh|bash a.sh x|php a.php
ls|ls -la|ls -R src|cat a.c|head -5 a.c|head -n 5 a.c|tail -n 20 a.c|wc -l a.c|sort a.c|sort -u -k2 a.c|sort -rn -o b a.c|uniq -c a.c|cut -d: -f1 a.c|tr a b|diff a.c b.c|diff -u a.c b.c|diff -ru a b|cmp a.c b.c|grep foo a.c|grep -rn foo .|grep -E 'a|b' a.c
grep -i --include='x.c' foo a.c|egrep x a.c|find .|find . -name a.c|find . -type f -mtime -7|find src -maxdepth 2 -print|rg foo|rg -n foo src|rg --files|rg -i -t c foo|fd foo|fd -e c|tree -L 2|tree|file a.c|stat a.c|du -sh .|df -h|date|date +%F|date -u|echo hello|printf x|pwd|basename a/b
dirname a/b|realpath a.c|readlink a|seq 5|true|false|test -f a.c|sleep 0|which ls|id|whoami|uname -a|hostname|nproc|jq . a.json|jq -r .x a.json|md5sum a.c|sha256sum a.c|base64 a.c|od -c a.c|xxd a.c|hexdump -C a.c|strings a.o|readelf -h a.o|nl a.c|rev a.c|tac a.c|paste a.c b.c|comm a.c b.c
fold a.c|split -l 10 a.c part|tar czf a.tar.gz src|tar xzf a.tar.gz|tar -xzf a.tar.gz -C out|tar tf a.tar|tar -cf a.tar --exclude=x src|zip -r a.zip src|unzip a.zip|unzip -l a.zip|unzip -o a.zip -d out|gzip a.txt|gzip -dk a.gz|gunzip a.gz|xz a.txt|bzip2 a.txt|zcat a.gz
mkdir x|mkdir -p a/b|touch a|rm a|rm -rf build|rmdir x|cp a.c b.c|cp -r src dst|mv a.c b.c|ln -s a.c b|chmod +x a.sh|chmod 644 a.c|chmod -R u+w src|tee out.txt|truncate -s 0 a|install -m 644 a.c b.c|curl https://h/|curl -s https://h/x|curl -sSL https://h/ -o a|curl -fsSLO https://h/a.tgz
curl -X POST -d x=1 https://h/|curl -H 'A: b' https://h/|curl -I https://h/|curl -s -o /dev/null https://h/|wget https://h/a|wget -q -O a https://h/|wget -qO- https://h/|rsync -a src/ dst/|rsync -av --delete src dst|ruff check .|ruff check --fix src|black .|black --check src|mypy src|flake8 src
eslint src|eslint --fix a.js|prettier --check src|prettier --write a.js|tsc|tsc --noEmit|tsc -p tsconfig.json|shuf -n 3 a.c|factor 12|numfmt 5|column -t a.c|ps aux|free -m|join a.c b.c|expand a.c|fmt a.c]]):gmatch "[^\n]+" do
  for part in line:gmatch "[^|]+" do ordinary[#ordinary + 1] = part end
end
-- A bar inside of quotes is no bar.
for i = #ordinary, 1, -1 do
  if select(2, ordinary[i]:gsub("'", "")) % 2 == 1 then
    ordinary[i - 1] = ordinary[i - 1]:find "'" and ordinary[i - 1] .. "|" .. ordinary[i] or ordinary[i - 1]
    if ordinary[i - 1]:find "|" then table.remove(ordinary, i) end
  end
end

for _, line in ipairs(ordinary) do
  class:check(line, not is_allowed(line:match "^%S+", line) and "an ordinary form asks" or nil)
end

-- ---- What is allowed, run ------------------------------------------------------------------------------------------------

--- What a program starts by its nature: its own parts, compilers, and what a project's files say (the test's say nothing).
local builders = words "gcc clang make cmake ctest cargo rustc javac git npm"
local parts = { tar = "/[gs][zh]i?p?$" } -- by way of a shell
for _, name in ipairs(builders) do parts[name] = "" end

-- Which programs were started, by the log of strace: not those that were looked for and are not there.
local function started(log)
  local list = {}
  for path in log:gmatch 'execve%("([^"]*)"[^\n]* = 0\n' do list[#list + 1] = path end
  return list
end

local strace = process.run { argv = { "/usr/bin/strace", "-V" }, cwd = "/", sandbox = "limits", timeout = 5 }
if not (strace and strace.code == 0) then print "strace is not there: what is allowed is not run" end

local bait = "#!/bin/sh\ntouch \"$(dirname \"$0\")/P\"\n"

-- Runs a line as the tool does. What was started beside the program itself, or has touched the bait, is broken.
local function run(dir, program, line)
  for _, name in ipairs { "tool", "evil", "a" } do
    dir:write(name, bait)
    assert(fs.chmod and fs.chmod(dir.path .. "/" .. name, 493) or os.execute(("chmod 755 '%s/%s'"):format(dir.path, name)))
  end
  local log = dir.path .. "/log"
  process.run { argv = { "/usr/bin/strace", "-f", "-qq", "-e", "trace=execve", "-o", log, "/bin/sh", "-c", "exec " .. line }, cwd = dir.path, sandbox = "limits", timeout = 2,
    env = { "PATH=" .. (os.getenv "PATH" or "/usr/bin:/bin"), "HOME=" .. dir.path, "TERM=dumb", "GIT_CONFIG_NOSYSTEM=1" } }
  if fs.info(dir.path .. "/P") then return "it ran the program beside it" end
  local list, others = started(fs.read(log) or ""), {}
  for i = 3, #list do
    if not parts[program] or not list[i]:find(parts[program]) then others[#others + 1] = list[i] end
  end
  return #others > 0 and "it started " .. table.concat(others, ", ") or nil
end

local function is_installed(program)
  local found = process.run { argv = { "/bin/sh", "-c", "command -v " .. program }, cwd = "/", sandbox = "limits", timeout = 5, env = { "PATH=/usr/bin:/bin" } }
  return found and found.code == 0 and found.stdout:find "^/" ~= nil
end

-- What a script around a program starts is its own (zcat, which): they are left out, since it is not known by its name.
local function is_script(program)
  local file = io.open("/usr/bin/" .. program, "rb") or io.open("/bin/" .. program, "rb")
  if not file then return true end
  local head = file:read(2)
  file:close()
  return head == "#!"
end

-- The options of its own manual.
local function options_of(program)
  local said = process.run { argv = { "/bin/sh", "-c", "exec " .. program .. " --help" }, cwd = "/", sandbox = "limits", timeout = 5, env = { "PATH=/usr/bin:/bin" }, head = 60000 }
  local list, seen = {}, {}
  for option in (((said or {}).stdout or "") .. ((said or {}).stderr or "")):gmatch "%f[%-]%-%-?[%w#][%w%-]*" do
    if not seen[option] then list[#list + 1] = option end
    seen[option] = true
  end
  return list
end

local harmless = words [[ls cat head tail wc cut tr comm cmp nl od paste fold fmt expand unexpand tac rev column base64 base32 md5sum sha1sum sha256sum sha512sum b2sum cksum sum
  seq printf echo pwd basename dirname realpath readlink id whoami groups uname nproc arch true false test factor numfmt grep egrep fgrep jq du df stat getconf strings
  readelf addr2line tsort join ps free uptime lscpu tty users]]
local own = words "find rg fd tar zip unzip gzip bzip2 xz zstd sort uniq shuf split diff tree file date hostname xxd hexdump cp mv ln rm mkdir touch tee truncate chmod install curl wget make ninja ld ar nm objdump strip"

local function run_all(program)
  local list, seen = {}, {}
  for _, line in ipairs(ordinary) do
    if line:match "^%S+" == program then list[#list + 1] = line end
  end
  for i, option in ipairs(options_of(program)) do list[#list + 1] = (i % 2 == 0 and "%s %s ./tool" or "%s %s=./tool"):format(program, option) end
  for _, line in ipairs(list) do
    if not seen[line] and #seen < 24 and is_allowed(program, line) then
      seen[line], seen[#seen + 1] = true, line
      class:try(line .. " (run)", function(dir) return run(dir, program, line) end)
    end
  end
end

if strace and strace.code == 0 then
  for _, list in ipairs { harmless, own, builders } do
    for _, program in ipairs(list) do
      if is_installed(program) and (parts[program] or not is_script(program)) then run_all(program) end
    end
  end
end

-- ---- That there is enough ---------------------------------------------------------------------------------------------------

local total = 0
for program, n in pairs(asked) do
  total = total + n
  assert(n >= 20, ("%s has only %d forms"):format(program, n))
end
assert(total >= 1500 and #ordinary >= 300, ("%d forms, %d ordinary ones"):format(total, #ordinary))
print(("%d forms ask, %d ordinary ones do not"):format(total, #ordinary))

return class:finish()
