"""rue report: the page of a study, its plots, and what a browser makes of them."""
import base64
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

from conftest import ROOT, expect_failure, make_table, read_json, unwrap

MODELS = ["ape", "bee", "cow"]
TABLE = make_table(MODELS, [16, 32, 64], [0, 2, 4], lambda m, b, w: 1000 + 7 * abs(b - 40) + 90 * abs(w - MODELS.index(m)))
QUICK = ["--model", "resnet18,resnet50", "--batch-size", "4,8", "--num-workers", "0,1,2", "--prefetch-factor", "2,4", "--images", "20",
         "--strategy", "grid", "--quiet"]
EVIL = "<img src=x onerror=alert(1)>&amp;'\""
CHROMIUM = shutil.which("chromium")

# Run in a copy of the page: what is wider than the window, texts of a chart that overlap or leave it.
PROBE = """
addEventListener("load", () => {
  const found = [];
  const root = document.scrollingElement;
  if (root.scrollWidth > root.clientWidth) found.push("page wider than the window: " + root.scrollWidth);
  for (const chart of document.querySelectorAll("svg.c:not(.q)")) {
    const frame = chart.getBoundingClientRect();
    const texts = [...chart.querySelectorAll("text")].map((text) => [text.textContent, text.getBoundingClientRect()]);
    texts.forEach(([text, box], i) => {
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
        found.push(chart.getAttribute("aria-label") + ": outside: " + text);
      for (const [other, second] of texts.slice(i + 1)) {
        const wide = Math.min(box.right, second.right) - Math.max(box.left, second.left);
        const high = Math.min(box.bottom, second.bottom) - Math.max(box.top, second.top);
        if (wide > 1 && high > 3) found.push(chart.getAttribute("aria-label") + ": overlap: " + text + " / " + other);
      }
    });
  }
  const header = document.querySelector("th[data-s]");
  header.click();
  document.body.innerHTML = "";
  document.body.append("FOUND" + JSON.stringify({ found, width: innerWidth, sorted: header.dataset.s }) + "END");
});
"""


@pytest.fixture(scope="module")
def study(program, photos, tmp_path_factory):
    """A study of two modes, with its report."""
    folder = tmp_path_factory.mktemp("report")
    subprocess.run([program, "tune", photos, *QUICK, "--out", "out"], cwd=folder, check=True, capture_output=True)
    subprocess.run([program, "report", "out"], cwd=folder, check=True, capture_output=True)
    return folder / "out"


def read_data(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL).group(1))


def cell(config):
    return tuple(config["config"].values())


def check_alone(page):
    """It needs no other file and no network, and no script runs but its own."""
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL).group(1)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'\"" in page
    assert script == (ROOT / "reports/page/page.js").read_text() and len(script) < 10000
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
    assert [name in page for name in ("heat-raw", "heat-prefetch_factor-raw", "batch-raw", "workers-raw", "model-raw", "parts-raw",
                                      "first-batch-raw", "front-raw", "timeline", "payback")] == [True] * 10


def test_tune_names_its_page(rue, own_photos):
    done = rue("tune", own_photos, *QUICK[:-1], "--out", "out")
    assert done.returncode == 0 and re.search(r"^written: out/recommendation.json, trials.csv, report.html, study.db$", done.stderr, re.MULTILINE)
    check_alone((rue.folder / "out/report.html").read_text())


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

def open_in_browser(page, folder, width):
    """What the probe finds in a copy without the policy, and what the browser says of the page itself."""
    words = [CHROMIUM, "--headless", "--disable-gpu", "--no-sandbox", "--disable-dev-shm-usage", f"--user-data-dir={folder}/browser",
             "--enable-logging=stderr", "--hide-scrollbars", f"--window-size={width},2000"]
    copy = folder / "copy.html"
    copy.write_text(re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text()).replace(
        "</body>", f"<script>{PROBE}</script></body>"))
    log = folder / "net.json"
    real = subprocess.run([*words, f"--log-net-log={log}", "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=50)
    probed = subprocess.run([*words, "--dump-dom", copy.as_uri()], capture_output=True, text=True, timeout=50)
    found = re.search(r"FOUND(.*)END", probed.stdout)
    assert found, probed.stderr
    asked = [url for url in re.findall(r'"url":"([a-z]+:[^"]+)"', log.read_text()) if url.startswith("file:") and url != page.as_uri()]
    return real, json.loads(found.group(1).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")), asked


@pytest.mark.skipif(not CHROMIUM, reason="skipped: no chromium")
@pytest.mark.parametrize("width", [500, 1400])
def test_a_browser_shows_the_page(study, tmp_path, width):
    real, probed, asked = open_in_browser(study / "report.html", tmp_path, width)
    assert "CONSOLE" not in real.stderr and asked == []
    assert "Use batch_size" in real.stdout
    assert probed["found"] == [] and (probed["width"], probed["sorted"]) == (width, "1")


# ---- other studies ----

def test_names_are_text(rue, own_photos):
    evil = rue.folder / EVIL.replace("/", "")
    own_photos.rename(evil)
    assert rue("tune", evil, *QUICK, "--out", "o" + EVIL).returncode == 0
    done = rue("report", "o" + EVIL)
    assert done.returncode == 0, done.stderr
    page = (rue.folder / ("o" + EVIL) / "report.html").read_text()
    check_alone(page)
    assert "<img" not in page and "&lt;img src=x onerror=alert(1)&gt;&amp;amp;&#39;&quot;" in page


def test_an_unfinished_study_has_a_page_that_says_so(rue, script):
    assert rue("tune", "--runner", script(TABLE, images=100).command, "--quiet", "--out", "out", "--images", "100", "--strategy", "grid",
               "--budget", "9trials").returncode in (0, 5)
    done = rue("report", "out", "--out", "page", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Partial results" in (rue.folder / "page/report.html").read_text()


def test_failed_trials_are_listed_with_a_command(rue, own_photos):
    assert rue("tune", own_photos, *QUICK, "--max-memory", "6M", "--out", "out").returncode in (0, 4)
    assert rue("report", "out").returncode == 0
    text = unwrap(re.sub(r"<[^>]+>", " ", (rue.folder / "out/report.html").read_text()))
    command = re.search(r"rue tune \S+ --model resnet18 --images \d+ --batch-size 8 --num-workers 2[^<]*?(?= \d+ |$)", text)
    assert "gave no time" in text and command, text[-3000:]


# ---- bad input ----

@pytest.mark.parametrize("words, code, said", [
    (["nowhere"], 3, "cannot open nowhere"),
    (["."], 3, "is not a study"),
    (["--out", "/proc/x", "STUDY"], 6, "cannot make the folder /proc/x"),
], ids=["nowhere", "no_study", "no_place"])
def test_what_cannot_be_reported(rue, study, words, code, said):
    expect_failure(rue("report", *[str(study) if word == "STUDY" else word for word in words]), code, said)


def test_a_page_of_others_is_kept(rue, study):
    page = rue.folder / "page"
    page.mkdir()
    (page / "report.html").write_text("mine")
    expect_failure(rue("report", study, "--out", page), 6, "report.html", "rue did not write it")
    assert (page / "report.html").read_text() == "mine"
