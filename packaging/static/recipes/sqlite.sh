. "$HELPERS" # the notes of memories are found by FTS5
export FLAGS="-DSQLITE_THREADSAFE=1 -DSQLITE_ENABLE_FTS5 -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_DQS=0 -DSQLITE_DEFAULT_MEMSTATUS=1"
archive sqlite3 "$SOURCE/sqlite3.c"
cp "$SOURCE/sqlite3.h" "$ROOT/include/"
pkg_config sqlite3 "$(sed -n 's/^#define SQLITE_VERSION *"\([0-9.]*\).*/\1/p' "$SOURCE/sqlite3.h")" -lsqlite3
