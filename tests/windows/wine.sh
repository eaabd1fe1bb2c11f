#!/bin/sh
# wine.sh PROGRAM [ARGUMENT…]: runs a program of Windows: here by wine, in the prefix of ./dev windows. The folder that tests write
# into has a drive, as all folders of Windows. (TMPDIR is wine's own as well, which knows no drive.)
export WINEPREFIX="${HOCKET_WINDOWS_CACHE:-${XDG_CACHE_HOME:-$HOCKET_WINE_HOME/.cache}/hocket/windows}/wine"
export WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml='
export HOCKET_TEST_TMPDIR="Z:${TMPDIR:-/tmp}" HOME="Z:$HOME"
# The share that Windows makes of each drive.
export HOCKET_TEST_SHARE=1
share=$WINEPREFIX/dosdevices/unc/localhost
[ -e "$share/z$" ] || { mkdir -p "$share" && ln -sf ../../../drive_c "$share/c$" && ln -sf / "$share/z$"; }
exec wine "$@"
