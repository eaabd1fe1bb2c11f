#!/bin/sh
# wine.sh PROGRAM [ARGUMENT…]: runs a program of Windows: here by wine, in the prefix of ./dev windows.
export WINEPREFIX="${HOCKET_WINDOWS_CACHE:-${XDG_CACHE_HOME:-$HOCKET_WINE_HOME/.cache}/hocket/windows}/wine"
export WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml='
exec wine "$@"
