"""What the shells offer, from the scripts that `rue completion` prints, and the manual: both made from the option tables."""
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import time

import pytest

from conftest import HANG_S, PROGRAM, clean_environment

MODELS = {"resnet18", "resnet34", "resnet50", "resnet101", "resnet152"}

CASES = {
    "a_command": ("rue tu", {"tune"}),
    "every_command": ("rue ", {"tune", "compare", "scale", "prepare", "inspect", "analyze", "check", "show", "list", "models", "calibrate", "runner", "completion", "help", "--help",
                              "--version"}),
    "program_option": ("rue --v", {"--version"}),
    "help_of": ("rue help in", {"inspect"}),
    "an_option": ("rue tune --b", {"--batch-size", "--batch-dtype", "--batches", "--budget", "--bad-images", "--baseline"}),
    "an_option_behind_data": ("rue tune photos --top", {"--top-n"}),
    "of_another_command": ("rue inspect --b", set()),
    "a_word": ("rue tune --mode ", {"all", "raw", "preprocessed"}),
    "a_word_begun": ("rue tune --mode pre", {"preprocessed"}),
    "a_word_with_equals": ("rue tune --cache=w", {"warm"}),
    "a_word_with_equals_alone": ("rue tune --cache=", {"warm", "cold", "as-is"}),
    "of_this_command": ("rue prepare --mode ", {"preprocessed", "raw"}),
    "an_underscore": ("rue tune --bad_images ", {"fail", "replace"}),
    "a_model": ("rue tune --model res", MODELS),
    "a_second_model": ("rue tune --model none,vit_", {f"none,vit_{m}" for m in ("b_16", "b_32", "l_16", "l_32")}),
    "no_model_twice": ("rue tune --model resnet18,res", {f"resnet18,{m}" for m in MODELS - {"resnet18"}}),
    "a_list": ("rue tune --parallelism batch,", {"batch,sample"}),
    "a_number": ("rue tune --images ", set()),
    "a_flag_takes_nothing": ("rue tune --fresh pho", {"photos", "photo data"}),
    "data": ("rue tune ", {"photos", "photo data", "notes.txt"}),
    "data_begun": ("rue inspect pho", {"photos", "photo data"}),
    "a_path": ("rue tune --out photos/c", {"photos/class_0"}),
    "no_argument": ("rue runner ", set()),
    "a_shell": ("rue completion ", {"bash", "zsh"}),
    "after_dashes": ("rue tune -- -", {"-odd"}),
    "unknown_command": ("rue tnue --b", set()),
    "unknown_command_argument": ("rue tnue x", set()),
}

ASK_BASH = r"""
source "$1"
line=$2
words=(${line//=/ = })
[[ $line == *' ' || $line == *= ]] && words+=("")
[[ $line == *= ]] && unset 'words[-1]'
COMP_WORDS=("${words[@]}") COMP_CWORD=$((${#words[@]} - 1)) COMP_LINE=$line COMP_POINT=${#line} COMPREPLY=()
_rue rue "${words[-1]}" "${words[-2]}"
((${#COMPREPLY[@]})) && printf '%s\n' "${COMPREPLY[@]}"
exit 0
"""


@pytest.fixture
def folder(rue):
    (rue.folder / "photos/class_0").mkdir(parents=True)
    (rue.folder / "photo data").mkdir()
    (rue.folder / "notes.txt").touch()
    (rue.folder / "-odd").touch()
    return rue.folder


def shell(name):
    return shutil.which(name) or pytest.skip(f"skipped: {name} is not installed")


def environment(rue, **more):
    """With rue where the scripts look for it."""
    return {**clean_environment(**more), "PATH": f"{rue.program.parent}:{os.environ['PATH']}"}


def test_every_option_is_offered(rue):
    for command in re.findall(r"^  (\w+)  ", rue("--help").stdout, re.MULTILINE):
        offered = re.findall(r"^(--[\w-]+)\t\S", rue("completion", "offer", "--", command, "-.").stdout, re.MULTILINE)
        assert offered == re.findall(r"^  (--[\w-]+)", rue(command, "--help").stdout, re.MULTILINE), command


@pytest.mark.parametrize("name", CASES)
def test_bash_offers(rue, folder, tmp_path_factory, name):
    line, offered = CASES[name]
    script = tmp_path_factory.mktemp("script") / "rue"
    script.write_text(rue("completion", "bash").stdout)
    done = subprocess.run([shell("bash"), "--norc", "-c", ASK_BASH, "bash", script, line], cwd=folder, capture_output=True,
                          text=True, env=environment(rue), timeout=HANG_S)
    assert done.returncode == 0 and done.stderr == ""
    found = set(done.stdout.splitlines())
    assert found - {"-odd"} == offered - {"-odd"} and ("-odd" in found) >= ("-odd" in offered)


def test_bash_itself_completes(rue, folder, tmp_path_factory):
    """With a terminal and the tabulator key: the whole way that a person goes."""
    script = tmp_path_factory.mktemp("script") / "rue"
    script.write_text(rue("completion", "bash").stdout)
    text = type_into(rue, [shell("bash"), "--norc", "--noprofile", "-i"], folder,
                     [f"PS1='$ '; source {script}; rue() {{ printf '<%s>' \"$@\"; echo end; }}\n",
                      "rue tu\t--mode=pre\tphotos/cl\t\n"], "/>end")
    assert "<tune><--mode=preprocessed><photos/class_0/>end" in text, text


def type_into(rue, words, folder, lines, mark):
    """What a shell in a terminal shows for those lines, each typed at a prompt, up to `mark`."""
    try:
        pid, master = pty.fork()
    except OSError as why:
        pytest.skip(f"skipped: no terminal can be had here: {why}")
    if pid == 0:
        os.chdir(folder)
        os.execve(words[0], words, environment(rue, TERM="dumb", HOME=folder))
    text, deadline = "", time.monotonic() + HANG_S
    for line in [*lines, None]:
        while not (text.endswith(("$ ", "# ")) if line else mark in text):
            assert time.monotonic() < deadline, text
            if select.select([master], [], [], 1)[0]:
                text += os.read(master, 65536).decode(errors="replace")
        if line:
            text += "\n"
            os.write(master, line.encode())
    os.kill(pid, signal.SIGKILL)
    os.close(master)
    os.waitpid(pid, 0)
    return text


def test_zsh_can_read_its_script(rue, tmp_path):
    (tmp_path / "_rue").write_text(rue("completion", "zsh").stdout)
    done = subprocess.run([shell("zsh"), "-n", tmp_path / "_rue"], capture_output=True, text=True, timeout=HANG_S)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


ASK_ZSH = r"""
zmodload zsh/zpty
zpty z 'zsh -f -i'
say() { zpty -w z "$1"; }
say "unset zle_bracketed_paste; PROMPT=; stty cols 300; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -d $1/dump"
say "zstyle ':completion:*' list-colors ''; LISTMAX=0; zle -C ask complete-word _ask; bindkey '^I' ask"
say '_ask() { compadd() { local -a got; builtin compadd -O got "$@"; print -rl -- "<<"$^got">>"; builtin compadd "$@" }; _main_complete; print "all""done"; }'
say 'echo rea""dy'
zpty -r -m z out '*ready*' || exit 1
zpty -w -n z "$2"$'\t'
zpty -r -m z out '*alldone*' || exit 1
print -r -- "$out"
zpty -d z
"""


@pytest.mark.parametrize("line, offered", [
    ("rue tu", {"tune"}), ("rue tune --bu", {"--budget"}), ("rue tune --mode ", {"all", "raw", "preprocessed"}),
    ("rue tune --mode=p", {"preprocessed"}), ("rue tune --model resnet1", {"resnet18", "resnet101", "resnet152"}),
    ("rue tune --model resnet18,vit_b", {"resnet18,vit_b_16", "resnet18,vit_b_32"}), ("rue completion ", {"bash", "zsh"}),
    ("rue help in", {"inspect"}),
])
def test_zsh_offers(rue, folder, tmp_path_factory, line, offered):
    functions = tmp_path_factory.mktemp("functions")
    (functions / "_rue").write_text(rue("completion", "zsh").stdout)
    done = subprocess.run([shell("zsh"), "-f", "-c", ASK_ZSH, "zsh", functions, line], cwd=folder, capture_output=True,
                          text=True, env=environment(rue, TERM="dumb"), timeout=HANG_S, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert offered <= set(re.findall(r"<<(.*?)>>", done.stdout)), done.stdout


# ---- the manual ----

@pytest.fixture(scope="module")
def page():
    path = PROGRAM and PROGRAM.parent / "rue.1"
    if not path or not path.exists():
        pytest.skip("skipped: no manual was built (scdoc is not installed)")
    return path


def test_every_option_and_bound_is_in_the_manual(rue, page):
    text = page.read_text().replace("\\-", "-").replace("\\&", "")
    commands = re.findall(r"^  (\w+)  ", rue("--help").stdout, re.MULTILINE)
    for command in commands:
        section = text.split(f'.SS rue {command}\n')[1].split("\n.S")[0]
        options = re.findall(r"^  (--[\w-]+)", rue(command, "--help", env=dict(COLUMNS=300)).stdout, re.MULTILINE)
        assert re.findall(r"^\\fB(--[\w-]+)\\fR", section, re.MULTILINE) == options
    assert len(commands) > 4 and "a whole number from 1 to 1000" in text and "one of all, raw, preprocessed" in text
    assert all(f"\\fB{code}\\fR" in text for code in (0, 1, 2, 3, 4, 5, 6, 130, 141, 143)) and "resnet152" in text


def render(page):
    """What `man` shows in a window of 80 columns."""
    if not shutil.which("groff"):
        pytest.skip("skipped: groff is not installed")
    done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-rLL=78n", page], capture_output=True, text=True, timeout=HANG_S,
                          env=clean_environment())
    assert done.returncode == 0 and done.stderr == ""
    return re.sub("\x1b\\[\\d*m|.\b", "", done.stdout)


def examples_of(text):
    return re.findall(r"^ +((?:rue|cat|echo|eval) .*)$", text, re.MULTILINE)


def test_the_manual_s_examples_can_be_pasted_and_every_command_has_one(rue, page):
    commands = re.findall(r"^  (\w+)  ", rue("--help").stdout, re.MULTILINE)
    helps = [rue(command, "--help", env=dict(COLUMNS=300)).stdout.split("\nOptions:")[0] for command in commands]
    section = re.search(r"^EXAMPLES$(.*?)^\S", render(page), re.MULTILINE | re.DOTALL).group(1)
    assert all(any(f"rue {command}" in line for line in examples_of(text)) for command, text in zip(commands, helps))
    assert examples_of(section) == [line for text in helps for line in examples_of(text)]


def test_the_runner_answers_its_example(rue):
    example, = examples_of(rue("runner", "--help").stdout)
    done = subprocess.run(["bash", "-c", example.replace("rue runner", f"'{rue.program}' runner")], text=True,
                          capture_output=True, timeout=HANG_S, env=clean_environment())
    assert json.loads(done.stdout)["protocol"] == "rue.runner/1" and done.stderr == ""


def test_the_manual_says_nothing_silly(page):
    shown = " ".join(re.sub(r"‐\n +", "", render(page)).split())
    assert "The value is one of tensor" not in shown and "The value is one of all, raw, preprocessed." in shown
    assert shown.count("show this help") > 4 and "rue analyze --study" in shown.split(" FILES ")[1]


def test_the_manual_has_no_warnings(page):
    shown = render(page)
    assert max(map(len, shown.splitlines())) <= 80 and "EXIT STATUS" in shown
    assert not re.search(r"\\f|\*rue|_DATA_", shown), "no markup is left over"


def test_manual_and_completion_are_installed(tmp_path):
    build = PROGRAM and PROGRAM.parent
    if not build or not (build / "cmake_install.cmake").exists():
        pytest.skip("skipped: this is no build folder")
    subprocess.run(["cmake", "--install", build, "--prefix", tmp_path], check=True, stdout=subprocess.DEVNULL)
    bash, zsh = tmp_path / "share/bash-completion/completions/rue", tmp_path / "share/zsh/site-functions/_rue"
    assert "complete -F _rue rue" in bash.read_text() and zsh.read_text().startswith("#compdef rue\n")
    assert (tmp_path / "share/man/man1/rue.1").exists() == (build / "rue.1").exists()
    assert "rue_manual" not in {path.name for path in tmp_path.rglob("*")}
