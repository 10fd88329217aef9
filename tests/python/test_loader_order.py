"""Epochs, resume and ranks of rue_tuner.Loader: every image in its place, exactly once, whoever asks and whenever it stops."""
import copy
import itertools
import json
import pickle
import textwrap

import pytest
from conftest import finish
from launchers import free_ports
from small_data import PHOTOS, prepare, run_python, small, start_python  # noqa: F401: a fixture

np = pytest.importorskip("numpy", reason="NumPy is not installed (python3-numpy)")
import rue_tuner as rue  # noqa: E402

BATCH = 4


@pytest.fixture
def make(small):
    def make(**options):
        return rue.Loader(small / "uint8.tensor", **dict(dict(batch_size=BATCH, shuffle=True, output="numpy", returns="items", num_workers=1), **options))
    return make


def flat(batches):
    return [int(item) for items in batches for item in items]


def epoch(loader, number):
    loader.set_epoch(number)
    return flat(loader)


# ---- epochs ----

def test_epochs_advance_and_set_epoch_repeats_one(make):
    loader, other = make(), make(num_workers=0)
    orders = [flat(loader) for _ in range(4)]
    assert all(sorted(order) == list(range(PHOTOS)) for order in orders) and len(set(map(tuple, orders))) == 4
    assert [epoch(other, number) for number in (2, 0, 3, 1)] == [orders[number] for number in (2, 0, 3, 1)]
    assert loader.epoch == 4 and other.epoch == 2 and flat(other) == orders[2]
    assert epoch(make(), 10 ** 18) == epoch(make(), np.int64(10 ** 18)) and sorted(epoch(make(), 2 ** 62)) == list(range(PHOTOS))


@pytest.mark.parametrize("number, error", [(-1, ValueError), (2 ** 64, ValueError), (2 ** 62 + 1, ValueError), (1.0, TypeError), ("1", TypeError), (None, TypeError)])
def test_set_epoch_refuses_what_is_not_an_epoch(make, number, error):
    loader = make()
    pytest.raises(error, loader.set_epoch, number)
    assert loader.epoch == 0


def test_a_newer_iterator_ends_the_old_one(make):
    loader = make()
    old = iter(loader)
    first = next(old)
    new = iter(loader)
    with pytest.raises(RuntimeError, match="newer"):
        next(old)
    assert iter(new) is new and len(new) == len(loader) == 6
    assert flat(new) == epoch(make(), 1) and next(iter(make())).tolist() == first.tolist()


def test_break_and_early_ends_advance_the_epoch(make):
    loader = make()
    for stop in (1, 3, 6):  # the last of them is the whole epoch, without StopIteration
        assert len(list(itertools.islice(iter(loader), stop))) == stop
    assert loader.epoch == 3 and flat(loader) == epoch(make(), 3)
    assert [list(itertools.islice(loader, 0)), loader.epoch] == [[], 4]


def test_it_is_used_as_a_dataloader_is(make):
    loader = make(returns=("images", "items"))
    assert [index for index, _ in enumerate(loader)] == list(range(6))
    assert flat(a for (_, a), _ in zip(loader, make())) == epoch(make(), 1)
    batches = iter(loader)
    assert flat(items for _, items in batches) == epoch(make(), 2)
    for _ in range(3):
        pytest.raises(StopIteration, next, batches)
    assert loader.epoch == 3 and loader and loader == loader and {loader: 1}[loader] == 1 and loader != make()
    assert [len(items) for _, items in make(drop_last=True, returns=("images", "items"))] == [BATCH] * 5


# ---- resume ----

def after(loader, batches):
    """The items of so many batches, and then a state as JSON."""
    items = flat(itertools.islice(iter(loader), batches)) if batches else []
    return items, json.loads(json.dumps(loader.state_dict()))


@pytest.mark.parametrize("more", [dict(), dict(num_workers=3), dict(parallelism="sample", num_workers=2), dict(prefetch_factor=7), dict(batch_size=1), dict(drop_last=True)],
                         ids=str)
@pytest.mark.parametrize("number", [0, 1, 5])
def test_a_state_continues_exactly(make, number, more):
    same = {name: more[name] for name in more if name == "drop_last"}
    first, second = (epoch(make(**same), number + i) for i in (0, 1))
    for stop in range(len(make(**same)) + 1):
        saver, loader = make(**same), make(**more)
        saver.set_epoch(number)
        items, state = after(saver, stop)
        loader.load_state_dict(state)
        assert loader.epoch == number + (items == first) and loader.state_dict() == state
        rest = flat(loader)
        assert rest == second if items == first else (items + rest, flat(loader)) == (first, second), stop


def test_a_state_continues_with_another_size_of_batches_that_drops_the_last(make):
    first = epoch(make(), 0)
    items, state = after(make(), 2)
    loader = make(batch_size=5, drop_last=True)  # 22 - 8 images: two batches, and 4 that are dropped
    loader.load_state_dict(state)
    assert items + flat(loader) == first[:18] and flat(loader) == epoch(make(), 1)[:20]
    loader.load_state_dict({**state, "images": 21})
    assert loader.epoch == 1 and flat(loader) == epoch(make(), 1)[:20] and loader.epoch == 2


def test_a_state_may_be_saved_and_loaded_twice_in_an_epoch(make):
    first, items, state = epoch(make(), 2), [], None
    for _ in range(3):
        loader = make()
        loader.load_state_dict(state) if state else loader.set_epoch(2)
        batches = iter(loader)
        items += flat(itertools.islice(batches, 1))
        loader.state_dict()
        items += flat(itertools.islice(batches, 1))
        state = loader.state_dict()
    assert items == first and state["epoch"] == 3 and state["images"] == 0


def test_set_epoch_of_the_same_epoch_keeps_the_loaded_position(make):
    """As Lightning and Trainer call it before each epoch."""
    items, state = after(make(), 2)
    loader = make()
    loader.load_state_dict(state)
    loader.set_epoch(0), loader.sampler.set_epoch(0)
    assert items + flat(loader) == epoch(make(), 0)
    assert epoch(loader, 0) == epoch(make(), 0)  # later it is a whole epoch
    loader.load_state_dict(state)
    assert epoch(loader, 4) == epoch(make(), 4)


def test_a_state_continues_in_another_process(make, small):
    items, state = after(make(), 3)
    code, out, err = run_python("""
        import json, sys
        loader = rue.Loader("uint8.tensor", batch_size=4, shuffle=True, output="numpy", returns="items", num_workers=2)
        loader.load_state_dict(json.loads(sys.argv[1]))
        print([int(item) for items in loader for item in items])
    """, json.dumps(state), cwd=small)
    assert code == 0 and items + json.loads(out) == epoch(make(), 0), err


@pytest.mark.parametrize("old, new", [(4, 2), (2, 4), (1, 2), (2, 1), (4, 1)])
def test_a_state_continues_on_another_number_of_ranks(make, old, new):
    for stop in range(3):
        states = [after(make(rank=rank, world_size=old, batch_size=2), stop) for rank in range(old)]
        assert all(state == states[0][1] for _, state in states)
        rest = [make(rank=rank, world_size=new, batch_size=2, even=False) for rank in range(new)]
        for loader in rest:
            loader.load_state_dict(states[0][1])
        done = [item for items, _ in states for item in items]
        assert sorted(done + [item for loader in rest for item in flat(loader)]) == list(range(PHOTOS))


REFUSED = {
    "seed": dict(seed=5), "shuffle": dict(shuffle=False), "share": dict(share="contiguous"), "transform": dict(transform="train"), "decode": dict(decode="fast"),
    "orientation": dict(orientation="apply"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_state_of_another_recipe_is_refused(small, name):
    options = dict(batch_size=4, shuffle=True, output="numpy")
    _, state = after(rue.Loader(small / "photos", returns="items", **options), 2)
    loader = rue.Loader(small / "photos", **{**options, **REFUSED[name]})
    with pytest.raises(ValueError, match=name):
        loader.load_state_dict(state)
    loader.load_state_dict(state, strict=False)
    assert loader.state_dict()["images"] == 8


@pytest.mark.parametrize("change", [dict(format="x"), dict(epoch=-1), dict(images=-4), dict(images="4"), dict(images=2.0), dict(epoch=2 ** 63), dict(world_size=0),
                                    dict(images=PHOTOS + 1), dict(world_size=3), dict(images=None)], ids=str)
def test_a_damaged_state_is_refused(make, change):
    loader = make()
    _, state = after(loader, 1)
    for strict in (True, False):
        pytest.raises(ValueError, make(rank=0, world_size=5).load_state_dict if change == dict(world_size=3) else make().load_state_dict, {**state, **change}, strict)
    for wrong in ({}, None, [], "state"):
        pytest.raises(ValueError, loader.load_state_dict, wrong)
    assert len(flat(loader)) == PHOTOS


def test_changed_data_are_refused(small, tmp_path):
    for photo in (small / "photos").rglob("*.jpg"):
        (tmp_path / photo.parent.name).mkdir(exist_ok=True)
        (tmp_path / photo.parent.name / photo.name).write_bytes(photo.read_bytes())
    options = dict(output="numpy", batch_size=4)
    _, state = after(rue.Loader(tmp_path, returns="items", **options), 2)
    (tmp_path / "class_0/photo_00000.jpg").unlink()
    with pytest.raises(ValueError, match="the data changed since the state was saved"):
        rue.Loader(tmp_path, **options).load_state_dict(state)


# ---- copies ----

@pytest.mark.parametrize("duplicate", [lambda loader: pickle.loads(pickle.dumps(loader)), copy.copy, copy.deepcopy], ids=["pickle", "copy", "deepcopy"])
def test_a_copy_has_the_position_and_its_own_threads(make, small, monkeypatch, duplicate):
    monkeypatch.chdir(small)
    loader = rue.Loader("uint8.tensor", batch_size=4, shuffle=True, output="numpy", returns="items", rank=1, world_size=2)
    batches = iter(loader)
    first = flat([next(batches)])
    monkeypatch.chdir("/")
    other = duplicate(loader)
    assert flat(other) == flat(batches) and other.epoch == loader.epoch == 1 and other.rank == 1 and first
    loader.close()
    assert flat(other) == epoch(make(rank=1, world_size=2), 1)


def test_with_shares_the_data_also_after_close(make):
    loader = make()
    loader.close()
    assert epoch(loader.with_(batch_size=7), 0) == epoch(make(), 0) and loader.with_(rank=1, world_size=2).images == 11
    pytest.raises(TypeError, loader.with_, bath_size=3)


def test_it_goes_to_spawned_processes(small, tmp_path):
    script = tmp_path / "spawned.py"
    script.write_text(textwrap.dedent("""
        import multiprocessing, sys
        import rue_tuner as rue
        def work(loader, queue):
            queue.put([int(item) for items in loader for item in items])
        if __name__ == "__main__":
            loader = rue.Loader(sys.argv[1], batch_size=4, output="numpy", returns="items")
            next(iter(loader))
            context = multiprocessing.get_context("spawn")
            queue = context.Queue()
            process = context.Process(target=work, args=(loader, queue))
            process.start()
            assert queue.get() == list(range(4, 22))
            process.join()
    """))
    assert finish(start_python(script, small / "uint8.tensor", cwd=tmp_path)) == (0, "", "")


# ---- ranks ----

@pytest.mark.parametrize("share", ["strided", "contiguous"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7])
def test_ranks_share_the_data(make, ranks, share):
    def load(**more):
        loaders = [make(rank=rank, world_size=ranks, share=share, batch_size=2, **more) for rank in range(ranks)]
        items = [flat(loader) for loader in loaders]
        assert [len(loader) for loader in loaders] == [-(-len(own) // 2) for own in items] and [loader.images for loader in loaders] == list(map(len, items))
        return items, [loader.stats.padded for loader in loaders]
    exact, padded = load(even=False)
    assert sorted(sum(exact, [])) == list(range(PHOTOS)) and padded == [0] * ranks
    fewer, _ = load(even="drop")
    assert {len(own) for own in fewer} == {PHOTOS // ranks} and len(set(sum(fewer, []))) == PHOTOS // ranks * ranks
    more, padded = load(even="pad")
    assert {len(own) for own in more} == {-(-PHOTOS // ranks)} and set(sum(more, [])) == set(range(PHOTOS)) and sum(padded) == -PHOTOS % ranks
    assert load() == (more, padded) and {len(own) for own in load(drop_last=True)[0]} == {PHOTOS // ranks // 2 * 2}


def test_uneven_shards_give_equal_numbers_of_batches(small, tmp_path):
    prepare("--format", "webdataset", "--shard-size", "90K", small / "photos", tmp_path / "shards")
    for even, sizes in dict(drop=1, pad=1).items():
        loaders = [rue.Loader(tmp_path / "shards", rank=rank, world_size=3, share="shards", even=even, batch_size=2, output="numpy", returns="items") for rank in range(3)]
        items = [flat(loader) for loader in loaders]
        assert len(set(map(len, items))) == len({len(loader) for loader in loaders}) == sizes
        assert even == "drop" or set(sum(items, [])) == set(range(PHOTOS))


ENVIRONMENTS = [
    (dict(RANK="1", WORLD_SIZE="2"), {}, (1, 2)), (dict(RANK="1", WORLD_SIZE="2", PET_NPROC_PER_NODE="auto"), {}, (1, 2)), (dict(RANK="1", WORLD_SIZE="2"), dict(rank=0, world_size=4), (0, 4)),
    (dict(SLURM_PROCID="3", SLURM_NTASKS="8"), {}, (0, 1)), (dict(SLURM_PROCID="3", SLURM_NTASKS="8"), dict(world_size="env"), (3, 8)),
    (dict(OMPI_COMM_WORLD_RANK="2", OMPI_COMM_WORLD_SIZE="3", RANK="0", WORLD_SIZE="1"), dict(world_size="env"), (2, 3)), (dict(RANK="", WORLD_SIZE="x"), {}, (0, 1)),
]


@pytest.mark.parametrize("variables, options, share", ENVIRONMENTS)
def test_the_environment_of_launchers_says_the_rank(make, monkeypatch, variables, options, share):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    loader = make(**options)
    assert (loader.rank, loader.world_size) == share and set(flat(loader)) == set(epoch(make(rank=share[0], world_size=share[1]), 0))
    assert (f"rank {share[0]} of {share[1]}" in repr(loader)) == (share[1] > 1)


def test_the_number_of_a_pod_is_not_that_of_a_process(make, monkeypatch):
    """Kubeflow's training operator sets these in each pod, and torchrun in each process."""
    for name, value in dict(RANK="1", WORLD_SIZE="8", PET_NPROC_PER_NODE="4").items():
        monkeypatch.setenv(name, value)
    loader = make()
    with pytest.raises(ValueError, match="RANK=1 is the number of a pod with 4 processes.*give rank and world_size"):
        len(loader)
    assert make(rank=0, world_size=1).images == 22
    monkeypatch.setenv("LOCAL_RANK", "0"), monkeypatch.setenv("RANK", "4")
    assert (loader.rank, loader.world_size) == (4, 8)


def test_ranks_are_decided_at_the_first_iteration(make, monkeypatch):
    loader, late = make(), make()
    assert len(late) == 6 and late.state_dict()["world_size"] == 1 and late.epoch == 0
    flat(loader)
    monkeypatch.setenv("RANK", "1"), monkeypatch.setenv("WORLD_SIZE", "2")
    assert (len(late), late.rank, len(flat(late))) == (3, 1, 11)
    with pytest.raises(RuntimeError, match="rank 0 of 1, and this process is rank 1 of 2"):
        iter(loader)
    monkeypatch.delenv("RANK")
    assert len(flat(late)) == 11


DISTRIBUTED = """
    import json, sys
    import torch.distributed as dist
    import rue_tuner as rue
    loaders = [rue.Loader(sys.argv[1], batch_size=4, shuffle=True, returns="items", even=even) for even in (False, "drop", "pad")]
    early = [len(loader) for loader in loaders]
    dist.init_process_group("gloo", **json.loads(sys.argv[2]))
    items = [[int(item) for items in loader for item in items] for loader in loaders]
    print(json.dumps(dict(items=items, early=early, ranks=loaders[0].world_size, len=list(map(len, loaders)), states=[loader.state_dict() for loader in loaders])))
    dist.barrier()
"""


@pytest.mark.parametrize("how", ["torchrun", "arguments"])
def test_ranks_of_torch_distributed(small, tmp_path, how):
    pytest.importorskip("torch.distributed", reason="PyTorch is not installed (python3-torch)")
    (tmp_path / "script.py").write_text(textwrap.dedent(DISTRIBUTED))
    port, ranks = free_ports(1)[0], 3
    words = [dict(init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=ranks) if how == "arguments" else {} for rank in range(ranks)]
    variables = [dict(RANK=rank, WORLD_SIZE=ranks, MASTER_ADDR="127.0.0.1", MASTER_PORT=port) if how == "torchrun" else {} for rank in range(ranks)]
    started = [start_python(tmp_path / "script.py", small / "uint8.tensor", json.dumps(word), cwd=tmp_path, **more) for word, more in zip(words, variables)]
    ended = [finish(process) for process in started]
    assert [(code, err) for code, _, err in ended] == [(0, "")] * ranks
    answers = [json.loads(out) for _, out, _ in ended]
    assert all(answer["ranks"] == ranks and answer["early"][2] == (2 if how == "torchrun" else 6) for answer in answers)
    exact, fewer, more = ([answer["items"][even] for answer in answers] for even in range(3))
    assert sorted(sum(exact, [])) == list(range(PHOTOS)) and len(set(sum(fewer, []))) == 21 and set(sum(more, [])) == set(range(PHOTOS))
    assert {len(own) for own in fewer} == {7} and {len(own) for own in more} == {8}
    assert all(answer["len"][1:] == [2, 2] and answer["states"][1:] == answers[0]["states"][1:] for answer in answers)
