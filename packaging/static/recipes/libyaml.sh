. "$HELPERS"
v=$(sed -n 's/^set *(YAML_VERSION_\(MAJOR\|MINOR\|PATCH\) *\([0-9]*\).*/\2/p' "$SOURCE/CMakeLists.txt" | tr '\n' ' ')
# shellcheck disable=SC2086
set -- $v
export FLAGS="-I$SOURCE/include -DYAML_DECLARE_STATIC -DYAML_VERSION_MAJOR=$1 -DYAML_VERSION_MINOR=$2 -DYAML_VERSION_PATCH=$3 -DYAML_VERSION_STRING=\"$1.$2.$3\""
archive yaml "$SOURCE"/src/*.c
cp "$SOURCE/include/yaml.h" "$ROOT/include/"
pkg_config yaml-0.1 "$1.$2.$3" -lyaml
