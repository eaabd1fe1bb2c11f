#!/usr/bin/env python3
"""Makes an OCI image of the static program from nothing, without a daemon. Equal input makes equal bytes.

    image.py PROGRAM ARCH VERSION CERTIFICATES OUT.tar [DOC_DIR [BASE.tar]]

ARCH is x86_64 or arm64. What is written is an image layout in a tar file: `podman load -i`, `skopeo copy oci-archive:…` and
`docker load` (from Docker 25 on) take it. The program runs as a user of its own, with a home that it may write to. The files of
DOC_DIR, such as licences, come into /usr/share/doc/hocket. BASE.tar is a layer below: programs that tools of agents may run.
"""

import gzip
import hashlib
import io
import json
import os
import sys
import tarfile

USER = 1000
MEDIA = "application/vnd.oci.image."


def add(tar, name, data=None, mode=0o644, owner=0):
    """A file, or a folder where there is no data; the date is 1970."""
    entry = tarfile.TarInfo(name)
    entry.mode, entry.uid, entry.gid = mode, owner, owner
    if data is None:
        entry.type = tarfile.DIRTYPE
        tar.addfile(entry)
    else:
        entry.size = len(data)
        tar.addfile(entry, io.BytesIO(data))


def layer(program, certificates, doc):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for folder in ("etc", "etc/ssl", "etc/ssl/certs", "usr", "usr/bin", "usr/share", "usr/share/doc", "usr/share/doc/hocket", "home"):
            add(tar, folder, mode=0o755)
        add(tar, "tmp", mode=0o1777)
        add(tar, "home/hocket", mode=0o750, owner=USER)
        add(tar, "etc/passwd", f"hocket:x:{USER}:{USER}::/home/hocket:/usr/bin/hocket\n".encode())
        add(tar, "etc/group", f"hocket:x:{USER}:\n".encode())
        add(tar, "etc/ssl/certs/ca-certificates.crt", certificates)
        add(tar, "usr/bin/hocket", program, mode=0o755)
        for name in sorted(os.listdir(doc) if doc else []):
            add(tar, "usr/share/doc/hocket/" + name, read(os.path.join(doc, name)))
    return out.getvalue()


def configuration(arch, version, layers):
    return {
        "architecture": {"x86_64": "amd64"}.get(arch, arch),
        "os": "linux",
        "created": "1970-01-01T00:00:00Z",
        "config": {
            "User": f"{USER}:{USER}",
            "Entrypoint": ["/usr/bin/hocket"],
            "Env": ["PATH=/usr/bin", "HOME=/home/hocket"],
            "WorkingDir": "/home/hocket",
            "Labels": {"org.opencontainers.image.title": "hocket", "org.opencontainers.image.version": version,
                       "org.opencontainers.image.licenses": "MIT"},
        },
        "rootfs": {"type": "layers", "diff_ids": [digest(content) for content in layers]},
        "history": [{"created": "1970-01-01T00:00:00Z", "created_by": "packaging/image.py"} for _ in layers],
    }


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


class Layout:
    def __init__(self):
        self.blobs = {}

    def put(self, kind, data):
        """A blob, and how others refer to it."""
        self.blobs[digest(data)] = data
        return {"mediaType": MEDIA + kind, "digest": digest(data), "size": len(data)}

    def write(self, path, manifest):
        index = {"schemaVersion": 2, "mediaType": MEDIA + "index.v1+json", "manifests": [manifest]}
        with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
            add(tar, "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
            add(tar, "index.json", json.dumps(index).encode())
            add(tar, "blobs", mode=0o755)
            add(tar, "blobs/sha256", mode=0o755)
            for name in sorted(self.blobs):
                add(tar, "blobs/" + name.replace(":", "/"), self.blobs[name])


def read(path):
    with open(path, "rb") as file:
        return file.read()


def main(program, arch, version, certificates, out, doc=None, base=None):
    layers = [read(base)] if base else []
    layers.append(layer(read(program), read(certificates), doc))
    layout = Layout()
    packed = [layout.put("layer.v1.tar+gzip", gzip.compress(content, 9, mtime=0)) for content in layers]
    config = layout.put("config.v1+json", json.dumps(configuration(arch, version, layers)).encode())
    manifest = {"schemaVersion": 2, "mediaType": MEDIA + "manifest.v1+json", "config": config, "layers": packed}
    named = layout.put("manifest.v1+json", json.dumps(manifest).encode())
    tag = version + ("-slim" if base else "")  # podman and docker take the name from the second one
    named["annotations"] = {"org.opencontainers.image.ref.name": tag, "io.containerd.image.name": "localhost/hocket:" + tag}
    layout.write(out, named)


if __name__ == "__main__":
    if len(sys.argv) not in (6, 7, 8):
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
