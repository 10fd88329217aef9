"""What the shells offer, from scripts that read --help, and the manual, which is what --help prints."""
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

import wording
from conftest import HANG_S, PROGRAM, ROOT, clean_environment

SHELL = ROOT / "tuner" / "shell"
COMMANDS = {"tune", "compare", "scale", "prepare", "inspect", "analyze", "check", "headroom", "show", "report", "why", "diff", "list", "models", "augment", "calibrate", "runner"}

CASES = {
    "a_command": ("rue tu", {"tune"}),
    "every_command": ("rue ", {*COMMANDS, "help", "--help", "--version"}),
    "program_option": ("rue --v", {"--version"}),
    "help_of": ("rue help in", {"inspect"}),
    "an_option": ("rue tune --b", {"--batch-size", "--batch-dtype", "--batches", "--budget", "--bad-images", "--baseline"}),
    "an_option_behind_data": ("rue tune photos --top", {"--top-n"}),
    "of_another_command": ("rue inspect --b", set()),
    "files_are_left_to_bash": ("rue inspect pho", set()),
    "unknown_command": ("rue tnue --b", set()),
}

ASK_BASH = r"""
source "$1"
line=$2
words=($line)
[[ $line == *' ' ]] && words+=("")
COMP_WORDS=("${words[@]}") COMP_CWORD=$((${#words[@]} - 1)) COMP_LINE=$line COMP_POINT=${#line} COMPREPLY=()
_rue rue "${words[-1]}" "${words[-2]}"
((${#COMPREPLY[@]})) && printf '%s\n' "${COMPREPLY[@]}"
exit 0
"""


@pytest.fixture
def folder(rue):
    (rue.folder / "photos/class_0").mkdir(parents=True)
    (rue.folder / "photo data").mkdir()
    return rue.folder


def shell(name):
    return shutil.which(name) or pytest.skip(f"skipped: {name} is not installed")


def environment(rue, **more):
    """With rue where the scripts look for it."""
    return {**clean_environment(**more), "PATH": f"{rue.program.parent}:{os.environ['PATH']}"}


def bash_completions(rue, folder, line):
    done = subprocess.run([shell("bash"), "--norc", "-c", ASK_BASH, "bash", SHELL / "rue.bash", line], cwd=folder, capture_output=True,
                          text=True, env=environment(rue), timeout=HANG_S)
    assert done.returncode == 0 and done.stderr == ""
    return done.stdout.splitlines()


def test_every_option_is_offered(rue, folder):
    for command in re.findall(r"^  (\w+)  ", rue("--help").stdout, re.MULTILINE):
        assert bash_completions(rue, folder, f"rue {command} -") == re.findall(r"^  (--[\w-]+)", rue(command, "--help").stdout, re.MULTILINE)


@pytest.mark.parametrize("name", CASES)
def test_bash_offers(rue, folder, name):
    line, offered = CASES[name]
    assert set(bash_completions(rue, folder, line)) == offered


def test_bash_itself_completes(rue, folder):
    """With a terminal and the tabulator key: the whole way that a person goes."""
    text = type_into(rue, [shell("bash"), "--norc", "--noprofile", "-i"], folder,
                     [f"PS1='$ '; source {SHELL / 'rue.bash'}; rue_prints() {{ printf '<%s>' \"$@\"; echo end; }}\n",
                      "rue tu\t--set-\t2% photos/cl\t\x01rue_prints \n"], "/>end")
    assert "<rue><tune><--set-epsilon><2%><photos/class_0/>end" in text, text


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


def test_zsh_can_read_its_script():
    done = subprocess.run([shell("zsh"), "-n", SHELL / "_rue"], capture_output=True, text=True, timeout=HANG_S)
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
    ("rue tu", {"tune"}), ("rue tune --bu", {"--budget"}), ("rue tune --no-s", {"--no-shuffle"}), ("rue help in", {"inspect"}),
    ("rue tune photos/cl", {"class_0"}),
])
def test_zsh_offers(rue, folder, tmp_path_factory, line, offered):
    functions = tmp_path_factory.mktemp("functions")
    shutil.copy(SHELL / "_rue", functions)
    done = subprocess.run([shell("zsh"), "-f", "-c", ASK_ZSH, "zsh", functions, line], cwd=folder, capture_output=True,
                          text=True, env=environment(rue, TERM="dumb"), timeout=HANG_S, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert offered <= set(re.findall(r"<<(.*?)>>", done.stdout)), done.stdout


# ---- the manual ----

@pytest.fixture(scope="module")
def page():
    path = PROGRAM and PROGRAM.parent / "rue.1"
    if not path or not path.exists():
        pytest.skip("skipped: this is no build folder")
    return path


def render(page):
    """What `man` shows in a window of 80 columns."""
    if not shutil.which("groff"):
        pytest.skip("skipped: groff is not installed")
    done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-rLL=78n", page], capture_output=True, text=True, timeout=HANG_S,
                          env=clean_environment())
    assert done.returncode == 0 and done.stderr == ""
    return re.sub("\x1b\\[\\d*m|.\b", "", done.stdout)


def find_examples(text):
    return re.findall(r"^ +((?:rue|cat|echo|eval) .*)$", text, re.MULTILINE)


def test_the_manual_is_the_help_of_every_command(rue, page):
    shown = render(page).replace("‐", "-")
    for command in re.findall(r"^  (\w+)  ", rue("--help").stdout, re.MULTILINE):
        section = shown.split(f"\nrue {command}\n")[1]
        lines = rue("help", command, env=dict(COLUMNS=70, LC_ALL="C")).stdout.splitlines()
        assert [line.strip() for line in section.splitlines()[:len(lines)]] == [line.strip() for line in lines], command
    lines = rue("help", env=dict(COLUMNS=70, LC_ALL="C")).stdout.split()
    assert shown.split("SYNOPSIS\n")[1].split()[:len(lines)] == lines


def test_the_runner_answers_its_example(rue):
    example, = find_examples(rue("runner", "--help").stdout)
    done = subprocess.run(["bash", "-c", example.replace("rue runner", f"'{rue.program}' runner")], text=True,
                          capture_output=True, timeout=HANG_S, env=clean_environment())
    assert json.loads(done.stdout)["protocol"] == "rue.runner/1" and done.stderr == ""


def test_the_manual_has_no_warnings(page):
    shown = render(page)
    assert max(map(len, shown.splitlines())) <= 80 and wording.EXIT_CODES in shown
    assert not re.search(r"\\[fe&]", shown), "no markup is left over"


def test_manual_and_completion_are_installed(tmp_path):
    build = PROGRAM and PROGRAM.parent
    if not build or not (build / "cmake_install.cmake").exists():
        pytest.skip("skipped: this is no build folder")
    subprocess.run(["cmake", "--install", build, "--prefix", tmp_path], check=True, stdout=subprocess.DEVNULL)
    bash, zsh = tmp_path / "share/bash-completion/completions/rue", tmp_path / "share/zsh/site-functions/_rue"
    assert wording.COMPLETE_O_DEFAULT_F in bash.read_text() and zsh.read_text().startswith("#compdef rue\n")
    assert (tmp_path / "share/man/man1/rue.1").read_text() == (build / "rue.1").read_text()
