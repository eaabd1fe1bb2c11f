#!/bin/sh
# Writes SHA256SUMS of the files of a release, and SHA256SUMS.sig where HOCKET_SIGNING_KEY names a private key (PEM).
#   sums.sh OUT_DIR
set -eu
key=${HOCKET_SIGNING_KEY:-}
[ -z "$key" ] || key=$(readlink -f "$key")
cd "$1"
rm -f SHA256SUMS SHA256SUMS.sig
sums=$(find . -type f | sed 's|^\./||' | LC_ALL=C sort | xargs sha256sum)
echo "$sums" >SHA256SUMS
[ -z "$key" ] || openssl dgst -sha256 -sign "$key" -out SHA256SUMS.sig SHA256SUMS
