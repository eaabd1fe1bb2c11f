--- What a command leaves in the project that programs outside would obey without being asked: it does
--- not stay, wherever it is and however it came there.
local attack = require "attack"
local fs = require "hocket.fs"
local process = require "hocket.process"
local sandbox = require "hocket.internal.tools.sandbox"

local class = attack.class "leftovers"

local names = { ".git", ".GIT", ".gitconfig", ".gitmodules", ".githooks", ".husky", ".ssh", ".netrc", ".bashrc", ".profile", ".zshenv", ".envrc", ".npmrc",
  ".yarnrc.yml", ".pypirc", ".vscode", ".VSCode", ".idea", ".zed", ".devcontainer", ".vimrc", ".exrc", ".nvim.lua", ".dir-locals.el", ".gdbinit", ".lldbinit",
  ".pdbrc", ".Rprofile", ".irbrc", ".mcp.json", ".claude", ".cursor", ".cursorrules", ".codex", ".gemini", ".config/fish", ".config/git", ".config/systemd" }

-- How it is made; %s is the name.
local ways = {
  "mkdir -p %s", "mkdir -p $(dirname sub/%s) && echo x > sub/%s", "mkdir -p a/b/$(dirname %s) && ln -s /etc a/b/%s", "mkdir -p n/$(dirname %s) && echo x > x && mv x n/%s",
  "mkdir -p $(dirname %s) && echo x > x && ln x %s", "mkdir -p $(dirname d/%s) && mkfifo d/%s", "mkdir -p l && ln -s l link && mkdir -p link/%s",
  "mkdir -p t/u/%s && mv t moved", "mkdir -p c/%s && chmod 000 c", "(setsid sh -c 'sleep 0.2; mkdir -p %s' &) ; sleep 0.6",
}

local repositories = {
  ["a bare repository"] = "git init -q --bare x", ["by hand"] = "mkdir -p x/objects x/refs; echo 'ref: refs/heads/m' > x/HEAD; echo '[core] fsmonitor=evil' > x/config",
  ["by a common folder"] = "git init -q --bare y; mkdir x; cp y/HEAD x; echo ../y > x/commondir", ["the project itself"] = "git init -q --bare y; mv y/* .",
  ["inside of one that is set aside"] = "git init -q x; mkdir -p x/.git/sub; git init -q --bare x/.git/sub/y", ["a worktree's file"] = "mkdir x; echo 'gitdir: ../y' > x/.git; git init -q --bare y",
  ["moved into place"] = "mkdir x; git init -q --bare x/y; mv x/y/HEAD H; mv H x/y/HEAD", ["behind many folders"] = "d=x; for i in $(seq 60); do d=$d/d; done; mkdir -p $d; cd $d; git init -q --bare y",
  ["after a clone"] = "git init -q --bare y; git clone -q y x", ["in a fetched folder"] = "mkdir -p node_modules/p; git init -q node_modules/p",
  ["named as what is set aside"] = "git init -q --bare HEAD.refused; git init -q .git.refused; git init -q x", ["while it goes on"] = "git init -q x; sleep 1",
}

local existing = {
  ["the configuration"] = "echo evil >> .git/config", ["a hook"] = "echo evil > .git/hooks/pre-commit", ["by a move"] = "mv .git g; cp -r g .git; echo evil > .git/config",
  ["nested"] = "echo evil >> sub/.git/config", ["nested, by a move"] = "mv sub s2; mkdir -p sub/.git; echo evil > sub/.git/config", ["an editor's tasks"] = "echo evil > app/.vscode/tasks.json",
  ["an editor's folder"] = "rm -rf app/.vscode; mkdir app/.vscode; echo evil > app/.vscode/tasks.json", ["a bare repository"] = "echo evil >> bare.git/config", ["hooks elsewhere"] = "echo evil > tools/hooks/pre-commit",
  ["an included file"] = "echo evil > own.conf", ["by a link"] = "ln -s .git l; echo evil >> l/config", ["by a hard link"] = "ln .git/config h && echo evil >> h",
  ["by truncating"] = "truncate -s 0 .git/config; echo evil > .git/config", ["by sed"] = "sed -i 's/core/evil/' .git/config", ["by git"] = "git config core.fsmonitor evil", ["by cp"] = "echo evil > e; cp e .git/config",
  ["of a submodule"] = "echo evil > .gitmodules", ["an environment"] = "echo evil > .envrc", ["by an umount"] = "umount -l .git; echo evil >> .git/config", ["by a worktree"] = "git worktree add -q evil",
}

local function run(level, dir, command)
  local project = dir.path .. "/project"
  return assert(process.run {
    argv = { "/bin/sh", "-c", command }, env = { "PATH=/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM=1" }, cwd = project, writable = { project }, protect = project,
    guarded = { project .. "/.git", project .. "/tools/hooks", project .. "/own.conf", project .. "/main.lua" }, sandbox = level, timeout = 20,
  })
end

-- Names that are obeyed, and folders that are repositories, below the project.
local function obeyed(dir)
  local pipe = assert(io.popen(("chmod -R u+rwX '%s/project' 2>/dev/null; cd '%s/project' && find . -mindepth 1"):format(dir.path, dir.path)))
  local found = {}
  for path in pipe:lines() do
    local lower, parent, name = path:lower(), path:match "^(.*)/([^/]*)$"
    for _, one in ipairs(names) do
      if lower:sub(-#one - 1) == "/" .. one:lower() and (one == ".git" or not path:find "node_modules/") then found[#found + 1] = path end
    end
    local function there(what) return fs.info(("%s/project/%s/%s"):format(dir.path, parent, what)) end
    if name == "HEAD" and (there "commondir" or there "objects" and there "refs") then found[#found + 1] = path end
  end
  pipe:close()
  return table.concat(found, " ")
end

local function try_level(level)
  for i, name in ipairs(names) do
    local way = ways[i % #ways + 1]
    class:try(("%s: %s"):format(level, (way:gsub("%%s", name))), function(dir)
      dir:write("project/a.txt", "x")
      run(level, dir, (way:gsub("%%s", name)))
      local found = obeyed(dir)
      if found ~= "" then return found end
    end)
  end
  for what, command in pairs(repositories) do
    class:try(("%s: a repository, %s"):format(level, what), function(dir)
      dir:write("project/a.txt", "x")
      run(level, dir, command)
      local found = obeyed(dir)
      if found ~= "" then return found end
    end)
  end
  for what, command in pairs(existing) do
    class:try(("%s: what is there, %s"):format(level, what), function(dir)
      local path = dir.path .. "/project"
      dir:write("project/tools/hooks/x", "x")
      dir:write("project/own.conf", "")
      dir:write("project/app/.vscode/tasks.json", "{}")
      dir:write("project/.envrc", "x")
      dir:write("project/.gitmodules", "")
      os.execute(("cd '%s' && git init -q . && git init -q sub && git init -q --bare bare.git && git -c user.name=a -c user.email=b commit -q --allow-empty -m x"):format(path))
      run(level, dir, command)
      local pipe = assert(io.popen(("cd '%s' && cat .git/config .git/hooks/pre-commit sub/.git/config bare.git/config tools/hooks/* own.conf app/.vscode/* .envrc .gitmodules 2>/dev/null; ls .git/worktrees 2>/dev/null"):format(path)))
      local text = pipe:read "a"
      pipe:close()
      if text:find "evil" then return text end
      for _, kept in ipairs { ".git/config", "sub/.git/config", "bare.git/config", "tools/hooks/x", "app/.vscode/tasks.json" } do
        if not fs.info(path .. "/" .. kept) then return kept .. " is gone" end
      end
    end)
  end
  class:try(level .. ": a script that the next run begins with", function(dir)
    dir:write("project/a.txt", "x")
    run(level, dir, "echo 'os.execute \"evil\"' > main.lua")
    if fs.info(dir.path .. "/project/main.lua") then return "main.lua stayed" end
  end)
end

for _, level in ipairs(sandbox.levels()) do
  if level.works and not level.unguarded then try_level(level.name) end
end

return class:finish()
