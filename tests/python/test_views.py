"""Several views of an image from one decode: a list of tensors, each as the view alone would be; and what is refused."""
import pickle

import pytest
from small_data import PHOTOS, small  # noqa: F401: a fixture

np = pytest.importorskip("numpy", reason="NumPy is not installed (python3-numpy)")
import rue_tuner  # noqa: E402

TRAIN = dict(transform="train", dtype="uint8", seed=3, shuffle=False, drop_last=False, output="numpy")


def first(small, batch_size=PHOTOS, **options):  # noqa: F811
    with rue_tuner.Loader(small / "photos", batch_size=batch_size, **{**TRAIN, **options}) as loader:
        return next(iter(loader))[0]


def test_a_preset_gives_a_list_of_tensors(small):  # noqa: F811
    views = first(small, 3, augment="dino")
    assert isinstance(views, list) and [view.shape for view in views] == [(3, 3, 224, 224)] * 2 + [(3, 3, 96, 96)] * 8
    assert len({view.tobytes() for view in views}) == 10


def test_the_first_view_has_the_pixels_of_a_single_one(small):  # noqa: F811
    views = first(small, augment=["simclr", {"views": 2, "image_size": (40, 64), "flip": 1}, "mild@32"], layout="nhwc")
    assert [view.shape[1:] for view in views] == [(224, 224, 3), (40, 64, 3), (40, 64, 3), (32, 32, 3)]
    assert np.array_equal(views[0], first(small, augment="simclr", layout="nhwc"))
    assert isinstance(first(small, augment=["simclr"]), np.ndarray)


def test_views_do_not_depend_on_batches_and_workers(small):  # noqa: F811
    whole, options = first(small, augment="mild,2*mild@33"), dict(augment="mild,2*mild@33", batch_size=4, hold=PHOTOS)  # the last batch has fewer
    for more in (dict(num_workers=0), dict(num_workers=3), dict(num_workers=3, parallelism="sample"), dict(num_workers=1, read="batch"),
                 dict(num_workers=2, batch_strategy="memory"), dict(num_workers=2, batch_strategy="adaptive")):
        with rue_tuner.Loader(small / "photos", **{**TRAIN, **options, **more}) as loader:
            batches = [images for images, _ in loader]
        assert len(batches) >= -(-PHOTOS // 4) and all(len(batch) == 3 for batch in batches)
        for view, parts in zip(whole, zip(*batches)):
            assert np.array_equal(view, np.concatenate(parts)), more


def test_the_views_are_those_of_the_time_when_the_loader_was_made(small):  # noqa: F811
    given = [{"area": [0.2, 1]}, {"image_size": 40}]
    with rue_tuner.Loader(small / "photos", batch_size=4, **TRAIN, augment=given) as loader:
        given[1]["image_size"] = 8
        given.append("mild")
        assert [view.shape[2:] for view in next(iter(loader))[0]] == [(224, 224), (40, 40)]


def test_a_state_suits_other_words_for_the_same_views(small):  # noqa: F811
    def make(augment):
        return rue_tuner.Loader(small / "photos", batch_size=4, hold=PHOTOS, **TRAIN, augment=augment)
    with make("mild,2*mild@33") as loader:
        batches = iter(loader)
        next(batches)
        state, copied = loader.state_dict(), pickle.loads(pickle.dumps(loader))
        rest = list(batches)
    for other in (make(["mild", "mild@33", {"image_size": (33, 33)}]), copied, make("mild").with_(augment="mild,2*mild@33")):
        other.load_state_dict(state)
        for before, now in zip(rest, other):
            assert all(map(np.array_equal, before[0], now[0]))
    with pytest.raises(ValueError, match="augment"):
        make("mild,mild@33").load_state_dict(state)


def test_kept_batches_and_transforms_have_all_views(small):  # noqa: F811
    def halve(images, labels):
        return [image // 2 for image in images], labels
    options = dict(augment="mild,mild@33", batch_size=2, hold=2)
    with rue_tuner.Loader(small / "photos", **{**TRAIN, **options}) as loader, pytest.warns(UserWarning, match="from now on they are copied"):
        kept = [images for images, _ in loader]
    for images, halved in zip(kept, (images for images, _ in rue_tuner.Loader(small / "photos", batch_transform=halve, **{**TRAIN, **options}))):
        assert all(np.array_equal(image // 2, half) for image, half in zip(images, halved))


def test_tensors_have_the_same_values(small):  # noqa: F811
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
    arrays, tensors = first(small, augment="mild,mild@33", dtype="float32"), first(small, augment="mild,mild@33", dtype="float32", output="torch")
    assert all(torch.equal(torch.from_numpy(array), tensor) and tensor.is_contiguous() for array, tensor in zip(arrays, tensors))


@pytest.mark.parametrize("augment, said", [
    ("dinno", "augment: unknown preset 'dinno': did you mean 'dino'"), ("33*mild", "augment: 33 views: the limit is 32 in all"),
    ("mild@0", "augment: image_size '0'"), ("mild,", "augment: the name of a preset is missing"), ([], "expected a preset, or a recipe"),
    ([{"views": 0}], "0 views"), ("2*mild@16384", "the views of an image have 1610612736 values, and the limit is 1073741824"), ([{"image_size": None}], "image_size 'None'"), ([{"views": "x"}], "views x: expected a whole number"), ([{"image_size": 20000}], "image_size '20000'"),
    ("dino@96", "augment: dino is several views"), ([None], "expected a preset, or a recipe"), ([{"flip": 2}], "augment: flip: the probability 2")])
def test_wrong_views_are_one_clear_line(small, augment, said):  # noqa: F811
    with pytest.raises(ValueError, match=said.replace("*", r"\*")):
        rue_tuner.Loader(small / "photos", **{**TRAIN, "augment": augment})
