"""How everything that people read is worded: words that the house does not use, and the length of sentences.

`python3 tests/house/test_words.py [FOLDER...]` lists what the tests would complain of."""
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LONGEST = 25  # words in a sentence

# What a reader has to translate, or to read twice. "there is no X" and "is no longer" are plain.
UNCLEAR = re.compile(r"""\b(told|tells?|telling|mend(s|ed|ing)?|go(es)?[ ]on|went[ ]on|taken|(?<!under[ ])ways?|what[ ]there[ ]is|so[ ](much|often|sure)|
    anew|alike|nobody|somebody|once[ ]and[ ]again|
    (?<!there[ ])(is|are|was|were|be|being)[ ]no(?![ ](longer|more|less|fewer|better|worse|larger|smaller|slower|faster)\b)|
    (?<!there[ ])(has|have|had|holds?)[ ]no(?=[ ]more[ ]than))\b""", re.X | re.I)

# Names that say nothing about what a thing is or does.
VAGUE = re.compile(r"\b(?:[a-z]\w*_)?(?:told|tells?|(?<!under_)ways?|takes?|taken|leave|pass|of|again|alike|wanted|anew|mended)\b")

FOR_MACHINES = re.compile(r"^(SELECT|CREATE|INSERT|CASE|UPDATE|DELETE|WITH)\b|%\*[a-z]")  # SQL and formats of scanf

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|\n|\b(?:PRI\w+|[A-Z][A-Z_]{3,})\b|[^\s]', re.S)


def files(*patterns):
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.split()]


def c_texts(path):
    """(line, "string" or "comment", text) of a C source; literals that follow each other are one string."""
    text, line, parts, start = path.read_text(), 1, [], 0
    for match in TOKEN.finditer(text):
        token = match.group()
        if token[0] == '"':
            start = start if parts else line
            parts.append(re.sub(r"\\n", " ", token[1:-1]))
        elif parts and not (token.isspace() or (token[0].isupper() and token[0] != "N")):
            yield start, "string", "".join(parts)
            parts = []
        if token.startswith(("/*", "//")):
            yield line, "comment", re.sub(r"\n\s*\*? ?", " ", token.strip("/* \n"))
        line += token.count("\n")


def prose(path):
    """(line, text) of each paragraph, item and cell of a page that is not code."""
    fenced, start, lines = False, 0, []
    for number, line in enumerate([*path.read_text().splitlines(), ""], 1):
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        item = re.match(r"\s*([-*]|\d+\.)\s|#|\||<", line)
        if lines and (fence or fenced or item or not line.strip()):
            yield start, " ".join(lines)
            lines = []
        if fence or fenced or not line.strip():
            continue
        if line.startswith(("|", "<")):
            for cell in line.strip("|").split("|"):
                yield number, cell
            continue
        start = start if lines else number
        lines.append(line.strip())


def sentences(text):
    plain = re.sub(r"`[^`]*`", "X", re.sub(r"\]\([^)]*\)", "]", text))
    return [part for part in re.split(r"(?<=[.!?:;])\s+|\s{2,}", plain) if part]


def complain(path, line, kind, text, limit):
    place = f"{path.relative_to(ROOT)}:{line}: {kind}"
    for match in UNCLEAR.finditer(re.sub(r"`[^`]*`", "X", text)):
        yield f"{place}: '{match.group()}' in: {text[max(0, match.start() - 50):match.end() + 50]}"
    for sentence in sentences(text):
        count = len(re.findall(r"[A-Za-z%][\w%'.-]*", sentence))
        if limit and count > limit:
            yield f"{place}: {count} words: {sentence}"


def check_source(path):
    found = [words for line, kind, text in c_texts(path) if " " in text
             for words in complain(path, line, kind, text, LONGEST if kind == "string" and not FOR_MACHINES.search(text) else 0)]
    code = re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:[^\"\\\n]|\\.)*\"|#include[^\n]*", lambda match: "\n" * match.group().count("\n"),
                  path.read_text(), flags=re.S)
    return found + [f"{path.relative_to(ROOT)}:{line}: name: {name}" for line, text in enumerate(code.splitlines(), 1)
                    for name in VAGUE.findall(text)]


def check_page(path):
    return [words for line, text in prose(path) for words in complain(path, line, "text", text, LONGEST)]


SOURCES = [path for path in files("*.c", "*.h", "*.cu", "*.cuh") if path.relative_to(ROOT).parts[0] not in ("tests", "docs")]
PAGES = [path for path in files("*.md") if path.relative_to(ROOT).parts[0] != "tests"]


@pytest.mark.quick
def test_the_checks_find_unclear_words(tmp_path):
    source = ROOT / "tests/house/unclear.c"
    found = [words for kind, text in (("string", "It is told of."), ("comment", "A file that is no file"), ("string", "word " * 26))
             for words in complain(source, 1, kind, text, LONGEST)]
    assert len(found) == 3


@pytest.mark.quick
def test_the_program_uses_plain_words():
    found = [words for path in SOURCES for words in check_source(path)]
    assert not found, "\n".join(found)


@pytest.mark.quick
def test_the_pages_use_plain_words():
    found = [words for path in PAGES for words in check_page(path)]
    assert not found, "\n".join(found)


@pytest.mark.quick
def test_a_command_in_quotes_names_the_program_as_it_runs_here():
    """By rue_program_name(): the shell may know no "rue". Help texts are the exception, as help.c puts the name in."""
    helps = re.compile(r"tuner/(commands/(cmd_\w+|help)\.c|options/\w+\.h)")
    found = [f"{path.relative_to(ROOT)}:{line}: {text}" for path in SOURCES if not helps.fullmatch(str(path.relative_to(ROOT)))
             for line, kind, text in c_texts(path) if kind == "string" and re.search(r"['`]rue ", text)]
    calls = re.compile(r"\b(rue_fail|rue_say|rue_terminal_print|rue_progress_note)\([^;]*?['`]rue [^;]*;", re.S)
    found += [f"{path.relative_to(ROOT)}: {match.group()}" for path in SOURCES for match in calls.finditer(path.read_text())]
    assert not found, "\n".join(found)


if __name__ == "__main__":
    wanted = tuple(str((ROOT / name).resolve()) for name in sys.argv[1:]) or (str(ROOT),)
    lines = [words for path in [*SOURCES, *PAGES] if str(path).startswith(wanted)
             for words in (check_page if path.suffix == ".md" else check_source)(path)]
    print("\n".join([*lines, f"{len(lines)} complaints"]))
