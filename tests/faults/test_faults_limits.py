"""What a limit of the system refuses: the right exit code, and a line that says which limit to raise."""
import json
import resource
import subprocess

import pytest

from conftest import HANG_S, Rue, clean_environment, expect_failure, make_table
from test_faults_resources import copy_photos, limited, lonely_rue  # noqa: F401 (a fixture)

QUICK = ["--batch-size", "4", "--num-workers", "0,1", "--model", "none", "--mode", "raw", "--quiet", "--out", "out"]
COMMANDS = {"inspect": ["inspect", "PHOTOS"], "prepare": ["prepare", "PHOTOS", "x", "--quiet"],
            "synthetic": ["prepare", "--synthetic", "8", "x", "--quiet"], "tune": ["tune", "PHOTOS", *QUICK],
            "inspect_tensor": ["inspect", "TENSOR"]}


@pytest.mark.parametrize("name", COMMANDS)
def test_too_few_descriptors_name_the_limit_to_raise(release, photos, tmp_path, name):
    """Whatever it is that could not be opened."""
    tensor = tmp_path / "data.tensor"
    assert Rue(release, tmp_path)("prepare", photos, tensor, "--images", "3", "--quiet").returncode == 0
    words = [{"PHOTOS": photos, "TENSOR": tensor}.get(word, word) for word in COMMANDS[name]]
    told = 0
    for most in range(4, 16):
        folder = tmp_path / str(most)
        folder.mkdir()
        done = Rue(release, folder)(*words, preexec_fn=limited(resource.RLIMIT_NOFILE, most))
        if done.returncode not in (0, 127):  # 127: the program could not be loaded
            expect_failure(done, done.returncode, "Too many open files", "raise the limit on open files (ulimit -n)")
            told += 1
    assert told


def test_a_runner_without_memory_to_open_the_data_is_infeasible(rue, release, photos):
    """The data are not at fault, which the exit code 3 would say."""
    wrapper = rue.folder / "runner.sh"
    wrapper.write_text(f"ulimit -n 4\nexec {release} runner\n")
    done = rue("tune", photos, *QUICK, "--runner", f"sh {wrapper}")
    expect_failure(done, 4, "the runner cannot open the data", str(photos),
                   "Too many open files; raise the limit on open files (ulimit -n)")


@pytest.mark.parametrize("refused, words", [(dict(), ["no slab for you; free some memory", "(ulimit -v)"]),
                                            (dict(refused=1), ["no slab for you"])])
def test_an_infeasible_open_of_another_runner_has_a_next_step(rue, script, refused, words):
    """A runner that the system refused something says itself what to do."""
    opened = dict(status="infeasible", reason="no slab for you", **refused)
    one = script(make_table(["ape"], [16], [0], lambda m, b, w: 1000), opened=opened)
    line = expect_failure(rue("tune", "--runner", one.command, "--quiet", "--out", "out"), 4, *words)
    assert line.count("ulimit") == (0 if refused else 1)


def test_refused_threads_do_not_suggest_smaller_batches(lonely_rue, photos):  # noqa: F811
    copy_photos(photos, lonely_rue.folder / "photos")
    words = [word if word != "0,1" else "2" for word in QUICK]
    done = lonely_rue("tune", "photos", *words, most=3)  # the tuner, its keeper and the runner
    line = expect_failure(done, 4, "worker threads: Resource temporarily unavailable", "(ulimit -u)")
    assert "--batch-size" not in line


def test_batches_that_do_not_fit_are_a_reason_for_smaller_ones(rue, photos):
    done = rue("tune", photos, *QUICK, "--max-memory", "1M")
    expect_failure(done, 4, "the limit is 1", "--batch-size", "--max-memory")


def test_the_runner_answers_infeasible_to_any_client(release, photos):
    request = dict(op="open", variant=dict(path=str(photos), mode="raw", format="folder"))
    done = subprocess.run([release, "runner"], input=json.dumps(request) + "\n", capture_output=True, text=True,
                          timeout=HANG_S, env=clean_environment(), preexec_fn=limited(resource.RLIMIT_NOFILE, 4))
    reply = json.loads(done.stdout)
    assert reply["status"] == "infeasible" and str(photos) in reply["reason"]
