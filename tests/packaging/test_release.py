"""Packages of packaging/release.sh, in the folder RUE_PACKAGES: each is installed on a bare system, and does its main job there."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import pytest

from conftest import ROOT, clean_environment

PACKAGES = pathlib.Path(os.environ.get("RUE_PACKAGES", "missing")).resolve()
BARE = ROOT / "build/bare"  # systems by name, which are copied
WAIT_S = 1800
IMAGES = 64
# Tunes, and loads as recommended. An answer that is not decided on a busy machine is one, too.
JOB = f"""set -e
cd "$(mktemp -d)"
rue prepare --synthetic {IMAGES} photos --quiet
rue tune photos --mode raw --model resnet18@h100 --batch-size 4,8 --num-workers 0,1 --strategy grid --budget 5m --quiet --out out || [ $? -eq 5 ]
"""
LOADING = """python3 -c 'import rue_tuner as rue
loader = rue.Loader.from_recommendation("out", output="numpy", strict=False)
print(sum(len(images) for images, labels in loader))'
"""

pytestmark = pytest.mark.skipif(not PACKAGES.exists(), reason="skipped: packages are made and tested by packaging/release.sh --check")


def run(*words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=WAIT_S, **{"env": clean_environment(), **more})
    assert done.returncode == 0, (words, done.stdout[-3000:], done.stderr[-3000:])
    return done.stdout


def one(pattern):
    (path,) = PACKAGES.glob(pattern)
    return path


def report(what, begin, size):
    print(f"\n{what}: {time.monotonic() - begin:.0f} s, {size / 1e6:.1f} MB", file=sys.__stdout__, flush=True)


def base(suite):
    """The folder of a bare Debian that is not changed."""
    if os.geteuid() != 0 or not shutil.which("debootstrap", path="/usr/sbin:/usr/bin"):
        pytest.skip("skipped: a bare system needs root and debootstrap (tests/install.sh bare)")
    folder = BARE / suite
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        BARE.mkdir(parents=True, exist_ok=True)
        run("/usr/sbin/debootstrap", "--variant=minbase", suite, folder, "http://deb.debian.org/debian",
            "/usr/share/debootstrap/scripts/sid")  # older than the newest suites
        (folder / "complete").touch()
    return folder


class System:
    """A bare Debian with the packages in /packages."""

    def __init__(self, suite, folder):
        self.folder = folder
        run("cp", "-a", "--reflink=auto", base(suite), folder)
        shutil.copytree(PACKAGES, folder / "packages")
        self.run("apt-get update -q -o Acquire::Check-Valid-Until=false")  # a mirror may be older than testing allows

    def run(self, script, user="root"):
        inside = f'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot --userspec={user} "$0" /bin/sh -c "$1"'
        environment = {"PATH": "/venv/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/tmp", "DEBIAN_FRONTEND": "noninteractive",
                       "RUE_ACCEPT_BUSY": "true"}
        return run("unshare", "--mount", "--pid", "--fork", "/bin/sh", "-c", inside, self.folder, script, env=environment)

    def install(self, words):
        self.run(f"apt-get install -q -y --no-install-recommends {words}")

    def used(self):
        return int(run("du", "-s", "-B1", "-x", self.folder).split()[0])


@pytest.fixture
def system(tmp_path):
    made = []

    def make(suite):
        made.append(tmp_path / suite)
        return System(suite, made[-1])
    yield make
    for folder in made:
        shutil.rmtree(folder)


def test_the_sums_are_those_of_the_packages():
    listed = run("sha256sum", "-c", "SHA256SUMS", cwd=PACKAGES).splitlines()
    assert len(listed) == len(list(PACKAGES.iterdir())) - 1 == 6


def test_the_sbom_is_valid_and_names_each_package():
    text = json.loads(one("rue.spdx.json").read_text())
    named = {part["packageFileName"]: part["checksums"][0]["checksumValue"] for part in text["packages"] if "packageFileName" in part}
    sums = dict(reversed(line.split()) for line in (PACKAGES / "SHA256SUMS").read_text().splitlines())
    assert named == {name: value for name, value in sums.items() if name != "rue.spdx.json"}
    libraries = {relation["relationshipType"] for relation in text["relationships"]}
    assert libraries == {"DESCRIBES", "STATIC_LINK", "DEPENDS_ON"}
    checker = ROOT / "build/tools/bin/pyspdxtools"
    if not checker.exists():
        pytest.skip("skipped: spdx-tools is not installed (tests/install.sh tools)")
    run(checker, "-i", one("rue.spdx.json"))


def test_debian_packages_on_a_bare_debian_12(system):
    debian = system("bookworm")
    for names in ("rue_*.deb", "python3-rue-tuner_*.deb python3-numpy", "librue-dev_*.deb gcc libc6-dev pkg-config"):
        begin, before = time.monotonic(), debian.used()
        debian.install(" ".join(f"/packages/{name}" if ".deb" in name else name for name in names.split()))
        report(f"{names} with all that it needs, on Debian 12", begin, debian.used() - before)
        if names.startswith("rue"):
            assert "out/recommendation.json" in debian.run(JOB + "ls out/recommendation.json", user="nobody")
            assert "rue tune" in debian.run("zcat -f /usr/share/man/man1/rue.1*")
    assert debian.run(JOB + LOADING, user="nobody").split()[-1] == str(IMAGES)
    shutil.copy(ROOT / "examples/load_images.c", debian.folder / "tmp")
    debian.run("gcc -o /tmp/load /tmp/load_images.c $(pkg-config --cflags --libs rue)")
    assert f"{IMAGES} images" in debian.run(JOB + "/tmp/load photos out/recommendation.json", user="nobody")
    debian.run("apt-get purge -q -y rue librue-dev python3-rue-tuner")
    left = debian.run("find / -xdev -path /packages -prune -o \\( -name '*rue_tuner*' -o -name rue -o -name librue.a \\) -print").split()
    assert [path for path in left if not path.startswith(("/tmp", "/packages"))] == []


@pytest.mark.parametrize("suite", ["bullseye", "trixie", "forky"])
def test_the_wheel_on_a_bare_debian(system, suite):
    debian = system(suite)
    debian.install("python3 python3-venv python3-numpy")
    debian.run("python3 -m venv --system-site-packages /venv")
    begin, before = time.monotonic(), debian.used()
    debian.run("pip install -q --no-index --no-deps /packages/*.whl")
    versions = debian.run("python3 --version; ldd --version | head -n 1").split("\n")
    report(f"the wheel on Debian {suite}, {versions[0]}, {versions[1]}", begin, debian.used() - before)
    assert debian.run(JOB + LOADING, user="nobody").split()[-1] == str(IMAGES)
    assert debian.run("python3 -m rue_tuner --version", user="nobody") == debian.run("rue --version")


def test_the_sdist_in_an_empty_environment(tmp_path):
    run("/usr/bin/python3", "-m", "venv", "--system-site-packages", tmp_path / "venv")
    begin = time.monotonic()
    run(tmp_path / "venv/bin/pip", "install", "-q", "--no-deps", one("*.tar.gz"))
    installed = sum(path.stat().st_size for path in tmp_path.rglob("rue_tuner/**/*") if path.is_file())
    report("the sdist, compiled", begin, installed)
    environment = clean_environment(PATH=f"{tmp_path}/venv/bin:/usr/bin:/bin")
    assert run("/bin/sh", "-c", JOB + LOADING, env=environment).split()[-1] == str(IMAGES)


def test_the_image_of_the_dockerfile_runs_without_rights(tmp_path):
    if not shutil.which("buildah"):
        pytest.skip("skipped: buildah is not installed (tests/install.sh bare)")
    environment = clean_environment(STORAGE_DRIVER="vfs", BUILDAH_ISOLATION="chroot")

    def buildah(*words):
        return run("buildah", "--root", tmp_path / "root", "--runroot", tmp_path / "run", *words, env=environment).strip()
    # No registry is asked: the image that the Dockerfile starts from is a bare Debian under its name.
    bare = buildah("from", "scratch")
    buildah("add", "-q", bare, base("bookworm"), "/")
    buildah("commit", "-q", "--rm", bare, "docker.io/library/debian:bookworm-slim")
    run("git", "clone", "-q", ROOT, tmp_path / "clone")
    begin = time.monotonic()
    buildah("bud", "--pull-never", "-t", "rue", "-f", tmp_path / "clone/packaging/Dockerfile", tmp_path / "clone")
    sizes = {image["names"][0]: image["size"] for image in json.loads(buildah("images", "--json")) if image.get("names")}
    report(f"the image, built with all that it needs ({sizes})", begin, 0)
    config = json.loads(buildah("inspect", "--type", "image", "rue"))["OCIv1"]["config"]
    assert config["User"] == "1000" and config["Entrypoint"] == ["rue"] and config["WorkingDir"] == "/work"
    container = buildah("from", "--pull-never", "rue")
    script = "id -u; touch mine; " + JOB + "ls out/recommendation.json"
    user, *_, made = buildah("run", "--env", "RUE_ACCEPT_BUSY=true", container, "--", "/bin/sh", "-c", script).split()
    assert user == "1000" and made == "out/recommendation.json"
