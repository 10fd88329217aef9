#!/usr/bin/env python3
"""What packages contain, as SPDX 2.3 in JSON.

    sbom.py wheel WHEEL ARCHIVES   adds to a wheel: an SBOM with the libraries whose archives it was linked with, and their licences
    sbom.py release FOLDER         prints the SBOM of all packages in a folder

ARCHIVES is the file that cc.sh wrote. SOURCE_DATE_EPOCH is the time of both.
"""
import base64
import datetime
import email
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import uuid
import zipfile

OWN = "GPL-3.0-or-later AND MIT"
# By source package of Debian: the licence of what is linked. One that is not here is an error.
LICENCES = {
    "bzip2": "bzip2-1.0.6", "c-blosc": "BSD-3-Clause", "gcc-12": "GPL-3.0-or-later WITH GCC-exception-3.1", "gsl": "GPL-3.0-or-later",
    "jansson": "MIT", "libarchive": "BSD-2-Clause", "libjpeg-turbo": "IJG AND BSD-3-Clause", "liburing": "LGPL-2.1-or-later OR MIT",
    "libpng1.6": "libpng-2.0", "libwebp": "BSD-3-Clause", "libzstd": "BSD-3-Clause", "lmdb": "OLDAP-2.8", "lz4": "BSD-2-Clause",
    "snappy": "BSD-3-Clause", "sqlite3": "blessing", "xz-utils": "LicenseRef-public-domain", "zlib": "Zlib",
}
# What zig brings: its archive, the licence, and the file of the licence in its folder.
OF_ZIG = {
    "libunwind.a": ("libunwind", "Apache-2.0 WITH LLVM-exception", "lib/libunwind/LICENSE.TXT"),
    "libc_nonshared.a": ("glibc-start-files", "LGPL-2.1-or-later", "lib/libc/glibc/LICENSES"),
}
PUBLIC_DOMAIN = {"licenseId": "LicenseRef-public-domain", "extractedText": "liblzma is in the public domain.", "name": "Public domain"}
EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", 0))


def said(*words):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True).stdout.strip()


def part(name, version, licence, **more):
    """A package of SPDX."""
    identity = re.sub(r"[^A-Za-z0-9.-]", "-", f"SPDXRef-{name}")
    return {"SPDXID": identity, "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION", "licenseDeclared": licence, "copyrightText": "NOASSERTION", **more}


def purl(text):
    return [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": text}]


def find_library(archive):
    """(package of SPDX, text of its licence) of the library in `archive`."""
    if archive.name in OF_ZIG:
        name, licence, text = OF_ZIG[archive.name]
        version = importlib.metadata.version("ziglang")
        place = pathlib.Path(importlib.util.find_spec("ziglang").origin).parent
        return part(name, version, licence, comment=f"from ziglang {version}"), (place / text).read_bytes()
    package = said("dpkg", "-S", archive.resolve()).partition(":")[0]
    source, version, architecture = said("dpkg-query", "-W", "-f", "${source:Package} ${source:Version} ${Architecture}\n", package).split("\n")[0].split()
    if source not in LICENCES:
        sys.exit(f"packaging/sbom.py: the licence of {source}, of which {archive} is a part, is unknown: add it to LICENCES")
    found = part(source, version, LICENCES[source], externalRefs=purl(f"pkg:deb/debian/{package}@{version}?arch={architecture}"))
    return found, pathlib.Path(f"/usr/share/doc/{package}/copyright").read_bytes()


def document(name, parts, relations):
    licences = [PUBLIC_DOMAIN] if any("LicenseRef-" in one["licenseDeclared"] for one in parts) else []
    body = {"packages": parts, "relationships": relations, **({"hasExtractedLicensingInfos": licences} if licences else {})}
    identity = uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(body))
    created = datetime.datetime.fromtimestamp(EPOCH, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    head = {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name, "documentNamespace": f"urn:uuid:{identity}",
            "creationInfo": {"created": created, "creators": ["Tool: rue packaging/sbom.py"]}}
    return json.dumps({**head, **body}, indent=1) + "\n"


def relate(one, kind, other):
    return {"spdxElementId": one["SPDXID"] if isinstance(one, dict) else one, "relationshipType": kind, "relatedSpdxElement": other["SPDXID"]}


def metadata(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return email.message_from_bytes(archive.read(next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))))


def complete_wheel(wheel, archives):
    """Writes the wheel again, with licences and SBOM, and with the same times everywhere."""
    found = {}
    for path in sorted(set(pathlib.Path(archives).read_text().split())):
        library, text = find_library(pathlib.Path(path))
        found[library["name"]] = library, text
    about = metadata(wheel)
    own = part(about["Name"], about["Version"], OWN)
    libraries = [library for library, _ in found.values()]
    relations = [relate("SPDXRef-DOCUMENT", "DESCRIBES", own), *(relate(own, "STATIC_LINK", library) for library in libraries)]
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
        modes = {one.filename: one.external_attr for one in archive.infolist()}
    record = next(name for name in files if name.endswith(".dist-info/RECORD"))
    info = record.rpartition("/")[0]
    files[f"{info}/sboms/rue.spdx.json"] = document(f"{own['name']}-{own['versionInfo']}", [own, *libraries], relations).encode()
    files.update({f"{info}/licenses/libraries/{name}.txt": text for name, (_, text) in found.items()})
    del files[record]
    rows = [f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b'=').decode()},{len(text)}" for name, text in files.items()]
    files[record] = "\n".join([*rows, f"{record},,\n"]).encode()
    moment = datetime.datetime.fromtimestamp(max(EPOCH, 315532800), datetime.timezone.utc).timetuple()[:6]  # a zip begins in 1980
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            entry = zipfile.ZipInfo(name, moment)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, modes.get(name, 0o100644 << 16)
            archive.writestr(entry, text)


def of_file(path, name, version, licence, url):
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return part(name, version, licence, packageFileName=path.name, checksums=[{"algorithm": "SHA256", "checksumValue": digest}], externalRefs=purl(url))


def of_debian(path):
    """(package of SPDX, the packages that it depends on)"""
    name, version, architecture, depends = (said("dpkg-deb", "-f", path, field) for field in ("Package", "Version", "Architecture", "Depends"))
    own = of_file(path, f"{name}.deb", version, OWN if name == "rue" else "MIT", f"pkg:deb/debian/{name}@{version}?arch={architecture}")
    needed = re.findall(r"([^ ,]+)(?: \(([^)]*)\))?", depends)
    return own, [part(other, condition or "any", "NOASSERTION", externalRefs=purl(f"pkg:deb/debian/{other}")) for other, condition in needed]


def print_release(folder):
    parts, relations = {}, []

    def add(own, kind=None, others=()):
        for one in (own, *others):
            parts.setdefault(one["SPDXID"], one)
        relations.append(relate("SPDXRef-DOCUMENT", "DESCRIBES", own))
        relations.extend(relate(own, kind, other) for other in others)
    (wheel,), (sdist,) = (list(folder.glob(pattern)) for pattern in ("*.whl", "*.tar.gz"))
    about = metadata(wheel)
    version, url = about["Version"], f"pkg:pypi/{about['Name']}@{about['Version']}"
    with zipfile.ZipFile(wheel) as archive:
        inner = json.loads(archive.read(next(name for name in archive.namelist() if name.endswith("/sboms/rue.spdx.json"))))
    add(of_file(wheel, f"{about['Name']}.whl", version, OWN, url), "STATIC_LINK", inner["packages"][1:])
    add(of_file(sdist, f"{about['Name']}.tar.gz", version, "MIT", url))
    for path in sorted(folder.glob("*.deb")):
        own, others = of_debian(path)
        add(own, "DEPENDS_ON", others)
    sys.stdout.write(document(f"rue-{version}", list(parts.values()), relations))


if __name__ == "__main__":
    if sys.argv[1:2] == ["wheel"] and len(sys.argv) == 4:
        complete_wheel(*sys.argv[2:])
    elif sys.argv[1:2] == ["release"] and len(sys.argv) == 3:
        print_release(pathlib.Path(sys.argv[2]))
    else:
        sys.exit(__doc__)
