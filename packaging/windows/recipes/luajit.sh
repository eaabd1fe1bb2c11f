# lua51.dll and luajit.exe, as engines have them.
cp -r "$(echo "$CRATES"/luajit-src-*/luajit2)/." .
make HOST_CC=gcc CROSS=x86_64-w64-mingw32- TARGET_SYS=Windows BUILDMODE=dynamic
