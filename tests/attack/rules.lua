--- What a rule that allows something may not be made to allow: other programs, other places, other hosts.
local attack = require "attack"
local approve = require "hocket.internal.run.policy"
local permission = require "hocket.permission"
local tool = require "hocket.tool"

local class = attack.class("rules", true)

local function any(name, fields)
  local def = { name = name, description = name, parameters = { type = "object" }, run = function() return "done" end }
  for key, value in pairs(fields) do def[key] = value end
  return tool(def)
end

local shell = any("execute_command", { effects = { "run" }, subject = "command", kinds = { command = "command" } })
local write = any("write_file", { effects = { "write" }, subject = "path", places = { path = true } })
local fetch = any("web_fetch", { effects = { "send" }, subject = "url", kinds = { url = "url" } })

-- Nobody is there to ask: what is not allowed by the rules is denied.
local function is_allowed(one, args, ...)
  local layers = assert(approve.of_run { approve = { ... } })
  local protect = function() return { "agents", "main.lua" }, {} end
  return permission.new("a", { one }, nil, { layers = layers, protect = protect }):check(one, args, function() end) == true
end

local function refused(what, one, args, ...)
  local words = { ... }
  class:try(("%s: %s"):format(table.concat(words, " "), what), function()
    if is_allowed(one, args, table.unpack(words)) then return "it was allowed" end
  end)
end

-- ---- Commands ------------------------------------------------------------------------------------------------------

local commands = {
  git = { "git -c alias.x=!evil x", "git -c core.pager=evil log", "git -ccore.fsmonitor=evil status", "git --exec-path=. status", "git --exec-path . status", "git -C x -c a=b status",
    "git --git-dir=x status", "git --work-tree=x status", "git --config-env=a=B status", "git -p -c a.b=c log", "git clone --upload-pack=evil a", "git clone --upload-pack evil a", "git clone -u evil a",
    "git clone -c core.hooksPath=x a", "git clone --config=core.fsmonitor=x a", "git clone --template=x a", "git clone ext::evil", "git fetch --upload-pa=evil", "git pull --upload-pack=evil", "git push --receive-pack=evil", "git push --exec=evil",
    "git ls-remote --upload-pack=evil .", "git ls-remote ext::evil", "git archive --exec=evil --remote=.", "git grep -Oevil .", "git grep --open-files-in-pager=evil .", "git grep -lO .", "git rebase -x evil", "git rebase --exec=evil", "git rebase -ix evil",
    "git bisect run evil", "git submodule foreach evil", "git difftool -x evil", "git mergetool -t evil", "git filter-branch --env-filter evil", "git config core.fsmonitor evil", "git daemon", "git instaweb", "git gui", "git send-email", "git credential fill",
    "git evil", "git lfs install", "git alias", "git var -l; evil", "git log;evil", "git log&evil", "git log|evil", "git log&&evil", "git log||evil", "git log>x", "git log<x", "git log $(evil)", "git log `evil`", "git log ${IFS}evil",
    "git log \"$(evil)\"", "git log \"`evil`\"", "git log \n evil", "git log \r\n evil", "git log \\\n; evil", "git log 'x' ; evil", "git log \"\" $(evil)", "git log -- *", "git log -- [a]*", "git log -- ?", "git log 'a", "git log \"a", "git log \0; evil", "git log (evil)",
    "git remote add x ext::evil", "git fetch foo::bar", "git init --template=x", "git init --separate-git-dir=x", "git help -w", "git web--browse x", "git notes\nevil" },
  find = { "find . -exec evil {} +", "find . -execdir evil ;", "find . -ok evil ;", "find . -name '*' -okdir evil ;" },
  tar = { "tar xf a --to-command=evil", "tar xf a --to-c evil", "tar cf a b --checkpoint-action=exec=evil", "tar -Ievil -xf a", "tar xIf evil a", "tar cf a b --use-compress-program=evil", "tar -F evil -cf a", "tar --info-script=evil -cf a", "tar --rsh-command=evil -xf h:a" },
  make = { "make SHELL=evil", "make CC=evil", "make --eval=all:;evil", "make -f evil", "make -Bf evil", "make --makefile=evil", "make -I evil", "make --file evil" },
  python3 = { "python3 -c evil", "python3 -m evil", "python3 -", "python3 -ic evil", "python3 -W ignore -c evil", "python3 -X dev x.py", "python3" },
  sh = { "sh -c evil", "sh", "sh -xc evil", "sh -o pipefail -c evil", "sh -s evil", "sh -" },
  node = { "node -e evil", "node -p evil", "node --eval evil", "node -r ./evil x.js", "node --import ./evil x.js", "node -" },
  npm = { "npm exec evil", "npm x evil", "npm run t --script-shell=evil", "npm init evil", "npm --prefix evil run t", "npm explore x evil", "npm config set script-shell evil" },
  env = { "env evil", "env -i evil", "env A=1 evil", "env -S evil", "env -u A evil" }, xargs = { "xargs evil", "xargs -n1 evil" }, timeout = { "timeout 1 evil", "timeout -s 9 1 evil" },
  nice = { "nice evil", "nice -n 5 evil" }, ssh = { "ssh h evil", "ssh -oProxyCommand=evil h" }, sed = { "sed 1e x", "sed -n 's/a/b/e' x", "sed 'w .bashrc' x" }, awk = { "awk BEGIN{system(1)}", "awk -f evil" },
  perl = { "perl -e evil", "perl -ne evil x", "perl -Mevil x.pl" }, rsync = { "rsync -e evil a h:", "rsync -avze evil a h:", "rsync --rsh=evil a h:", "rsync --rsync-path=evil a h:" },
  cargo = { "cargo --config a=b build", "cargo -Zx build", "cargo install evil" }, go = { "go test -exec evil", "go build -toolexec evil", "go vet -toolexec=evil" }, gcc = { "gcc -wrapper evil x.c", "gcc -B. x.c", "gcc -fplugin=x.so x.c", "gcc -specs=x x.c" },
  docker = { "docker run evil" }, sudo = { "sudo evil" }, busybox = { "busybox sh" }, vim = { "vim -c !evil", "vim x" }, less = { "less x" }, man = { "man -Pevil x" }, watch = { "watch evil" }, strace = { "strace evil" }, script = { "script -c evil" },
  flock = { "flock x evil" }, setsid = { "setsid evil" }, sort = { "sort --compress-program=evil x" }, split = { "split --filter=evil x" }, zip = { "zip x y -TT evil", "zip -T x y" }, wget = { "wget --use-askpass=evil h", "wget -e x=y h" },
  sqlite3 = { "sqlite3 x '.shell evil'" }, psql = { "psql -c evil" }, cmake = { "cmake -E env evil", "cmake -P evil", "cmake -DCMAKE_C_COMPILER=evil ." }, ctest = { "ctest -S evil" }, pytest = { "pytest -p evil", "pytest -c evil", "pytest --rootdir=evil" },
  npx = { "npx evil" }, bundle = { "bundle exec evil" }, java = { "java -jar evil.jar", "java -cp . Evil" }, rg = { "rg --pre=evil x", "rg --pre evil x" }, fd = { "fd -x evil", "fd --exec evil" }, mvn = { "mvn -Dx=y exec", "mvn -f evil" },
}
for program, list in pairs(commands) do
  for _, command in ipairs(list) do refused(command, shell, { command = command }, ("execute_command(%s *)=allow"):format(program)) end
end
for _, one in ipairs { { "g*", "gdb x" }, { "*", "a", true }, { "git*", "git-evil" }, { "git*", "gitk" }, { "*status", "evil status" }, { "?it *", "git status" }, { "git -C *", "git -C x status" }, { "git -c *", "git -c a=b x" }, { "sh -c *", "sh -c evil" } } do
  if not one[3] then refused(one[2], shell, { command = one[2] }, ("execute_command(%s)=allow"):format(one[1])) end
end
for _, command in ipairs { "git push", "git  push", "git -c a=b push", "'git' push", "g\\it push", "env git push", "A=1 git push", "true && git push", "sh -c 'git push'", "x; (git push)", "timeout 9 git push", "git --no-pager push" } do
  refused(command, shell, { command = command }, "allow", "execute_command(git push*)=deny")
end

-- ---- Places ---------------------------------------------------------------------------------------------------------

for _, path in ipairs { ".git/config", ".git", "a/.git/hooks/x", ".GIT/config", "sub/.vscode/tasks.json", ".bashrc", ".ssh/authorized_keys", ".envrc", "x/.mcp.json", ".claude/settings.json", ".config/fish/config.fish",
  "agents/new.md", "agents", "AGENTS/x.md", "main.lua", "MAIN.LUA", "bare/HEAD", "HEAD", ".idea/workspace.xml", ".npmrc", ".gdbinit", "a/b/.husky/pre-commit" } do
  for _, rule in ipairs { "write_file=allow", "write_file(*)=allow", ("write_file(%s)=allow"):format(path), ("write_file(path=%s*)=allow"):format(path) } do
    refused(path, write, { path = path }, "allow", rule)
  end
end

-- What no tool writes, whatever is allowed; and what asks, unless a rule names the path.
for _, name in ipairs { ".git/hooks/pre-commit", ".gitconfig", ".git-credentials", ".hg/hgrc", ".hgrc", ".netrc", ".ssh/config", ".gnupg/gpg.conf", ".kube/config", ".aws/credentials", ".azure/x",
  ".pgpass", ".my.cnf", ".boto", ".terraformrc", ".config/gh/hosts.yml", ".config/gcloud/x", ".profile", ".bashrc", ".zshrc", ".zshenv", ".envrc", ".xinitrc", ".config/systemd/user/x.service",
  ".config/autostart/x.desktop", ".npmrc", ".pypirc", ".yarnrc.yml", ".cargo/config.toml", ".mvn/jvm.config", ".m2/settings.xml", ".gem/credentials", ".gemrc", ".condarc", ".pip/pip.conf",
  ".config/pip/pip.conf", ".pre-commit-config.yaml", ".lefthook.yml", ".mise.toml", ".ansible.cfg", ".vscode/tasks.json", ".idea/x", ".vimrc", ".exrc", ".emacs", ".gdbinit", ".pdbrc", ".ghci",
  ".ocamlinit", ".curlrc", ".wgetrc", ".tmux.conf", ".screenrc", ".psqlrc", ".sqliterc", ".claude/settings.json", ".mcp.json" } do
  for _, path in ipairs { name, "sub/" .. name } do refused(path, write, { path = path }, "allow", ("write_file(path=%s)=allow"):format(path)) end
end
for _, name in ipairs { ".github/workflows/ci.yml", ".gitlab-ci.yml", ".circleci/config.yml", ".travis.yml", ".drone.yml", ".buildkite/pipeline.yml", ".woodpecker.yml", "appveyor.yml",
  "azure-pipelines.yml", "bitbucket-pipelines.yml", "cloudbuild.yaml", "Jenkinsfile", "lefthook.yml", ".tool-versions", "mise.toml", ".bundle/config", ".docker/config.json", "sitecustomize.py",
  "usercustomize.py", "x.pth", "x.code-workspace", "gradle.properties", "gradle/wrapper/gradle-wrapper.properties", "pip.conf", ".env", ".env.local", "id_rsa", "server.pem", "credentials", "secrets.yaml" } do
  for _, path in ipairs { name, "sub/" .. name } do
    refused(path, write, { path = path }, "allow", "write_file=allow", "write_file(*)=allow")
    class:try(path .. ", named by a rule", function()
      if not is_allowed(write, { path = path }, ("write_file(path=%s)=allow"):format(path)) then return "the rule was not heeded" end
    end)
  end
end

-- ---- Addresses --------------------------------------------------------------------------------------------------------

local allow = "web_fetch(http*://*.docs.example.org/*)=allow"
for _, url in ipairs { "http://evil/?x=.docs.example.org/", "https://evil/.docs.example.org/", "https://evil#.docs.example.org/", "https://evil\\.docs.example.org/", "https://evil\\@a.docs.example.org/", "https://a.docs.example.org@evil/", "https://a@b.docs.example.org/",
  "https://docs.example.org/", "https://xdocs.example.org/", "https://a.docs.example.org.evil/", "https://a.docs.example.org:8443/", "http://a.docs.example.org:443/", "ftp://a.docs.example.org/", "https://a.docs.example.org\0.evil/", "https://evil\0.docs.example.org/",
  "https://evil\n.docs.example.org/", "https://evil .docs.example.org/", "https://evil%00.docs.example.org/", "https://evil%2f.docs.example.org/", "https://evil%23.docs.example.org/", "https://[::1].docs.example.org/", "https:a.docs.example.org/", "https:///a.docs.example.org/",
  "//a.docs.example.org/", "a.docs.example.org/", "https://", "", "https://evil;.docs.example.org/", "https://evil,.docs.example.org/", "https://evil\u{ff0f}.docs.example.org/", "https://evil\t.docs.example.org/", "https://a.docs.example.org:99999/", "https://a.docs.example.org:evil/", "javascript://a.docs.example.org/" } do
  refused(("%q"):format(url), fetch, { url = url }, "deny", allow)
end
for _, url in ipairs { "https://h/docs/../admin", "https://h/docs/%2e%2e/admin", "https://h/docs/..%2fadmin", "https://h/docs/%2E%2E%2Fadmin", "https://h/docs/..\\admin", "https://h/docs/.%2e/admin", "https://h/docs/..%5cadmin", "https://h/docsx/", "https://h/?/docs/", "https://h//docs/", "https://h/docs" } do
  refused(url, fetch, { url = url }, "deny", "web_fetch(https://h/docs/*)=allow")
end
for _, glob in ipairs { "*.example.org/*", "*example.org*", "https:*", "http*", "*/*", "*:*" } do
  refused("https://a.example.org/", fetch, { url = "https://a.example.org/" }, "deny", ("web_fetch(%s)=allow"):format(glob))
end
for _, url in ipairs { "https://evil.org/", "https://EVIL.org/", "https://evil.org./", "https://evil.org:8443/x", "http://evil.org" } do
  refused(url, fetch, { url = url }, "allow", "web_fetch(evil.org)=deny")
end

return class:finish()
