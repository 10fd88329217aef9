"""PNG, WebP, GIF and BMP files: the pixels of PIL's convert("RGB"), in every format of raw data; what is damaged is refused with a reason."""
import io
import json
import random
import shutil
import struct
import warnings
import zlib

import pytest
import wording
from conftest import expect_failure

files = pytest.importorskip("image_files")  # skips where NumPy or PIL is missing
from image_files import GREY, HEIGHT, PALETTE, WIDTH, Image, chunk, np, png  # noqa: E402
from odd_jpegs import Decoder  # noqa: E402
from test_transform_pil import CROP, ITEMS, UINT8_STRIDE, levels  # noqa: E402

PILLOW = tuple(int(part) for part in Image.__version__.split(".")[:2])
# 9.4 has a grey ramp beyond a palette, reads fewer BMP headers, and loses pixels of runs; 12.3 has what is tested here.
NEWER = {"png_beyond_palette", "gif_beyond_table", "bmp_beyond_colours", "bmp_header_52", "bmp_header_56", "bmp_masks_rgba", "bmp_rle8", "bmp_rle8_grey",
         "bmp_rle4"} if PILLOW < (12, 0) else set()


@pytest.fixture(scope="module")
def decode():
    decoder = Decoder()
    yield decoder
    decoder.close()


def pil(data):
    """The pixels, or the reason why PIL refuses them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with Image.open(io.BytesIO(data)) as image:
                return np.asarray(image.convert("RGB"))
        except Exception as error:  # PIL lets out whatever its readers raise
            return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("kind", files.KINDS)
def test_pixels_are_pil_s(kind, decode):
    for name, data in files.KINDS[kind]():
        ours, theirs = decode(data), pil(data)
        assert not isinstance(ours, str), (name, ours)
        if name not in NEWER:
            assert not isinstance(theirs, str) and np.array_equal(ours, theirs), (name, theirs)


@pytest.mark.parametrize("kind", files.KINDS)
def test_damaged_files_have_pil_s_pixels_or_a_reason(kind, decode):
    """Only checksums of image data, and what is missing at their end, are errors of rue alone."""
    rng = random.Random(kind)
    for name, data in files.KINDS[kind]():
        if name in NEWER:
            continue
        damaged = [data[:length] for length in {*rng.sample(range(len(data)), 8), len(data) - 1}]
        for at in rng.sample(range(len(data)), 8):
            damaged.append(data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :])
        for other in damaged:
            ours, theirs = decode(other), pil(other)
            if isinstance(ours, str):
                assert ours.startswith(("is ", "has ", "cannot ")) and len(ours) < 160, ours
                assert kind == "png" or PILLOW < (12, 0) or isinstance(theirs, str), (name, ours)
            elif PILLOW >= (12, 0) and kind != "webp" and not isinstance(theirs, str):
                assert np.array_equal(ours, theirs), name


def test_runs_and_missing_colours(decode):
    """What older versions of Pillow read in another way."""
    runs = b"\2\1\0\3\2\3\4\0\0\0\3\5\0\0\0\1"  # 1 1 2 3 4, then 5 5 5 0 0 above it
    pixels = decode(files.bmp(8, compression=1, data=runs, width=5, height=2, grey=True))
    assert pixels[..., 0].tolist() == [[5, 5, 5, 0, 0], [1, 1, 2, 3, 4]]
    halves = b"\3\x12\0\4\x34\x56\0\0\4\x78\0\0\0\1"  # 1 2 1 3 4 5 6, then 7 8 7 8 and nothing
    palette = decode(files.bmp(4, width=1, height=1))  # the palette of the file is the same
    assert palette.shape == (1, 1, 3)
    pixels = decode(files.bmp(4, compression=2, data=halves, width=7, height=2))
    table = files.noise(16, 3, seed=8)[:, ::-1]
    assert np.array_equal(pixels, table[[[7, 8, 7, 8, 0, 0, 0], [1, 2, 1, 3, 4, 5, 6]]])
    pixels = decode(png(PALETTE, 8, colours=5, samples=np.full((HEIGHT, WIDTH, 1), 6)))
    assert not pixels.any()


BOMB = png(size=(100000, 100000))
HUGE_TEXT = png(before=chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(200 << 20), 9)))
REFUSED = {
    "has 10,000,000,000 pixels (100000 x 100000), and the limit is": BOMB,
    "is a PNG file of 0 x 5 pixels": png(size=(0, 5)),
    "is a PNG file that cannot be decoded: IDAT: CRC error": png()[:-16] + b"\0\0\0\0" + png()[-12:],
    "is a PNG file that cannot be decoded: gAMA: CRC error": png(before=chunk(b"gAMA", bytes(4), crc=1)),
    "is a PNG file that is truncated": png()[:200],
    "is a GIF file without a frame": files.gif()[:13 + 48] + b";",
    "is a GIF file whose first frame has 0 x 4 pixels": files.gif(size=(0, 4)),
    "is a GIF file that is truncated": files.gif()[:100],
    "has 4,294,836,225 pixels (65535 x 65535)": files.gif(screen=(65535, 65535)),
    "is a BMP file with compression 4, which is not supported": files.bmp(compression=4),
    "is a BMP file with bits per pixel: 2, which is not supported": files.bmp(2),
    "is a BMP file of 0 x 29 pixels": files.bmp(width=0),
    "is a BMP file that is truncated": files.bmp()[:-5],
    "is a WebP file that is truncated": files.save(files.picture(), "WEBP")[:-8],
    "is a WebP file that cannot be decoded: it is damaged": b"RIFF\x1a\0\0\0WEBPVP8 \x0e\0\0\0" + bytes(14),
    "is a TIFF file, not a JPEG, PNG, WebP, GIF or BMP file": files.save(files.picture(), "TIFF"),
    "is a HEIC file, not a JPEG": b"\0\0\0\x18ftypheic" + bytes(50),
    "is an AVIF file, not a JPEG": b"\0\0\0\x18ftypavif" + bytes(50),
    "is a JPEG 2000 file, not a JPEG": b"\0\0\0\x0cjP  \r\n\x87\n" + bytes(50),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_refused_with_a_reason(reason, decode):
    said = decode(REFUSED[reason])
    assert isinstance(said, str) and said.startswith(reason) and len(said) < 160, said


def test_text_that_would_be_huge_is_not_decompressed(decode):
    assert np.array_equal(decode(HUGE_TEXT), decode(png()))


# ---- orientation ----

def oriented(kind, orientation, picture, **options):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return files.save(picture, kind, exif=exif, **options)


@pytest.fixture(scope="module")
def turned(tmp_path_factory):
    """Images of each orientation, and one without; {path: what PIL makes of it}."""
    from PIL import ImageOps
    folder, found = tmp_path_factory.mktemp("turned"), {}
    for kind, options in {"JPEG": dict(quality=90), "PNG": {}, "WEBP": dict(lossless=True), "BMP": {}}.items():
        for orientation in range(10):
            path = folder / f"images/{kind}{orientation}.{kind.lower()}"
            path.parent.mkdir(exist_ok=True)
            picture = files.picture(width=301 + orientation, height=260)
            path.write_bytes(oriented(kind, orientation, picture, **options) if orientation else files.save(picture, kind, **options))
            with Image.open(path) as image:
                ImageOps.exif_transpose(image).convert("RGB").save(folder / "turned.png")
            found[path] = levels(path), levels(folder / "turned.png")
    return found


@pytest.mark.parametrize("orientation", ["ignore", "apply"])
def test_images_are_turned_as_pil_does_on_request(rue, turned, orientation):
    paths = sorted(turned)
    for ours, path in zip(tensors(rue, paths[0].parent, len(paths), "--orientation", orientation), paths):
        assert np.array_equal(ours, turned[path][orientation == "apply"]), path.name
    assert sum(not np.array_equal(*turned[path]) for path in paths) == 3 * 7


def test_orientation_is_part_of_a_study(rue, mixed):
    words = "--model", "resnet18@h100", "--batch-size", "2", "--num-workers", "0", "--budget", "3trials", "--images", "2", "--mode", "raw", "--out", "out"
    assert rue("tune", mixed, *words, "--orientation", "apply").returncode == 0
    (part,) = json.loads((rue.folder / "out/recommendation.json").read_text())["recommendations"]
    assert part["workload"]["orientation"] == "apply"
    expect_failure(rue("tune", mixed, *words, "--orientation", "turn"), 2, "--orientation")
    expect_failure(rue("prepare", mixed, "raw.lmdb", "--orientation", "apply"), 2, "--orientation is for images that become preprocessed data: add --mode preprocessed")


# ---- data of several types ----

FORMATS = {"folder": "out", "webdataset": "out.tar", "lmdb": "out.lmdb", "tfrecord": "out.tfrecord"}


@pytest.fixture
def mixed(rue):
    """Files of all types; one has the name of another type."""
    folder = rue.folder / "mixed"
    for kind in ("a", "b"):
        (folder / kind).mkdir(parents=True)
    large = {"width": 300, "height": 260}
    (folder / "a/0.jpg").write_bytes(files.save(files.picture(**large), "JPEG"))
    (folder / "a/1.png").write_bytes(png(GREY, 16, True, **large))
    (folder / "a/2.webp").write_bytes(files.save(files.picture(**large), "WEBP"))
    (folder / "b/3.gif").write_bytes(files.save(files.picture("P", **large), "GIF"))
    (folder / "b/4.BMP").write_bytes(files.save(files.picture(**large), "BMP"))
    (folder / "b/5.jpg").write_bytes(png(**large))
    (folder / "b/6.png").write_bytes(files.save(files.picture(**large), "JPEG"))
    return folder


def tensors(rue, source, count, *words):
    target = rue.folder / f"{source.name}.tensor"
    done = rue("prepare", source, target, "--mode", "preprocessed", "--format", "tensor", "--dtype", "uint8", *words)
    assert done.returncode == 0, done.stderr
    return np.memmap(target, "u1", "r", 4096, (count, UINT8_STRIDE))[:, :ITEMS].reshape(-1, 3, CROP, CROP)


@pytest.mark.parametrize("form", FORMATS)
def test_all_types_are_read_in_every_format(rue, mixed, form):
    paths = sorted(mixed.rglob("*.*"))
    out = rue.folder / FORMATS[form]
    done = rue("prepare", mixed, out, "--format", form)
    assert done.returncode == 0, done.stderr
    found = json.loads(rue("inspect", out, "--json").stdout)
    assert found["items"] == len(paths) and found["skipped"] == 0 and len(found["classes"]) == 2, found
    for ours, path in zip(tensors(rue, out, len(paths)), paths):
        assert np.array_equal(ours, levels(path)), path.name


def test_all_types_are_read_from_a_list(rue, mixed):
    paths = sorted(mixed.rglob("*.*"))
    (rue.folder / "list.csv").write_text("path,label\n" + "".join(f"{path},1\n" for path in paths))
    for ours, path in zip(tensors(rue, rue.folder / "list.csv", len(paths)), paths):
        assert np.array_equal(ours, levels(path)), path.name


def test_a_sample_has_its_photo_and_not_its_mask(rue):
    import tarfile
    jpeg, mask = files.save(files.picture(width=300, height=300), "JPEG"), png(width=300, height=300)
    with tarfile.open(rue.folder / "pairs.tar", "w") as tar:
        for name, body in (("0.png", mask), ("0.jpg", jpeg), ("0.cls", b"1"), ("1.jpg", jpeg), ("1.png", mask), ("1.cls", b"2")):
            member = tarfile.TarInfo(name)
            member.size = len(body)
            tar.addfile(member, io.BytesIO(body))
    found = json.loads(rue("inspect", "pairs.tar", "--json").stdout)
    assert found["items"] == 2 and found["bytes"] == 2 * len(jpeg)


def test_a_file_that_is_damaged_is_named(rue, mixed):
    (mixed / "a/1.png").write_bytes(BOMB)
    expect_failure(rue("prepare", mixed, "x.tensor", "--mode", "preprocessed"), 3, f"{mixed}/a/1.png has 10,000,000,000 pixels")
    (mixed / "a/1.png").write_bytes(png()[:100])
    done = rue("tune", mixed, "--model", "resnet18@h100", "--batch-size", "2", "--num-workers", "0", "--budget", "3trials", "--images", "2")
    assert wording.PNG_IS_A_PNG.format(1) in " ".join(done.stderr.split()), done.stderr
