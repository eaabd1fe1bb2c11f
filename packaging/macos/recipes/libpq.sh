# The headers alone: the library is loaded when a store in PostgreSQL is opened.
. "$HELPERS"
version=$(sed -n 's/^version = "[^+]*+libpq-\(.*\)"/\1/p' "$SOURCE/Cargo.toml" | head -n 1)
cp "$SOURCE/source/src/interfaces/libpq/libpq-fe.h" "$SOURCE/source/src/interfaces/libpq/libpq-events.h" \
    "$SOURCE/source/src/include/postgres_ext.h" "$SOURCE/additional_include/pg_config_ext.h" "$ROOT/include/"
pkg_config libpq "$version" ""
