#!/usr/bin/env python3
"""Writes the licences and the SPDX document of everything that is linked into a static program.

    parts.py BUILD_DIR ARCH CACHE VERSION

The linker's map (BUILD_DIR/hocket.map) says which archives are linked in. An archive without a row in PARTS, or a notice that
cannot be found, is an error: nothing is shipped without its licence. Out come BUILD_DIR/THIRD-PARTY.txt and
BUILD_DIR/hocket.spdx.json. Equal input makes equal bytes.
"""

import datetime
import hashlib
import json
import os
import re
import subprocess
import sys

# Part: its archives, its licence (SPDX), its notices. A notice is a file of the part's source, or FILE#WORDS: the first comment
# there that has these words, or debian:PACKAGE: the copyright file of a package.
PARTS = {
    "cjson": ("libcjson.a", "MIT", ["LICENSE"]),
    "curl": ("libcurl.a", "curl AND ISC", ["COPYING", "LICENSES/ISC.txt"]),
    "libedit": ("libedit.a", "BSD-3-Clause", ["COPYING"]),
    "libgcc": ("libgcc.a libgcc_eh.a", "GPL-3.0-or-later WITH GCC-exception-3.1", ["debian:libgcc"]),
    "libpq": ("libpq.a", "PostgreSQL", ["debian:libpq5"]),
    "libuv": ("libuv.a", "MIT AND BSD-2-Clause AND ISC",
              ["LICENSE", "LICENSE-extra", "include/uv/tree.h#Redistribution", "src/inet.c#Permission to use"]),
    "libxml2": ("libxml2.a", "MIT", ["Copyright", "debian/copyright"]),
    "libyaml": ("libyaml.a", "MIT", ["License"]),
    "lua": ("liblua5.4.a", "MIT", ["lua.h#Permission is hereby granted"]),
    "md4c": ("libmd4c.a", "MIT", ["LICENSE.md"]),
    "musl": ("libc.a", "MIT", ["debian:musl-dev"]),
    "ncurses": ("libtinfo.a libncurses.a", "X11-distribute-modifications-variant", ["COPYING"]),
    "nghttp2": ("libnghttp2.a", "MIT", ["COPYING", "lib/sfparse.c#Permission is hereby granted"]),
    "openssl": ("libssl.a libcrypto.a", "Apache-2.0", ["LICENSE.txt"]),
    "pcre2": ("libpcre2-8.a", "BSD-3-Clause AND BSD-2-Clause",
              ["src/pcre2_compile.c#Redistribution", "deps/sljit/sljit_src/sljitLir.c#Redistribution"]),
    "sqlite": ("libsqlite3.a", "blessing", ["sqlite3.h#disclaims copyright"]),
    "zlib": ("libz.a", "Zlib", ["LICENSE"]),
}
HERE = os.path.dirname(os.path.abspath(__file__))


def fail(text):
    raise SystemExit(f"parts: {text}")


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError as error:
        fail(f"{path}: {error.strerror}")


def linked(build):
    """The names of the parts that the linker took members of, in order."""
    owner = {archive: name for name, (archives, _, _) in PARTS.items() for archive in archives.split()}
    names = set()
    for path in set(re.findall(r"(\S+\.a)\(", read(os.path.join(build, "hocket.map")))):
        archive = os.path.basename(path)
        if archive in owner:
            names.add(owner[archive])
        elif not archive.startswith("libhocket"):
            fail(f"{archive} is linked in, but packaging/parts.py has no row for it")
    return sorted(names) or fail("the linker's map names no archive")


class Sources:
    """What the cache of packaging/static knows of each part."""

    def __init__(self, cache, arch):
        self.cache, self.arch = cache, arch
        lines = (line.split() for line in read(os.path.join(cache, "sources/versions")).splitlines())
        self.versions = {name: (version, origin) for name, version, origin in lines}
        lock = read(os.path.join(HERE, "static/Cargo.lock"))
        crate = re.compile(r'^name = "(.*)"\nversion = "(.*)"\nsource = .*\nchecksum = "(.*)"', re.M)
        self.checksums = {f"{name}-{version}": digest for name, version, digest in crate.findall(lock)}

    def run(self, *command):
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def package(self, name):
        """The package of Debian that has the archives of a part, and the file with its copyright."""
        if name == "musl-dev":
            return name, os.path.join(self.cache, self.arch, "packages/usr/share/doc/musl-dev/copyright")
        if name == "libgcc":
            archive = self.run(os.path.join(self.cache, self.arch, "bin/musl-cc"), "-print-libgcc-file-name")
            name = self.run("dpkg", "-S", os.path.realpath(archive)).split(":")[0]
        return name, f"/usr/share/doc/{name}/copyright"

    def version(self, part):
        """Version and origin: crates.io:CRATE-VERSION or debian:PACKAGE."""
        if part in self.versions:
            return self.versions[part]
        if part == "musl":
            found = [name for name in os.listdir(os.path.join(self.cache, self.arch, "packages")) if name.startswith("musl-dev_")]
            return found[0].split("_")[1], "debian:musl"
        if part == "libgcc":
            package, _ = self.package("libgcc")
            return self.run("dpkg-query", "-W", "-f", "${Version}", package), f"debian:{package}"
        return fail(f"{part} is linked in, and the version is unknown")

    def notice(self, part, notice):
        if notice.startswith("debian:"):
            return read(self.package(notice[7:])[1])
        path, _, words = notice.partition("#")
        text = read(os.path.join(self.cache, "sources", part, path))
        if not words:
            return text
        for comment in re.findall(r"/\*(.*?)\*/", text, re.S):
            if words in comment:
                return re.sub(r"^[ *]*\*+ ?", "", comment, flags=re.M)
        return fail(f"{part}: no comment of {path} has the words '{words}'")


def third_party(names, sources):
    lines = ["This program contains the following parts. Their licences:\n"]
    for name in names:
        version, origin = sources.version(name)
        lines.append(f"\n{'=' * 80}\n{name} {version} ({PARTS[name][1]}), from {origin}\n{'=' * 80}\n")
        lines += ["\n" + sources.notice(name, notice).strip("\n") + "\n" for notice in PARTS[name][2]]
    return "\n".join(line.rstrip() for line in "".join(lines).splitlines()) + "\n"


def package(name, sources):
    version, origin = sources.version(name)
    kind, _, what = origin.partition(":")
    entry = {"name": name, "SPDXID": f"SPDXRef-{name}", "versionInfo": version, "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
             "licenseDeclared": PARTS[name][1], "copyrightText": "NOASSERTION", "primaryPackagePurpose": "LIBRARY"}
    if kind == "crates.io":
        crate = re.match(r"(.*?)-(\d.*)", what)
        entry["downloadLocation"] = f"https://crates.io/api/v1/crates/{crate[1]}/{crate[2]}/download"
        entry["checksums"] = [{"algorithm": "SHA256", "checksumValue": sources.checksums.get(what) or fail(f"{what} is not in Cargo.lock")}]
        locator = f"pkg:cargo/{crate[1]}@{crate[2].replace('+', '%2B')}"
    else:
        entry["downloadLocation"] = "http://deb.debian.org/debian"
        locator = f"pkg:deb/debian/{what}@{version.replace('+', '%2B')}?distro=bookworm"
    entry["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}]
    return entry


def document(names, sources, arch, version):
    program = {"name": "hocket", "SPDXID": "SPDXRef-hocket", "versionInfo": version, "filesAnalyzed": False,
               "downloadLocation": "NOASSERTION", "licenseConcluded": "MIT", "licenseDeclared": "MIT",
               "copyrightText": re.search("Copyright.*", read(os.path.join(HERE, "../LICENSE")))[0], "primaryPackagePurpose": "APPLICATION"}
    relation = lambda one, kind, other: {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
    packages = [program] + [package(name, sources) for name in names]
    title = f"hocket-{version}-linux-{arch}"
    made = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc)
    digest = hashlib.sha256(json.dumps(packages, sort_keys=True).encode()).hexdigest()
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": title,
        "documentNamespace": f"https://hocket.example/spdx/{title}-{digest[:16]}",
        "creationInfo": {"created": made.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: hocket-parts.py"]},
        "packages": packages,
        "relationships": [relation("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-hocket")] +
                         [relation(f"SPDXRef-{name}", "STATIC_LINK", "SPDXRef-hocket") for name in names],
    }


def main(build, arch, cache, version):
    sources = Sources(cache, arch)
    names = linked(build)
    written = {"THIRD-PARTY.txt": third_party(names, sources),
               "hocket.spdx.json": json.dumps(document(names, sources, arch, version), indent=1) + "\n"}
    for name, text in written.items():
        with open(os.path.join(build, name), "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    if len(sys.argv) != 5:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
