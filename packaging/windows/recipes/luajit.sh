# lua51.dll as LuaJIT makes it, in a folder of its own. Its headers serve nobody: the module is that of Lua 5.1.
cp -r "$SOURCE/." .
make -j "$JOBS" -C src HOST_CC=gcc CROSS="$HOST-" TARGET_SYS=Windows BUILDMODE=dynamic
mkdir -p "$ROOT/luajit"
cp src/lua51.dll src/luajit.exe "$ROOT/luajit/"
