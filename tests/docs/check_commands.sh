#!/bin/sh
# docs/reference/commands.md names every command, every option and every exit code that the program has.
#   check_commands.sh HOCKET SOURCE_DIR
set -u
hocket=$1
page=$2/docs/reference/commands.md
failed=0

lacks() {
    echo "docs/reference/commands.md lacks $1" >&2
    failed=1
}

commands=$("$hocket" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ -n "$commands" ] || lacks "any command: 'hocket --help' lists none"
for command in $commands; do
    grep -q "^## \`hocket $command" "$page" || lacks "the command '$command'"
    for option in $("$hocket" "$command" --help | grep -oE '^ +(-[a-zA-Z], )?--[a-z-]+' | grep -oE -- '--.*'); do
        [ "$option" = --help ] || sed -n "/^## \`hocket $command/,/^## /p" "$page" | grep -q -- "$option" ||
            lacks "'hocket $command $option'"
    done
done
for code in $("$hocket" --help | sed -n '/^exit codes:/,$s/^  \([0-9][0-9]*\) .*/\1/p'); do
    grep -q "^| $code |" "$page" || lacks "the exit code $code"
done
exit $failed
