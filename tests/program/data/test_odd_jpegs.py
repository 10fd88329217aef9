"""JPEGs that few programs write: what PIL decodes comes out equal in every bit, what it refuses is refused by name.

RUE_JPEG_FLIPS is the number of damaged copies of each kind, 500 unless it is set.
"""
import collections
import os
import resource

import pytest
from conftest import Rue, expect_failure

odd = pytest.importorskip("odd_jpegs")  # skips where NumPy or PIL is missing
features = pytest.importorskip("PIL.features")
from odd_jpegs import ACCEPTED, END, REFUSED, START, Image, make, np  # noqa: E402
from test_transform_pil import CROP, ITEMS, RESIZE, UINT8_STRIDE, levels  # noqa: E402

FLIPS = int(os.environ.get("RUE_JPEG_FLIPS", "500"))
SCAN_LIMIT = "has more than 100 scans"

KINDS = {
    "baseline": lambda: make(),
    "progressive": lambda: make(progressive=1),
    "cmyk": lambda: make(colours="cmyk"),
    "ycck_progressive": lambda: make(colours="ycck", progressive=1),
    "restarts": lambda: make(restart=3),
    "restarts_progressive": lambda: make(restart=2, progressive=1, sampling="2x2,1x1,1x1"),
    "several_scans": lambda: make(scans=3),
    "arithmetic": lambda: make(arithmetic=1),
    "metadata": lambda: odd.after_start(make(), odd.exif(make(width=16, height=16)) + odd.PHOTOSHOP + odd.icc(300)),
}
LONG_KINDS = {
    "longer_than_a_read": lambda: make(width=400, height=300, quality=95),
    "longer_than_a_read_restarts": lambda: make(width=400, height=300, quality=95, restart=5),
    "longer_than_a_read_progressive": lambda: make(width=400, height=300, quality=95, progressive=1),
    "longer_than_a_read_cmyk": lambda: make(width=400, height=300, quality=90, colours="cmyk"),
}


@pytest.fixture(autouse=True)
def pil_reads_by_its_own_blocks(monkeypatch):
    monkeypatch.setattr("PIL.ImageFile.MAXBLOCK", odd.BLOCK)  # other tests raise it, to save large files


@pytest.fixture(scope="module")
def decode():
    decoder = odd.Decoder()
    yield decoder
    decoder.close()


@pytest.mark.parametrize("name", ACCEPTED)
def test_odd_file_is_pil_s(name, decode):
    data = ACCEPTED[name]()
    assert not isinstance(odd.pil(data), str), odd.pil(data)
    assert odd.compare(data, decode) is None


@pytest.mark.skipif(not (features.version("libjpeg_turbo") or "").startswith("2.1"),
                    reason="skipped: PIL was built with another libjpeg-turbo than 2.1, which smooths blocks in another way")
@pytest.mark.parametrize("sampling", ["1x1", "2x1", "1x2", "2x2", "4x1"])
def test_incomplete_scans_are_pil_s(sampling, decode):
    """The decoder also compares crops with the whole."""
    for colours in ("ycc", "ycck", "grey"):
        data = make(colours=colours, progressive=1, sampling=sampling, width=150, height=110)
        for kept in range(1, len(odd.find_scans(data))):
            assert odd.compare(odd.keep_scans(data, kept), decode) is None, (colours, kept)


@pytest.mark.parametrize("name", REFUSED)
def test_files_that_pil_refuses_are_refused_with_a_reason(name, decode):
    data = REFUSED[name]()
    assert isinstance(odd.pil(data), str)
    reason = decode(data)
    assert isinstance(reason, str) and reason.split()[0] in ("is", "has", "cannot"), reason


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_cut_anywhere_has_pil_s_verdict(kind, decode):
    data = KINDS[kind]()
    headers = odd.part(data, odd.SOS)[2] + 2
    lengths = {*range(headers), *(len(data) * i // 100 for i in range(100)), *range(len(data) - 20, len(data))}
    for length in sorted(lengths):
        assert odd.compare(data[:length], decode) is None, length
        assert isinstance(decode(data[:length]), str), f"{length} of {len(data)} bytes are decoded"
    assert not isinstance(decode(data), str)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_cut_and_ended_has_pil_s_verdict(kind, decode):
    data = KINDS[kind]()
    for percent in range(100):
        odd.compare(data[: len(data) * percent // 100] + END, decode)


@pytest.mark.parametrize("kind", [*KINDS, *LONG_KINDS])
def test_flipped_bytes_have_pil_s_verdict(kind, decode):
    data = {**KINDS, **LONG_KINDS}[kind]()
    headers = odd.part(data, odd.SOS)[2]
    rng = np.random.default_rng(len(data))
    outcomes = collections.Counter()
    for _ in range(FLIPS if kind in KINDS else FLIPS // 10):
        flipped = bytearray(data)
        for _ in range(rng.integers(1, 4)):
            at = rng.integers(len(data) if rng.random() < 0.6 else headers)
            flipped[at] = rng.integers(256) if rng.random() < 0.8 else 0xFF
        outcomes[odd.compare(bytes(flipped), decode)] += 1
        outcomes["refused"] += isinstance(decode(bytes(flipped)), str)
    count = outcomes.total() - outcomes["refused"]
    print(kind, dict(outcomes))
    assert 0 < outcomes["refused"] < count
    assert outcomes[None] >= count * 0.99 and set(outcomes) <= {None, "refused", odd.METADATA}


def save(folder, files):
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / f"{name}.jpg").write_bytes(data)


def prepared(folder, count):
    pages = np.memmap(folder / "out.tensor", "u1", "r", 4096, (count, UINT8_STRIDE))
    return pages[:, :ITEMS].reshape(-1, 3, CROP, CROP)


def prepare(rue, *more, **options):
    return rue("prepare", "images", "out.tensor", "--dtype", "uint8", "--quiet", *more, **options)


@pytest.fixture(scope="module")
def tensors(program, tmp_path_factory):
    """The odd files and what `rue prepare` makes of them."""
    folder = tmp_path_factory.mktemp("odd")
    save(folder / "images" / "class", {name: function() for name, function in ACCEPTED.items()})
    done = prepare(Rue(program, folder))
    assert done.returncode == 0, done.stderr
    paths = sorted((folder / "images").glob("*/*"), key=lambda path: os.fsencode(path))
    return list(zip(paths, prepared(folder, len(paths))))


def test_the_program_makes_pil_s_tensors_of_odd_files(tensors):
    wrong = [path.stem for path, ours in tensors if not np.array_equal(ours, levels(path))]
    assert not wrong, wrong


def test_the_program_makes_torchvision_s_tensors_of_odd_files(tensors):
    transforms = pytest.importorskip("torchvision.transforms")
    compose = transforms.Compose([transforms.Resize(RESIZE), transforms.CenterCrop(CROP), transforms.PILToTensor()])
    wrong = []
    for path, ours in tensors:
        with Image.open(path) as image:
            if not np.array_equal(ours, compose(image.convert("RGB")).numpy()):
                wrong.append(path.stem)
    assert not wrong, wrong


@pytest.mark.parametrize("name", ["components_2", "twelve_bits", "frame_c3", "hierarchical", "end_missing", "nothing",
                                  "side_65500", "side_65500_progressive", "garbage_before_the_start",
                                  "height_after_the_scan"])
def test_the_program_refuses_by_name(name, rue):
    save(rue.folder / "images" / "class", {"a_good_one": make(), name: REFUSED[name]()})
    expect_failure(prepare(rue), 3, f"{name}.jpg")
    assert not (rue.folder / "out.tensor").exists()


def strip_levels(data):
    """Of an image that is one pixel wide or high: the scale of both sides is a power of two, so the middle of it, resized
    alone, has the bits of the middle of the whole, for which PIL would need gigabytes."""
    image = Image.fromarray(odd.pil(data))
    long = max(image.size)
    top = int(round((RESIZE * long - CROP) / 2.0))
    first, last = max(top // RESIZE - 3, 0), min((top + CROP) // RESIZE + 4, long)
    if image.width == 1:
        part = image.crop((0, first, 1, last)).resize((RESIZE, RESIZE * (last - first)), Image.BILINEAR)
        box = (16, top - RESIZE * first)
    else:
        part = image.crop((first, 0, last, 1)).resize((RESIZE * (last - first), RESIZE), Image.BILINEAR)
        box = (top - RESIZE * first, 16)
    return np.asarray(part.crop((*box, box[0] + CROP, box[1] + CROP))).transpose(2, 0, 1)


def test_strips_of_one_pixel_are_pil_s(rue):
    sizes = {f"{w}x{h}": (w, h) for long in (40, 41, 5000, 65500) for w, h in ((1, long), (long, 1))}
    files = {f"{name}{'_progressive' * p}": make(width=w, height=h, progressive=p)
             for name, (w, h) in sizes.items() for p in (0, 1)}
    save(rue.folder / "images" / "class", files)
    done = prepare(rue)
    assert done.returncode == 0, done.stderr
    for name, ours in zip(sorted(files, key=lambda name: f"{name}.jpg"), prepared(rue.folder, len(files))):
        assert np.array_equal(ours, strip_levels(files[name])), name
        if "4" in name[:4]:
            assert np.array_equal(ours, levels(rue.folder / "images" / "class" / f"{name}.jpg")), name


def many_scans():
    progressive, several, restarted = make(progressive=1), make(scans=3), make(scans=3, restart=2)
    tail, at = odd.find_scans(restarted)[-1] * 3000, odd.restarts(restarted)[0]
    commented = odd.segment(odd.COM, b"\xff\xd9") + odd.find_scans(progressive)[-1]
    return {
        "progressive_101": odd.repeat_last_scan(progressive, 101),
        "progressive_3000": odd.repeat_last_scan(progressive, 3000),
        "baseline_101": odd.repeat_last_scan(several, 101),
        "baseline_3000": odd.repeat_last_scan(several, 3000),
        "behind_fill_bytes": odd.repeat_last_scan(progressive, 3000).replace(b"\xff\xda", b"\xff" * 3 + b"\xff\xda"),
        "behind_comments": progressive[:-2] + commented * 300 + END,
        "behind_tables": START + odd.only(several, odd.DQT) + END + odd.repeat_last_scan(several, 300),
        "behind_a_reserved_marker": restarted[:at] + b"\xff\x02" + tail + END,
        "large_progressive": odd.sized(odd.repeat_last_scan(progressive, 3000), 9000, 9000),
    }


@pytest.mark.parametrize("name", ["progressive_101", "progressive_3000", "baseline_101", "baseline_3000", "behind_fill_bytes",
                                  "behind_comments", "behind_tables", "behind_a_reserved_marker", "large_progressive"])
def test_too_many_scans_are_refused_before_decoding(name, decode):
    reason = decode(many_scans()[name])
    assert isinstance(reason, str) and SCAN_LIMIT in reason, reason


def test_a_hidden_scan_counts_only_above_the_limit(decode):
    """What precedes is no refusal of the trick itself: with few scans PIL and rue decode it."""
    restarted = make(scans=3, restart=2)
    at = odd.restarts(restarted)[0]
    data = restarted[:at] + b"\xff\x02" + odd.find_scans(restarted)[-1] * 5 + END
    assert odd.compare(data, decode) is None and not isinstance(decode(data), str)


def test_memory_for_scans_has_a_limit_that_is_reported(release, tmp_path):
    """The file has 3 KB; libjpeg would take 1.6 GB."""
    rue = Rue(release, tmp_path)
    huge = odd.sized(make(progressive=1, sampling="1x1"), 16384, 16384)
    save(tmp_path / "images" / "class", {"huge": huge})
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    done = prepare(rue, "--num-workers", "1", preexec_fn=limit)
    expect_failure(done, 3, "huge.jpg", "1.6 GB", "16384 x 16384", "1.1 GB", "baseline")


def test_every_rgb_size_that_pil_opens_is_within_that_limit(decode):
    """Judged from the header: with no data behind it, the file is truncated only where the limit lets it pass."""
    whole = make(progressive=1, sampling="1x1")
    headers = whole[: odd.part(whole, odd.SOS)[2]]
    for width, height in ((13377, 13377), (65500, 2732), (2732, 65500)):
        data = odd.sized(headers, width, height)
        assert width * height < 2 * Image.MAX_IMAGE_PIXELS
        assert "truncated" in decode(data), (width, height)
    assert "1.1 GB" in decode(odd.sized(headers, 13600, 13600))


def test_more_pixels_than_allowed_are_refused_with_both_figures(rue):
    save(rue.folder / "images" / "class", {"wide": make(width=300, height=200, colours="cmyk")})
    expect_failure(prepare(rue, "--max-pixels", "59999"), 3, "wide.jpg", "60,000 pixels (300 x 200)", "59,999")
    assert prepare(rue, "--max-pixels", "60k").returncode == 0


@pytest.mark.skipif("RUE_LONG_TESTS" not in os.environ, reason="skipped: set RUE_LONG_TESTS for images of 268 million pixels")
@pytest.mark.parametrize("more", [{}, {"colours": "ycck"}, {"progressive": 1}], ids=["baseline", "ycck", "progressive"])
def test_the_largest_image_within_the_limit_is_pil_s(more, rue, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)
    save(rue.folder / "images" / "class", {"huge": make(width=16384, height=16384, smooth=1, quality=30, **more)})
    done = prepare(rue)
    assert done.returncode == 0, done.stderr
    assert np.array_equal(prepared(rue.folder, 1)[0], levels(rue.folder / "images" / "class" / "huge.jpg"))


def test_arithmetic_coding_over_more_than_a_block_is_a_known_difference(decode):
    data = make(width=400, height=300, quality=95, arithmetic=1)
    assert len(data) > odd.BLOCK and odd.compare(data, decode) == odd.ARITHMETIC


@pytest.mark.parametrize("damaged", [odd.segment(odd.APP0, b"JFIF\0"), odd.segment(odd.APP2, b"ICC_PROFILE\0")],
                         ids=["jfif", "icc"])
def test_metadata_that_pil_cannot_read_are_a_known_difference(damaged, decode):
    data = odd.after_start(make(jfif=1), damaged)
    assert odd.compare(data, decode) == odd.METADATA
