"""Odd JPEG files by name, and what decodes them: PIL, the reference, and the decoder of the built tests.

ACCEPTED and REFUSED are what PIL does with each; tests hold both against PIL itself. Values are functions without
arguments that return the bytes of a file, the same at every call.
"""
import functools
import io
import struct
import subprocess
import warnings

import pytest
from conftest import PROGRAM

np = pytest.importorskip("numpy")
Image = pytest.importorskip("PIL.Image")
JpegImagePlugin = pytest.importorskip("PIL.JpegImagePlugin")

SOI, EOI, SOS, DQT, DHT, DRI, DNL, COM, TEM, DHP, JPG0 = 0xD8, 0xD9, 0xDA, 0xDB, 0xC4, 0xDD, 0xDC, 0xFE, 0x01, 0xDE, 0xF0
SOF0, SOF1, SOF2, SOF3, RST0, APP0, APP1, APP2, APP13, APP14 = 0xC0, 0xC1, 0xC2, 0xC3, 0xD0, 0xE0, 0xE1, 0xE2, 0xED, 0xEE
BLOCK = 65536  # bytes that PIL reads at once
START, END = b"\xff\xd8", b"\xff\xd9"


def tool(name):
    """A program that is built beside the unit tests."""
    path = PROGRAM and PROGRAM.parent / "tests" / name
    if not path or not path.exists():
        pytest.skip(f"{name} is not built: it comes with the tests of the asan build")
    return path


@functools.lru_cache(maxsize=None)
def make(**recipe):
    """What tests/make_jpeg.c encodes."""
    words = [f"{name}={value}" for name, value in recipe.items()]
    return subprocess.run([tool("make_jpeg"), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True).stdout


def picture(mode="RGB", width=64, height=48):
    rng = np.random.default_rng(7)
    y, x = np.mgrid[0:height, 0:width]
    bands = [x * 255 // max(width - 1, 1), y * 255 // max(height - 1, 1), (x // 5 + y // 3) % 2 * 255, (x + y) * 2 % 256]
    noise = rng.integers(0, 256, (height, width, 4))
    levels = np.where(rng.random((height, width, 1)) < 0.3, noise, np.stack(bands, -1)).astype(np.uint8)
    return Image.fromarray(levels, "CMYK") if mode == "CMYK" else Image.fromarray(levels[..., :3]).convert(mode)


def save(mode="RGB", **options):
    """What PIL encodes."""
    out = io.BytesIO()
    picture(mode).save(out, options.pop("format", "JPEG"), **options)
    return out.getvalue()


# Surgery. A part is (offset of FF, marker, offset of the end) of a segment before the first scan's data.
def parts(data):
    at, found = 2, []
    while True:
        marker = data[at + 1]
        end = at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        found.append((at, marker, end))
        if marker == SOS:
            return found
        at = end


def part(data, *markers):
    return next(p for p in parts(data) if p[1] in markers)


def segment(marker, payload=b"", length=None):
    return bytes([0xFF, marker]) + struct.pack(">H", len(payload) + 2 if length is None else length) + payload


def insert(data, at, more):
    return data[:at] + more + data[at:]


def after_start(data, more):
    return insert(data, 2, more)


def before(data, marker, more):
    return insert(data, part(data, marker)[0], more)


def patch(data, at, new):
    return data[:at] + new + data[at + len(new) :]


def without(data, *markers):
    return b"".join([START, *(data[at:end] for at, marker, end in parts(data) if marker not in markers), scan_data(data)])


def only(data, *markers):
    return b"".join(data[at:end] for at, marker, end in parts(data) if marker in markers)


def scan_data(data):
    """All from the first scan's data to the end of the file."""
    return data[part(data, SOS)[2] :]


def frame(data):
    """Where the payload of the frame header is."""
    return part(data, SOF0, SOF1, SOF2, 0xC9, 0xCA)[0] + 4


def as_frame(data, marker):
    return patch(data, frame(data) - 3, bytes([marker]))


def sized(data, width, height):
    return patch(data, frame(data) + 1, struct.pack(">HH", height, width))


def sampled(data, component, factors):
    return patch(data, frame(data) + 7 + 3 * component, bytes([factors]))


def adobe_transform(data, transform):
    return patch(data, part(data, APP14)[0] + 4 + 11, bytes([transform]))


def restarts(data):
    first = part(data, SOS)[2]
    return [i for i in range(first, len(data) - 1) if data[i] == 0xFF and RST0 <= data[i + 1] < RST0 + 8]


def cut_out(data, at, count):
    return data[:at] + data[at + count :]


def with_restarts():
    return make(restart=4)


def without_restarts(data):
    for at in reversed(restarts(data)):
        data = cut_out(data, at, 2)
    return data


def renumbered(number):
    """The second restart marker, of number 1, has another."""
    return patch(with_restarts(), restarts(with_restarts())[1] + 1, bytes([RST0 + number]))


def scans_of(data):
    """The scans of a multi-scan file, each with the tables that follow it; for files without thumbnails."""
    starts = [i for i in range(len(data) - 1) if data[i] == 0xFF and data[i + 1] == SOS] + [len(data) - 2]
    return [data[a:b] for a, b in zip(starts, starts[1:])]


def repeat_last_scan(data, count):
    """`count` scans altogether."""
    scans = scans_of(data)
    return data[:-2] + scans[-1] * (count - len(scans)) + END


def exif(thumbnail=b"", orientation=6):
    """A TIFF header, one directory with the orientation, and a second one with a thumbnail."""
    entry = struct.pack("<HHIHH", 0x0112, 3, 1, orientation, 0)
    first = struct.pack("<H", 1) + entry
    where, how_long = struct.pack("<HHII", 0x0201, 4, 1, 56), struct.pack("<HHII", 0x0202, 4, 1, len(thumbnail))
    second = struct.pack("<H", 2) + where + how_long
    next_at = 8 + len(first) + 4 if thumbnail else 0
    body = b"II*\0" + struct.pack("<I", 8) + first + struct.pack("<I", next_at)
    if thumbnail:
        body = (body + second + bytes(4)).ljust(56, b"\0") + thumbnail
    return segment(APP1, b"Exif\0\0" + body)


PHOTOSHOP = segment(APP13, b"Photoshop 3.0\0" + b"8BIM" + struct.pack(">HHI", 0x03ED, 0, 16) + bytes(16))


def icc(total):
    """A profile of so many bytes in as many segments as it takes."""
    chunks = [bytes(range(256)) * 250] * (total // 64000) + [bytes(total % 64000)]
    return b"".join(segment(APP2, b"ICC_PROFILE\0" + bytes([i + 1, len(chunks)]) + c) for i, c in enumerate(chunks))


def first_scan(data):
    return data[: data.index(scans_of(data)[1])] + END


def without_last_scan(data):
    return data[: -len(scans_of(data)[-1]) - 2] + END


def multi_picture():
    out = io.BytesIO()
    picture().save(out, "MPO", save_all=True, append_images=[picture(width=32, height=32)])
    return out.getvalue()


def mangled_frame(offset, value):
    data = make()
    return patch(data, frame(data) + offset, bytes([value]))


ACCEPTED = {}
REFUSED = {}


def accepted(name, function, *arguments, **options):
    ACCEPTED[name] = functools.partial(function, *arguments, **options)


def refused(name, function, *arguments, **options):
    REFUSED[name] = functools.partial(function, *arguments, **options)


def add_colours():
    for black in ("cmyk", "ycck"):
        accepted(f"{black}", make, colours=black)
        accepted(f"{black}_without_adobe", make, colours=black, adobe=1)
        accepted(f"{black}_with_adobe", make, colours=black, adobe=2)
        accepted(f"{black}_with_jfif", make, colours=black, jfif=2)
        for name, more in dict(progressive=dict(progressive=1), restarts=dict(restart=3), arithmetic=dict(arithmetic=1),
                               optimized=dict(optimize=1), several_scans=dict(scans=4), coarse=dict(quality=4),
                               chroma_420=dict(sampling="2x2,1x1,1x1,2x2"), chroma_mixed=dict(sampling="2x1,1x2,1x1,1x1"),
                               thin=dict(width=1, height=9), finest=dict(quality=100),
                               odd=dict(width=61, height=37)).items():
            accepted(f"{black}_{name}", make, colours=black, **more)
        for transform in (0, 1, 2, 3, 255):
            accepted(f"{black}_adobe_transform_{transform}", lambda b, t: adobe_transform(make(colours=b, adobe=2), t),
                     black, transform)
        accepted(f"{black}_of_photoshop", lambda b: after_start(make(colours=b, adobe=2), exif() + PHOTOSHOP + icc(90000)),
                 black)
    accepted("cmyk_of_pil", save, "CMYK")
    accepted("cmyk_of_pil_progressive", save, "CMYK", progressive=True)
    accepted("rgb_by_adobe", make, colours="rgb")
    accepted("rgb_by_ids", make, colours="rgb", adobe=1)
    accepted("rgb_by_no_means", make, colours="rgb", adobe=1, ids="1,2,3")
    accepted("rgb_but_small_letters", make, colours="rgb", adobe=1, ids="114,103,98")
    accepted("rgb_but_jfif", make, colours="rgb", adobe=1, jfif=2)
    accepted("rgb_progressive", make, colours="rgb", progressive=1)
    accepted("rgb_sampled", make, colours="rgb", sampling="2x2,1x1,1x1")
    accepted("ycc_without_jfif", make, jfif=1)
    accepted("ycc_with_adobe", make, jfif=1, adobe=2)
    accepted("ycc_with_jfif_and_adobe", make, adobe=2)
    accepted("ycc_ids_from_zero", make, jfif=1, ids="0,1,2")
    accepted("ycc_ids_any", make, jfif=1, ids="9,200,33")
    accepted("ycc_adobe_transform_2", lambda: adobe_transform(make(jfif=1, adobe=2), 2))
    accepted("ycc_adobe_transform_0", lambda: adobe_transform(make(jfif=1, adobe=2), 0))
    accepted("jfif_over_adobe", lambda: adobe_transform(make(adobe=2), 0))
    for factors in ("1x1", "2x2", "4x1", "1x4", "3x2"):
        accepted(f"grey_{factors}", make, colours="grey", sampling=factors)
    accepted("grey_with_adobe", make, colours="grey", adobe=2)
    accepted("grey_progressive", make, colours="grey", progressive=1)
    for count in (2, 5, 10):
        refused(f"components_{count}", make, colours=count, scans=count)
    refused("components_2_in_one_scan", make, colours=2)
    refused("components_2_progressive", make, colours=2, progressive=1)


def add_codings():
    for factors in ("1x1", "2x1", "1x2", "4x1", "2x2", "1x4", "4x2", "3x1", "1x3", "3x2"):
        for name, more in dict(plain={}, progressive=dict(progressive=1), odd=dict(width=61, height=43)).items():
            accepted(f"sampling_{factors}_{name}", make, sampling=f"{factors},1x1,1x1", **more)
    for factors in ("2x1,1x2,1x1", "1x1,2x2,1x1", "2x2,2x1,1x2", "1x1,2x1,2x1", "2x2,1x2,2x1", "1x1,1x1,2x2", "4x1,2x1,1x1"):
        accepted(f"sampling_{factors}", make, sampling=factors)
    for luma, chroma in (("3x1", 0x21), ("1x3", 0x12)):
        refused(f"sampling_{luma}_over_{chroma:02x}", lambda l, c: sampled(make(sampling=f"{l},1x1,1x1"), 1, c),
                luma, chroma)
    for quality in range(1, 101):
        accepted(f"quality_{quality}", make, quality=quality, width=40, height=24)
    accepted("wide_tables", make, wide_tables=1, quality=20)
    accepted("wide_tables_progressive", make, wide_tables=1, quality=20, progressive=1)
    accepted("wide_tables_in_a_baseline_frame", lambda: as_frame(make(wide_tables=1, quality=20), SOF0))
    accepted("optimized", make, optimize=1)
    accepted("arithmetic", make, arithmetic=1)
    accepted("arithmetic_progressive", make, arithmetic=1, progressive=1)
    accepted("arithmetic_restarts", make, arithmetic=1, restart=2)
    accepted("extended_frame", lambda: as_frame(make(), SOF1))
    accepted("baseline_scans", make, scans=3)
    accepted("baseline_scans_sampled", make, scans=3, sampling="2x1,1x2,1x1", width=61)
    accepted("baseline_scans_restarts", make, scans=3, restart=2)
    accepted("baseline_100_scans", lambda: repeat_last_scan(make(scans=3), 100))
    for kind in ("scans", "progressive"):
        whole = {"scans": 3, "progressive": 1}[kind]
        accepted(f"{kind}_without_the_last", lambda k, w: without_last_scan(make(**{k: w})), kind, whole)
        accepted(f"{kind}_first_alone", lambda k, w: first_scan(make(**{k: w})), kind, whole)
    accepted("progressive_100_scans", lambda: repeat_last_scan(make(progressive=1), 100))
    refused("baseline_scan_after_a_whole_one", lambda: repeat_last_scan(make(), 2))
    refused("twelve_bits", mangled_frame, 0, 12)
    refused("sixteen_bits", mangled_frame, 0, 16)
    for marker in (SOF3, 0xC5, 0xC6, 0xC7, 0xC8, 0xCB, 0xCD, 0xCE, 0xCF, DHP):
        refused(f"frame_{marker:02x}", lambda m: as_frame(make(), m), marker)
    refused("hierarchical", lambda: before(make(), SOF0, segment(DHP, make()[frame(make()) : part(make(), SOF0)[2]])))


def add_restarts():
    for interval in (1, 2, 3, 7, 12, 1000, 65535):
        accepted(f"restart_{interval}", make, restart=interval)
        accepted(f"restart_{interval}_progressive", make, restart=interval, progressive=1)
    accepted("restart_missing", lambda: cut_out(with_restarts(), restarts(with_restarts())[1], 2))
    accepted("restart_all_missing", lambda: without_restarts(with_restarts()))
    for number in (0, 2, 3, 5, 7):
        accepted(f"restart_number_{number}", renumbered, number)
    accepted("restart_twice", lambda: insert(with_restarts(), restarts(with_restarts())[1], b"\xff\xd1"))
    accepted("restart_after_garbage", lambda: insert(with_restarts(), restarts(with_restarts())[1], b"garbage"))
    accepted("restart_after_reserved", lambda: insert(with_restarts(), restarts(with_restarts())[1], b"\xff\x02"))
    accepted("restart_after_fill", lambda: insert(with_restarts(), restarts(with_restarts())[1], b"\xff\xff\xff"))
    accepted("restart_not_announced", lambda: without(with_restarts(), DRI))
    accepted("restart_announced_falsely", lambda: before(make(), SOS, segment(DRI, b"\0\3")))
    accepted("restart_among_headers", lambda: before(make(), SOF0, b"\xff\xd3"))
    refused("restart_length", lambda: before(make(), SOS, segment(DRI, b"\0\3\0")))


def add_headers():
    for orientation in (1, 3, 6, 8, 99):
        accepted(f"exif_orientation_{orientation}", lambda o: after_start(make(), exif(orientation=o)), orientation)
    accepted("exif_thumbnail", lambda: after_start(make(), exif(thumbnail=make(width=16, height=16))))
    accepted("icc_small", save, icc_profile=b"profile" * 20)
    accepted("icc_large", lambda: after_start(make(), icc(300000)))
    accepted("photoshop", lambda: after_start(make(), PHOTOSHOP))
    accepted("comment_largest", lambda: after_start(make(), segment(COM, b"\xff\xd8\xff\xda" * 16383)))
    accepted("segments_of_2_mb", lambda: after_start(make(), segment(APP1, bytes(65533)) * 32))
    accepted("segments_of_no_bytes", lambda: after_start(make(), segment(COM) * 5 + segment(0xE9)))
    for length in (0, 1):
        accepted(f"comment_length_{length}", lambda n: after_start(make(), segment(COM, length=n)), length)
        refused(f"tables_length_{length}", lambda n: after_start(make(), segment(DHT, length=n)), length)
    accepted("multi_picture", multi_picture)
    accepted("garbage_after_the_end", lambda: make() + bytes(range(256)) * 300)
    accepted("two_in_one", lambda: make() + make(colours="grey", width=20))
    accepted("end_twice", lambda: make() + END)
    accepted("fill_before_markers", lambda: before(make(), SOF0, b"\xff" * 9))
    accepted("garbage_between_markers", lambda: before(make(), SOF0, b"garbage"))
    accepted("stuffing_between_markers", lambda: before(make(), SOF0, b"\xff\0\xff\0"))
    accepted("garbage_before_the_end", lambda: make()[:-2] + b"garbage" + END)
    accepted("comment_before_the_end", lambda: make()[:-2] + segment(COM, b"last") + END)
    accepted("scan_cut_but_ended", lambda: make()[: len(make()) // 2] + END)
    accepted("scan_empty_but_ended", lambda: make()[: part(make(), SOS)[2]] + END)
    accepted("tables_twice", lambda: before(make(), SOF0, only(make(), DQT, DHT)))
    accepted("tables_of_huffman_missing", lambda: without(make(), DHT))
    accepted("tables_in_a_stream_before", lambda: START + only(make(), DQT, DHT) + END + without(make(), DQT, DHT))
    accepted("tables_in_streams_before", lambda: START + only(make(), DQT) + END + START + only(make(), DHT) + END
             + without(make(), DQT, DHT))
    accepted("lines_announced_needlessly", lambda: before(make(), SOS, segment(DNL, b"\0\x30")))
    refused("tables_of_quantisation_missing", lambda: without(make(), DQT))
    refused("tables_alone", lambda: START + only(make(), DQT, DHT) + END)
    refused("tables_cut", lambda: before(make(), SOF0, segment(DQT, bytes([0]) + bytes(range(1, 30)))))
    refused("tables_of_huffman_overfull", lambda: before(make(), SOF0, segment(DHT, b"\0" + b"\xff" * 16 + bytes(255))))
    refused("garbage_before_the_start", lambda: b"\0" + make())
    refused("blank_before_the_start", lambda: b"\r\n" + make())
    refused("start_twice", lambda: START + make())
    refused("start_among_headers", lambda: before(make(), SOF0, START))
    refused("start_alone", lambda: START)
    refused("nothing", lambda: b"")
    refused("headers_alone", lambda: make()[: part(make(), SOS)[2]])
    refused("end_among_headers", lambda: before(make(), SOS, END))
    refused("end_missing", lambda: make()[:-2])
    accepted("end_missing_after_garbage", lambda: make()[:-2] + bytes(5000))
    refused("end_half", lambda: make()[:-1])
    refused("end_missing_progressive", lambda: make(progressive=1)[:-2])
    refused("height_none", lambda: sized(make(), 64, 0))
    refused("height_after_the_scan", lambda: sized(make(), 64, 0)[:-2] + segment(DNL, b"\0\x30") + END)
    refused("width_none", lambda: sized(make(), 0, 48))
    refused("side_65501", lambda: sized(make(), 65501, 1))
    refused("side_65535", lambda: sized(make(), 65535, 65535))
    refused("side_65500", lambda: sized(make(), 65500, 65500))
    refused("side_65500_progressive", lambda: sized(make(progressive=1), 65500, 65500))
    refused("frame_after_the_scan", lambda: without(make(), SOF0)[:-2] + only(make(), SOF0) + END)
    refused("frame_missing", lambda: without(make(), SOF0))
    refused("frame_twice", lambda: before(make(), SOS, only(make(), SOF0)))
    refused("frame_longer", lambda: before(without(make(), SOF0), SOS, segment(SOF0, only(make(), SOF0)[4:] + b"\0")))
    refused("scan_of_unknown_component", lambda: patch(make(), part(make(), SOS)[0] + 5, b"\x55"))
    for name, factors in dict(none=0x00, five=0x51, no_height=0x20).items():
        refused(f"sampling_{name}", lambda f: sampled(make(), 0, f), factors)
    refused("progression_impossible", lambda: patch(make(progressive=1), part(make(progressive=1), SOS)[2] - 3, b"\x70"))
    for marker in (TEM, 0x02, 0xBF, JPG0, 0xFD, 0xDF):
        refused(f"marker_{marker:02x}_among_headers", lambda m: before(make(), SOF0, bytes([0xFF, m])), marker)
    accepted("marker_01_before_the_end", lambda: make()[:-2] + b"\xff\x01" + END)
    accepted("marker_02_in_a_later_block", lambda: make()[:-2] + bytes(BLOCK) + b"\xff\x02" + END)
    refused("marker_02_in_the_same_block", lambda: make()[:-2] + bytes(BLOCK // 2) + b"\xff\x02" + END)
    refused("marker_02_before_the_end", lambda: make()[:-2] + b"\xff\x02" + END)
    accepted("length_over_the_end", lambda: make()[:-2] + segment(COM, length=65535) + END)


def add_sizes():
    sizes = (1, 1), (1, 2), (2, 1), (3, 3), (7, 9), (8, 8), (9, 8), (15, 17), (16, 16), (17, 1), (1, 33), (255, 2)
    for width, height in sizes:
        for name, more in dict(plain={}, progressive=dict(progressive=1), chroma_444=dict(sampling="1x1"),
                               ycck=dict(colours="ycck")).items():
            accepted(f"size_{width}x{height}_{name}", make, width=width, height=height, **more)
    accepted("longer_than_a_read", make, width=700, height=500, quality=95)
    accepted("longer_than_a_read_progressive", make, width=700, height=500, quality=95, progressive=1)
    accepted("longer_than_a_read_cmyk", make, width=500, height=400, quality=95, colours="cmyk")


for add in (add_colours, add_codings, add_restarts, add_headers, add_sizes):
    add()


def pil(data):
    """The pixels that PIL decodes, or the reason why it refuses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with Image.open(io.BytesIO(data)) as image:
                image.decodermaxblock = BLOCK  # whatever PIL's default has been changed to
                return np.asarray(image.convert("RGB")) if image.format in ("JPEG", "MPO") else f"it is {image.format}"
        except Exception as error:  # PIL lets out whatever its readers raise
            return f"{type(error).__name__}: {error}"


def pil_without_metadata(data):
    """The same by a PIL that does not look into APPn segments."""
    table = JpegImagePlugin.MARKER
    kept = dict(table)
    try:
        for marker in range(0xFFE0, 0xFFF0):
            table[marker] = (*table[marker][:2], JpegImagePlugin.Skip)
        return pil(data)
    finally:
        table.update(kept)


class Decoder:
    """rue's decoder, one process for all files."""

    def __init__(self):
        self.process = subprocess.Popen([tool("decode_jpegs")], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, data):
        """The pixels, or the reason why it refuses."""
        self.process.stdin.write(struct.pack("=I", len(data)) + data)
        self.process.stdin.flush()
        status, width, height = struct.unpack("=III", self.read(12))
        if status:
            reason = self.read(width).decode()
            assert status == 3, f"it is no fault of the data: {reason}"
            return reason
        return np.frombuffer(self.read(width * height * 3), np.uint8).reshape(height, width, 3)

    def read(self, count):
        data = self.process.stdout.read(count)
        assert len(data) == count, "the decoder ended early"
        return data

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=60) == 0
        self.process.stdout.close()


METADATA, SCANS = "metadata that PIL cannot read", "more scans than the limit"
ARITHMETIC = "arithmetic coding over more than one block of PIL's reader"


def is_long_arithmetic(data):
    return len(data) > BLOCK and (b"\xff\xc9" in data or b"\xff\xca" in data)


def compare(data, decode):
    """None where both decode to the same pixels or both refuse, the known difference where there is one; fails otherwise."""
    theirs, ours = pil(data), decode(data)
    if isinstance(ours, str) and isinstance(theirs, str):
        return None
    if isinstance(ours, str) and "more than 100 scans" in ours:
        return SCANS
    if isinstance(theirs, str):
        known, theirs = METADATA, pil_without_metadata(data)
        if isinstance(theirs, str) and is_long_arithmetic(data):
            return ARITHMETIC
        assert not isinstance(theirs, str), f"PIL refuses it ({theirs}), rue decodes it"
    else:
        known = None
    assert not isinstance(ours, str), f"PIL decodes it, rue says: {ours}"
    assert np.array_equal(ours, theirs), f"{np.count_nonzero(ours != theirs)} of {ours.size} levels differ"
    return known
