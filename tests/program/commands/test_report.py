"""rue report: the page of a study, its plots, and what a browser makes of them."""
import base64
import hashlib
import itertools
import json
import pathlib
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

from browser import CHROMIUM, Browser
import wording
from conftest import HANG_S, ROOT, clean_environment, expect_failure, make_table, read_json, unwrap

MODELS = ["ape", "bee", "cow"]
TABLE = make_table(MODELS, [16, 32, 64], [0, 2, 4], lambda m, b, w: 1000 + 7 * abs(b - 40) + 90 * abs(w - MODELS.index(m)))
QUICK = ["--model", "resnet18,resnet50", "--batch-size", "4,8", "--num-workers", "0,1,2", "--images", "20", "--strategy", "grid"]
EVIL = "<img src=x onerror=alert(1)>&amp;'\""
NO_PNG = dict(PATH="/nowhere")  # rsvg-convert takes most of the time of a report


@pytest.fixture(scope="module")
def tuned(program, tmp_path_factory):
    """A folder, what `rue tune` of two modes said in it, and the page that it wrote to out."""
    folder = tmp_path_factory.mktemp("report")
    run(program, folder, "prepare", "--synthetic", "20", "photos", "--quiet")
    done = run(program, folder, "tune", "photos", *QUICK, "--prefetch-factor", "2,4", "--out", "out")
    return folder, done.stderr, (folder / "out/report.html").read_text()


@pytest.fixture(scope="module")
def study(program, tuned):
    """The study of `tuned`, with its whole report."""
    run(program, tuned[0], "report", "out", "--full")
    return tuned[0] / "out"


def run(program, folder, *words):
    """It may be undecided: the machine may be busy."""
    done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, timeout=HANG_S, env=clean_environment())
    assert done.returncode in (0, 5), done.stderr
    return done


def read_data(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL).group(1))


def cell(config):
    return tuple(config["config"].values())


def check_alone(page):
    """It needs no other file and no network, and no script runs but its own."""
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL).group(1)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'\"" in page
    assert script == (ROOT / "reports/draw/page.js").read_text() and len(script) < 10000
    assert page.count("<script") == 2
    assert not re.search(r"""(src|href)=["'](?!#)|@import|url\((?!#)|https?://(?!www\.w3\.org/2000/svg)""", page)


# ---- the page ----

@pytest.mark.quick
def test_a_study_becomes_a_page(rue, study):
    page = (study / "report.html").read_text()
    check_alone(page)
    assert len(page) < 500_000
    text = unwrap(re.sub(r"<[^>]+>", " ", page))
    for sentence in unwrap(rue("show", study).stdout).split("Preprocessed data make")[0].split(". ")[:2]:
        assert sentence.strip(". ") in text
    for inside, file in zip(read_data(page)["recommendations"], read_json(study / "recommendation.json")["recommendations"], strict=True):
        assert [(cell(c), pytest.approx(c["mean_regret_ratio"])) for c in inside["configs"]] == [(cell(c), c["mean_regret_ratio"]) for c in file["configs"]]
    assert [name in page for name in ("heat-raw", "answer-raw", "heat-prefetch_factor-raw", "batch-raw", "workers-raw", "model-raw", "parts-raw",
                                      "first-batch-raw", "front-raw", "timeline", "payback")] == [True] * 11


def test_the_markdown_is_the_first_screen(program, study):
    run(program, study.parent, "report", "out", "--out", "short", "--quiet")
    short, full = ((folder / "report.md").read_text() for folder in (study.parent / "short", study))
    assert full.startswith(short) and len(short.splitlines()) < 60 < len(full.splitlines())
    assert "\n#" not in short and ("Loader.from_recommendation(" in short or "rue tune photos" in short) and wording.WITH_A_PERFECT_LOADER in short
    assert re.findall(r"plots/([\w-]+)\.svg", short) == ["heat-raw-folder", "answer-raw-folder"]


def test_the_first_screen_says_what_it_shows_and_leads_to_the_other_variant(study):
    page = (study / "report.html").read_text()
    poster, sections = page.split('<details class="s">', 1)
    other = wording.THE_ANSWER_FOR_PREPROCESSED
    assert wording.FIGURES_AND_CHARTS_BELOW in poster and 'id="answer-raw-folder"' in poster and 'id="answer-preprocessed' not in poster
    target = re.search(f'<h2>{other}</h2></summary>\n<div class="g" id="(part-\\d+)">(.*?)</details>\n<details class="s">', sections, re.DOTALL)
    assert f'<a href="#{target.group(1)}">' in poster and 'id="answer-preprocessed' in target.group(2) and "<dl>" in target.group(2)
    assert "Loader.from_recommendation" not in target.group(2), "the sample is not kept"


def test_a_first_screen_of_many_models_has_bars_of_some(rue, script, browser):
    models = [f"model{i}" for i in range(30)]
    table = make_table(models, [16, 32], [0, 1], lambda m, b, w: 1000 + b + 300 * w + 20 * int(m[5:]))
    one = script(table, images=100)
    assert rue("tune", "--runner", one.command, "--quiet", "--out", "many", "--images", "100", "--strategy", "grid").returncode in (0, 5)
    figure = re.search('<figure id="answer-[^"]*">(.*?)</figure>', (rue.folder / "many/report.html").read_text(), re.DOTALL).group(1)
    assert wording.OF_30_MODELS.format(12) in figure and ">model0</text>" in figure and ">model29</text>" in figure
    shown = browser.open(rue.folder / "many/report.html", 1400)
    assert shown["found"] == [] and shown["poster"] <= 900


def test_sentences_and_plots_say_the_same_of_waiting(study):
    page = (study / "report.html").read_text()
    figure = re.search(r'<figure id="answer-raw-folder">(.*?)</figure>', page, re.DOTALL).group(1)
    said = re.search(wording.WAITS_FOR_DATA.format(r"(\d+)"), unwrap(re.sub(r"<[^>]+>", " ", page))).group(1)
    assert said in re.findall(r"waits (\d+)", unwrap(figure))


def test_report_writes_the_page_of_tune_again(tuned, study):
    assert (study / "report.html").read_text() == tuned[2]


def test_tune_names_its_page(tuned):
    _, said, page = tuned
    assert re.search(r"^written: out/recommendation.json, trials.csv, report.html, study.db$", said, re.MULTILINE)
    check_alone(page)


def test_every_plot_is_a_valid_file_that_the_markdown_shows(study):
    markdown = (study / "report.md").read_text()
    plots = sorted(path.name for path in (study / "plots").glob("*.svg"))
    assert sorted(re.findall(r"\(plots/([\w-]+\.svg)\)", markdown)) == plots and len(plots) > 15
    for path in (study / "plots").glob("*.svg"):
        root = ElementTree.parse(path).getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg" and float(root.get("width")) > 0
        assert root.find("{http://www.w3.org/2000/svg}title").text
    assert markdown.count("<details>") == markdown.count("</details>") > 5


@pytest.mark.skipif(not shutil.which("rsvg-convert"), reason="skipped: no rsvg-convert")
def test_plots_are_pictures_too(study):
    for path in (study / "plots").glob("*.svg"):
        assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


def test_the_page_follows_the_rules_of_html(study):
    html5lib = pytest.importorskip("html5lib", reason="skipped: no html5lib")
    parser = html5lib.HTMLParser(strict=True)
    parser.parse((study / "report.html").read_text())
    assert not parser.errors


# ---- in a browser ----

@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if not CHROMIUM:
        pytest.skip("skipped: no chromium")
    with Browser(tmp_path_factory.mktemp("browser")) as one:
        yield one


def test_a_browser_shows_each_page_in_narrow_and_wide_windows(program, study, browser):
    folder = study.parent
    run(program, folder, "prepare", "photos", "u8.tensor", "--dtype", "uint8", "--quiet")
    run(program, folder, "compare", "photos", "u8.tensor", *QUICK, "--out", "compared")
    run(program, folder, "scale", "photos", *QUICK[2:-2], "--out", "scaled")
    run(program, folder, "diff", "out", "compared", "--html", "changes.html")
    says = {"out/report.html": "Use batch_size", "compared/report.html": "pays back", "scaled/report.html": "images/s",
            "changes.html": "The recommendation"}
    for name, width in itertools.product(says, [400, 1400]):
        shown = browser.open(folder / name, width)
        assert (shown["found"], shown["console"], shown["asked"]) == ([], [], []), (name, width)
        assert says[name] in shown["text"] and (shown["width"], shown["sorted"]) == (width, "1"), (name, width)
        assert shown["cut_off"] == [] and (width == 400 or (shown["scrolls"] == [] and (shown["poster"] or 0) <= 900)), (name, width, shown["poster"])


def test_the_probe_finds_what_is_wrong_with_a_page(study, browser, tmp_path):
    page, chart = (study / "report.html").read_text(), '<svg class="c" width="300" height="40" aria-label="{}"{}>{}</svg>'
    text = lambda x, words: f'<text x="{x}" y="20">{words}</text>'
    wrong = "".join([
        '<div style="width:1500px">wide</div>', chart.format("A", "", text(8, "one") + text(9, "two")), chart.format("B", "", text(299, "three")),
        chart.format("C", ' viewBox="0 0 600 80"', text(99, "small")), '<p style="margin-bottom:-1.5em">above</p><p>below</p>',
        '<details><summary>more</summary><p style="width:50px;overflow:hidden;white-space:nowrap">a cut sentence</p></details>',
        '<img src="other.svg" alt=""><script>console.error("no")</script>'])
    bad = tmp_path / "page.html"
    bad.write_text(re.sub('<meta http-equiv="Content-Security-Policy"[^>]*>', "", page).replace("</main>", wrong + "</main>"))
    (tmp_path / "other.svg").write_text("<svg/>")
    for width in (400, 1400):
        shown = browser.open(bad, width)
        assert re.sub(r": \d{4}$", "", "\n".join(shown["found"]), flags=re.MULTILINE).split("\n") == [
            "page wider than the window", "A: overlap: one / two", "B: outside: three", "C: too small to read", "cut: a cut sentence",
            "overlap: above / below"]
        assert shown["asked"] == [(tmp_path / "other.svg").as_uri()] and shown["console"][0]["args"][0]["value"] == "no"
    bad.write_text(page.replace("</main>", "<script>document.title</script></main>"))
    assert wording.CONTENT_SECURITY_POLICY in str(browser.open(bad, 400)["console"])


# ---- other studies ----

def test_names_are_text(rue, own_photos):
    evil = rue.folder / EVIL.replace("/", "")
    own_photos.rename(evil)
    assert rue("tune", evil, *QUICK, "--out", "o" + EVIL).returncode in (0, 5)
    done = rue("report", "o" + EVIL, env=NO_PNG)
    assert done.returncode == 0, done.stderr
    page = (rue.folder / ("o" + EVIL) / "report.html").read_text()
    check_alone(page)
    assert "<img" not in page and wording.LT_IMG_SRC_X.format(1) in page


def test_what_a_runner_says_is_text(rue, script, browser):
    evil = "<script>alert(1)</script>\"&'\n\U0001F600\u202e"
    faults = [dict(when=dict(cell=cell), do="answer", answer=dict(status=status, reason=evil)) for cell, status in
              (("16/0", "failed"), ("32/0", "infeasible"))]
    names = [evil, "m" + evil]
    hello = dict(runner=evil, machine=dict(cpu=evil, usable_cpus=4))
    table = make_table(names, [16, 32], [0, 1], lambda m, b, w: 1000 + b + 300 * w + len(m))
    for name in ("a", "b"):
        one = script(table, images=100, faults=faults, hello=dict(hello, runner=name + evil))
        assert rue("tune", "--runner", one.command, "--quiet", "--out", name, "--images", "100", "--strategy", "grid").returncode == 0
        one.log_path.unlink()
    assert rue("report", "a", env=NO_PNG).returncode == 0 and rue("diff", "a", "b", "--html", "diff.html").returncode == 0
    for path in (rue.folder / "a/report.html", rue.folder / "diff.html"):
        check_alone(path.read_text())
        shown = browser.open(path, 400)
        assert (shown["found"], shown["console"]) == ([], []) and "<script>alert(1)" in shown["text"] and "\u202e" not in shown["text"]
    for path in (rue.folder / "a/plots").glob("*.svg"):
        assert "\u202e" not in "".join(ElementTree.parse(path).getroot().itertext())
    assert "<script" not in (rue.folder / "a/report.md").read_text()


def test_an_unfinished_study_has_a_page_that_says_so(rue, script):
    assert rue("tune", "--runner", script(TABLE, images=100).command, "--quiet", "--out", "out", "--images", "100", "--strategy", "grid",
               "--budget", "9trials").returncode in (0, 5)
    done = rue("report", "out", "--out", "page", "--quiet", env=NO_PNG)
    assert (done.returncode, done.stderr) == (0, "")
    assert wording.PARTIAL_RESULTS in (rue.folder / "page/report.html").read_text()


def test_failed_trials_are_listed_with_a_command(rue, own_photos):
    assert rue("tune", own_photos, *QUICK, "--max-memory", "6M", "--out", "out").returncode in (0, 4, 5)
    assert rue("report", "out", env=NO_PNG).returncode == 0
    text = unwrap(re.sub(r"<[^>]+>", " ", (rue.folder / "out/report.html").read_text()))
    command = re.search(r"rue tune \S+ --model resnet18 --images \d+ --batch-size 8 --num-workers 2[^<]*?(?= \d+ |$)", text)
    assert wording.GAVE_NO_TIME in text and command, text[-3000:]


# ---- bad input ----

@pytest.mark.parametrize("words, code, said", [
    (["nowhere"], 3, "cannot open nowhere"),
    (["."], 3, "is not a study"),
    (["--out", "/proc/x", "STUDY"], 6, "cannot create /proc/x"),
], ids=["nowhere", "no_study", "no_place"])
def test_what_cannot_be_reported(rue, study, words, code, said):
    expect_failure(rue("report", *[str(study) if word == "STUDY" else word for word in words]), code, said)


def test_a_page_of_others_is_kept(rue, study):
    page = rue.folder / "page"
    page.mkdir()
    (page / "report.html").write_text("mine")
    expect_failure(rue("report", study, "--out", page), 6, "report.html", "rue did not write it")
    assert (page / "report.html").read_text() == "mine"
