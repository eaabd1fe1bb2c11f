#!/bin/sh
# The OCI images: two are equal byte by byte, each blob is what its name says, the layers are those of the configuration; and
# where the static program was built, it runs in what the image unpacks to, as the image's user.
#   image.sh SOURCE_DIR PROGRAM STATIC_PROGRAM DIST_DIR
set -eu
source=$1 program=$2 static=$3 dist=$4
command -v python3 >/dev/null || exit 77
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT INT TERM
cd "$tmp"

fail() {
    echo "image: $1" >&2
    exit 1
}

[ ! -x "$static" ] || program=$static
echo certificates >certificates
python3 "$source/packaging/image.py" "$program" x86_64 1.2.3 certificates one.tar
python3 "$source/packaging/image.py" "$program" x86_64 1.2.3 certificates two.tar
cmp one.tar two.tar || fail "two images of one program differ"
# With a layer below.
mkdir base && echo below >base/below && tar -cf base.tar -C base .
python3 "$source/packaging/image.py" "$program" arm64 1.2.3 certificates slim.tar "" base.tar
mkdir layout slim && tar -xf slim.tar -C slim
python3 - <<'END' || fail "the image with two layers does not hold together"
import gzip, hashlib, io, json, tarfile
def blob(d): return open("slim/blobs/" + d["digest"].replace(":", "/"), "rb").read()
[named] = json.load(open("slim/index.json"))["manifests"]
assert named["annotations"]["io.containerd.image.name"] == "localhost/hocket:1.2.3-slim"
manifest = json.loads(blob(named))
config = json.loads(blob(manifest["config"]))
contents = [gzip.decompress(blob(d)) for d in manifest["layers"]]
assert config["architecture"] == "arm64" and len(contents) == len(config["history"]) == 2
assert config["rootfs"]["diff_ids"] == ["sha256:" + hashlib.sha256(c).hexdigest() for c in contents]
assert "./below" in tarfile.open(fileobj=io.BytesIO(contents[0])).getnames()
assert "usr/bin/hocket" in tarfile.open(fileobj=io.BytesIO(contents[1])).getnames()
END
tar -xf one.tar -C layout
[ "$(cat layout/oci-layout)" = '{"imageLayoutVersion":"1.0.0"}' ] || fail "oci-layout is wrong"
for blob in layout/blobs/sha256/*; do
    [ "$(sha256sum "$blob" | cut -d ' ' -f 1)" = "${blob##*/}" ] || fail "$blob is another one"
done
python3 - <<'END' || fail "the manifest does not hold together"
import gzip, hashlib, json
def blob(d): return open("layout/blobs/" + d["digest"].replace(":", "/"), "rb").read()
[named] = json.load(open("layout/index.json"))["manifests"]
assert named["annotations"]["io.containerd.image.name"] == "localhost/hocket:1.2.3"
manifest = json.loads(blob(named))
config = json.loads(blob(manifest["config"]))
for d in [named, manifest["config"], *manifest["layers"]]:
    assert len(blob(d)) == d["size"]
assert config["architecture"] == "amd64" and config["config"]["User"] == "1000:1000"
content = gzip.decompress(blob(manifest["layers"][0]))
assert config["rootfs"]["diff_ids"] == ["sha256:" + hashlib.sha256(content).hexdigest()]
open("layer.tar", "wb").write(content)
END
mkdir root
tar -xpf layer.tar -C root 2>/dev/null || tar -xf layer.tar -C root --no-same-owner
[ "$(cat root/etc/ssl/certs/ca-certificates.crt)" = certificates ] || fail "the certificates are not there"
cmp root/usr/bin/hocket "$program" || fail "the program is another one"
if [ -x "$static" ] && [ "$(id -u)" = 0 ]; then
    inside() { env -i HOME=/home/hocket PATH=/usr/bin /usr/sbin/chroot --userspec=1000:1000 root /usr/bin/hocket "$@"; }
    inside new trip2 >said 2>&1 && fail "it could write outside of its home"
    inside new /home/hocket/trip >said 2>&1 || fail "hocket new: $(cat said)"
    inside run --model sim --trust --quiet /home/hocket/trip "Plan a picnic" >said 2>&1 || fail "hocket run: $(cat said)"
    inside runs >said 2>&1 && grep -q trip said || fail "the run was not kept: $(cat said)"
fi

# ---- The slim image of a release ------------------------------------------------------------------------
slim=$(echo "$dist"/hocket-*-linux-"$(uname -m)"-slim.oci.tar)
if [ -f "$slim" ] && [ "$(id -u)" = 0 ]; then
    mkdir released root2
    tar -xf "$slim" -C released
    python3 - <<'END' >layers
import json
blob = lambda d: "released/blobs/" + d["digest"].replace(":", "/")
[named] = json.load(open("released/index.json"))["manifests"]
print("\n".join(blob(d) for d in json.load(open(blob(named)))["layers"]))
END
    while read -r blob; do tar -xpzf "$blob" -C root2 --keep-directory-symlink; done <layers
    [ "$(wc -l <layers)" = 2 ] || fail "the slim image has $(wc -l <layers) layers"
    grep -q '^Version: ' root2/var/lib/dpkg/status.d/libc6 || fail "scanners cannot see which packages are in the slim image"
    inside() { env -i HOME=/home/hocket PATH=/usr/bin /usr/sbin/chroot --userspec=1000:1000 root2 "$@"; }
    inside /usr/bin/bwrap --version >said 2>&1 || fail "bubblewrap does not start: $(cat said)"
    inside /bin/sh -c 'echo word | grep word | sed s/o/0/ | cut -c 1-2' >said 2>&1 && [ "$(cat said)" = w0 ] || fail "its programs do not run: $(cat said)"
    inside /usr/bin/hocket run --model sim --quiet --store off assistant Hello >said 2>&1 || fail "hocket run in the slim image: $(cat said)"
else
    echo "image: there is no slim image in $dist, or this is not root: not tried"
fi
echo "image: well"
