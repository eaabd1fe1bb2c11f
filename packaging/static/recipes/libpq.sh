# As the crate's build.rs does it: its lists of files are read, so that a newer crate needs no change here.
. "$HELPERS"
list() { awk -v head="^const $1:" '$0 ~ head { on = 1 } on { print } on && /];/ { exit }' "$SOURCE/build.rs" | grep -o '"[^"]*[.]c"' | tr -d '"' | sed "s|^|$SOURCE/source/src/$2/|"; }
version=$(sed -n 's/^version = "[^+]*+libpq-\(.*\)"/\1/p' "$SOURCE/Cargo.toml" | head -n 1)
major=${version%%.*} minor=${version#*.}
cp "$SOURCE/source/src/include/port/linux.h" pg_config_os.h
FLAGS="-w -I$SOURCE/source/src/port -I$SOURCE/source/src/include -I$SOURCE/additional_include -I. -I$ROOT/include -D_GNU_SOURCE -DFRONTEND \
    -DSTRERROR_R_INT -DHAVE_TERMIOS_H -DUSE_OPENSSL=1 -DHAVE_STRCHRNUL -DHAVE_STRSIGNAL -DPG_VERSION=\"$version\" -DPG_MAJORVERSION=\"$major\" \
    -DPG_VERSION_NUM=$major$(printf %04d "$minor") -DPG_MAJORVERSION_NUM=$major -DPG_MINORVERSION_NUM=$minor -DPG_VERSION_STR=\"PostgreSQL\""
export FLAGS
# shellcheck disable=SC2046
archive pq $(list LIBPORTS_BASE port; list LIBPORTS_LINUX port; list LIBCOMMON_BASE common; list LIBCOMMON_OPENSSL common
    list LIBPQ_BASE interfaces/libpq; list LIBPQ_OPENSSL interfaces/libpq)
cp "$SOURCE/source/src/interfaces/libpq/libpq-fe.h" "$SOURCE/source/src/interfaces/libpq/libpq-events.h" \
    "$SOURCE/source/src/include/postgres_ext.h" "$SOURCE/additional_include/pg_config_ext.h" "$ROOT/include/"
pkg_config libpq "$version" -lpq openssl
