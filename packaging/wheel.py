#!/usr/bin/env python3
"""Makes a wheel of the program and hocket.py. Equal input makes equal bytes.

    wheel.py PROGRAM PLATFORM OUT_DIR [VERSION [DOC_DIR]]

PLATFORM is a tag of wheels, as in linux_x86_64. A static program runs with every C library:
manylinux_2_17_x86_64.musllinux_1_1_x86_64. VERSION is that of a program which does not run here. DOC_DIR has the licences
and the SPDX document of what is linked into a static program (parts.py).
"""

import base64
import hashlib
import os
import re
import subprocess
import sys
import time
import zipfile

here = os.path.dirname(os.path.abspath(__file__))

METADATA = """Metadata-Version: 2.1
Name: hocket
Version: {version}
Summary: A runtime for teams of LLM agents
Home-page: https://hocket.example
License: MIT
Requires-Python: >=3.8
Description-Content-Type: text/markdown

The program `hocket`, and a module without dependencies that runs it: `hocket.run`, `hocket.stream` and `@hocket.tool`.
"""

WHEEL = "Wheel-Version: 1.0\nGenerator: hocket wheel.py\nRoot-Is-Purelib: false\n"


def read(path):
    with open(path, "rb") as file:
        return file.read()


def contents(program, platform, said, doc):
    """Name, bytes and mode of each file but the list of them."""
    module = read(os.path.join(here, "python", "hocket.py"))
    version = re.search(rb'^__version__ = "(.*)"', module, re.M).group(1).decode()
    said = said or subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    if said != version:
        raise SystemExit(f"wheel: the program is {said}, and hocket.py {version}")
    info = f"hocket-{version}.dist-info"
    tags = "".join(f"Tag: py3-none-{tag}\n" for tag in platform.split("."))
    yield "hocket.py", module, 0o644
    yield f"hocket-{version}.data/scripts/hocket", read(program), 0o755
    yield f"{info}/LICENSE", read(os.path.join(here, "..", "LICENSE")), 0o644
    if doc:
        yield f"{info}/THIRD-PARTY.txt", read(os.path.join(doc, "THIRD-PARTY.txt")), 0o644
        yield f"{info}/sboms/hocket.spdx.json", read(os.path.join(doc, "hocket.spdx.json")), 0o644
    yield f"{info}/METADATA", METADATA.format(version=version).encode(), 0o644
    yield f"{info}/WHEEL", (WHEEL + tags).encode(), 0o644


def record(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def main(program, platform, out, version=None, doc=None):
    files = list(contents(program, platform, version, doc))
    info = files[-1][0].split("/")[0]
    lines = "".join(record(name, data) for name, data, _ in files) + f"{info}/RECORD,,\n"
    files.append((f"{info}/RECORD", lines.encode(), 0o644))
    date = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315532800))[:6]  # a ZIP begins with 1980
    os.makedirs(out, exist_ok=True)
    path = os.path.join(out, f"{info[: -len('.dist-info')]}-py3-none-{platform}.whl")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, data, mode in files:
            entry = zipfile.ZipInfo(name, date)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
    print(path)


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5, 6):
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
