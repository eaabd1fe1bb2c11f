#!/bin/sh
# Lets the programs of a build for another processor run here: each becomes a script that starts it with qemu's user mode, and lies
# beside it as NAME.elf. A program that a later build has linked again is wrapped again.
#   wrap.sh BUILD_DIR EMULATOR…
set -eu
build=$(cd "$1" && pwd)
shift
find "$build" -type f -perm -u+x ! -name '*.elf' ! -name '*.so*' ! -path '*/CMakeFiles/*' | while read -r file; do
    [ "$(head -c 4 "$file" | tail -c 3)" = ELF ] || continue
    mv "$file" "$file.elf"
    printf '#!/bin/sh\nexec %s -0 "$0" "%s" "$@"\n' "$*" "$file.elf" >"$file"
    chmod +x "$file"
done
