from __future__ import annotations

import pickle
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from PIL import Image
from PIL.JpegImagePlugin import JpegImageFile

from hedgerow import Hierarchy
from hedgerow.errors import FileError, HedgerowError, ParameterError, ScoreError
from hedgerow.learn import data
from hedgerow.learn.data import DataSplits, LabelledInputs
from hedgerow.learn.data.image_files import ImageFiles
from hedgerow.learn.data.splits import hold_out, to_float
from tests.learn.data.folders import gradient_image, write_image

if TYPE_CHECKING:
    from pathlib import Path

PETS = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])


def test_examples_keep_inputs_labels_and_ids_together() -> None:
    examples = LabelledInputs(np.arange(8.0).reshape(4, 2), [1, 2, 3, 0], ["a", "b", "c", "d"])
    assert np.asarray(examples.inputs).dtype == np.float32
    chosen = examples.subset([3, 1])
    assert (chosen.labels.tolist(), chosen.ids.tolist()) == ([0, 2], ["d", "b"])
    np.testing.assert_array_equal(np.asarray(chosen.inputs), [[6, 7], [2, 3]])
    assert examples.subset(examples.labels > 1).ids.tolist() == ["b", "c"]
    assert examples.with_labels([0, 0, 0, 0]).labels.sum() == 0
    assert examples.labels.tolist() == [1, 2, 3, 0]
    assert repr(examples) == "LabelledInputs(4 x 2, float32)"


@pytest.mark.parametrize(
    ("inputs", "shape"),
    [
        (np.zeros((2, 5)), (5,)),
        (np.zeros((2, 7, 6), np.uint8), (1, 7, 6)),
        (np.zeros((2, 7, 6, 3), np.uint8), (3, 7, 6)),
        (ImageFiles.of(["a.jpg", "b.jpg"], size=64), (3, 64, 64)),
        (["a.jpg", "b.jpg"], (3, 224, 224)),
    ],
)
def test_the_shape_that_a_model_sees(inputs: object, shape: tuple[int, ...]) -> None:
    assert LabelledInputs(inputs, [0, 1]).input_shape == shape


@pytest.mark.parametrize(
    ("inputs", "labels", "message"),
    [
        (np.zeros((2, 3)), [0], "one entry per example, 2; got 1"),
        (np.zeros((2, 3, 4)), [0, 0], "got float64 of shape (2, 3, 4)"),
        (np.zeros((2, 3, 4, 4), np.uint8), [0, 0], "shape (2, 3, 4, 4)"),
        (np.array([["a"], ["b"]]), [0, 0], "numbers or image files"),
    ],
)
def test_impossible_inputs_are_refused(inputs: object, labels: list[int], message: str) -> None:
    with pytest.raises(ScoreError, match=re.escape(message)):
        LabelledInputs(inputs, labels)


def test_a_mask_of_another_length_is_refused() -> None:
    with pytest.raises(ScoreError, match="mask"):
        LabelledInputs(np.zeros((2, 3)), [0, 0]).subset(np.array([True]))


def test_tensors_of_a_read_only_array_stay_uint8() -> None:
    images = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    images.flags.writeable = False
    inputs, labels = LabelledInputs(images, [1, 2]).as_tensors()
    assert inputs.dtype == torch.uint8
    assert labels.tolist() == [1, 2]
    with pytest.raises(ParameterError, match="as_torch_dataset"):
        LabelledInputs(["a.jpg"], [0]).as_tensors()


def test_floats_are_the_same_in_a_batch_and_one_by_one() -> None:
    rng = np.random.default_rng(0)
    for shape in [(5, 3), (5, 4, 4), (5, 4, 4, 3)]:
        array = rng.integers(0, 256, shape).astype(np.float32 if len(shape) == 2 else np.uint8)
        examples = LabelledInputs(array, np.arange(5))
        dataset = examples.as_torch_dataset()
        batch = to_float(examples.as_tensors()[0])
        assert batch.dtype == torch.float32
        assert batch.shape[1:] == examples.input_shape
        for i in (4, 0):
            item, label, index = dataset[i]
            assert item.dtype == torch.from_numpy(array).dtype
            torch.testing.assert_close(to_float(item[None])[0], batch[i], rtol=0, atol=0)
            assert (label, index) == (i, i)


def test_examples_and_data_sets_can_be_sent_to_other_processes() -> None:
    dataset = LabelledInputs(np.zeros((2, 3)), [0, 1]).as_torch_dataset()
    assert len(pickle.loads(pickle.dumps(dataset.examples))) == 2  # noqa: S301
    loader = torch.utils.data.DataLoader(dataset, batch_size=2, num_workers=1)
    assert next(iter(loader))[2].tolist() == [0, 1]


def test_the_centre_is_cut_out(tmp_path: Path) -> None:
    gradient_image(200, 100).save(tmp_path / "a.png")
    image = ImageFiles.of(["a.png"], tmp_path, 28).read(0)
    assert image.shape == (28, 28, 3)
    assert image[:, :, 0].mean() == pytest.approx(127, abs=2)
    assert image[14, 0, 0] > 70  # the left quarter is cut off
    assert image[0, 14, 1] < 30  # most of the height is kept


def test_large_photographs_are_decoded_at_a_fraction_of_their_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gradient_image(1600, 1200).save(tmp_path / "a.jpg", quality=95)
    files, decoded = ImageFiles.of(["a.jpg"], tmp_path, 32), []
    resize = Image.Image.resize

    def watched(image: Image.Image, *args: Any, **kwargs: Any) -> Image.Image:
        decoded.append(image.size)
        return resize(image, *args, **kwargs)

    monkeypatch.setattr(Image.Image, "resize", watched)
    small = [files.read(0), files.read(0, np.random.default_rng(1))]
    assert all(max(size) <= 800 for size in decoded)
    monkeypatch.setattr(JpegImageFile, "draft", lambda *_: None)
    whole = [files.read(0), files.read(0, np.random.default_rng(1))]
    assert (1600, 1200) in decoded
    for a, b in zip(small, whole, strict=True):
        np.testing.assert_allclose(a.astype(int), b.astype(int), atol=4)


def test_augmentation_is_a_function_of_seed_epoch_and_index(tmp_path: Path) -> None:
    gradient_image(60, 50).save(tmp_path / "a.png")
    examples = LabelledInputs(ImageFiles.of(["a.png", "a.png"], tmp_path, 16), [0, 1])
    dataset, same = examples.as_torch_dataset(augment=True), examples.as_torch_dataset(augment=True)
    first = dataset[0][0]
    assert torch.equal(first, same[0][0])
    assert not torch.equal(first, dataset[1][0])
    dataset.set_epoch(1)
    assert not torch.equal(first, dataset[0][0])
    dataset.set_epoch(0)
    assert torch.equal(first, dataset[0][0])
    assert not torch.equal(first, examples.as_torch_dataset(augment=True, seed=1)[0][0])
    assert torch.equal(examples.as_torch_dataset()[0][0], examples.as_torch_dataset()[1][0])


def test_workers_that_stay_see_the_epoch_change(tmp_path: Path) -> None:
    gradient_image(60, 50).save(tmp_path / "a.png")
    dataset = LabelledInputs(ImageFiles.of(["a.png"], tmp_path, 8), [0]).as_torch_dataset(augment=True)
    loader = torch.utils.data.DataLoader(dataset, num_workers=1, persistent_workers=True)
    seen = []
    for epoch in (0, 1):
        dataset.set_epoch(epoch)
        seen.append(next(iter(loader))[0][0])
        assert torch.equal(seen[-1], dataset[0][0])
    assert not torch.equal(*seen)


def test_thin_and_grey_images_can_be_cut(tmp_path: Path) -> None:
    write_image(tmp_path / "thin.png", size=(300, 1))
    gradient_image(9, 9).convert("L").save(tmp_path / "grey.png")
    files = ImageFiles.of(["thin.png", "grey.png"], tmp_path, 8)
    for i in (0, 1):
        assert files.read(i, np.random.default_rng(i)).shape == (8, 8, 3)
        assert files.read(i).shape == (8, 8, 3)


def test_images_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "bad.jpg").write_bytes(b"not an image")
    files = ImageFiles.of(["bad.jpg", "absent.jpg"], tmp_path)
    with pytest.raises(FileError, match=r"bad\.jpg cannot be read as an image"):
        files.read(0)
    with pytest.raises(FileError, match=r"absent\.jpg does not exist"):
        files.read(1)


def test_splits_check_their_labels_and_shapes() -> None:
    one = LabelledInputs(np.zeros((1, 3)), [4])
    splits = DataSplits("pets", PETS, one, one, one)
    assert splits.input_shape == (3,)
    assert splits.split("val") is one
    with pytest.raises(ParameterError, match="no split 'valid'"):
        splits.split("valid")
    with pytest.raises(ScoreError, match="5 is not a node"):
        DataSplits("pets", PETS, one, one.with_labels([5]), one)
    with pytest.raises(ScoreError, match="differ in shape"):
        DataSplits("pets", PETS, one, one, LabelledInputs(np.zeros((1, 4)), [4]))


def test_holding_out_is_class_by_class_and_seeded() -> None:
    labels = np.repeat([0, 1, 2, 3], [100, 10, 3, 1])
    examples = LabelledInputs(np.zeros((len(labels), 1)), labels)
    kept, taken = hold_out(examples, 0.2, seed=5)
    assert sorted([*kept.ids.tolist(), *taken.ids.tolist()], key=int) == examples.ids.tolist()
    counts = np.bincount(taken.labels, minlength=4)
    assert counts[:2].tolist() == [20, 2]
    assert counts[2] in (0, 1)
    assert counts[3] == 0  # the last example of a class stays
    assert hold_out(examples, 0.2, seed=5)[1].ids.tolist() == taken.ids.tolist()
    assert hold_out(examples, 0.2, seed=6)[1].ids.tolist() != taken.ids.tolist()
    with pytest.raises(ParameterError, match="between 0 and 1"):
        hold_out(examples, 1.0, seed=0)


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        (
            "glyph",
            {},
            "no data set 'glyph'. There are glyphs, features, images, inat21, imagenet. Did you mean 'glyphs'?",
        ),
        ("glyphs", {"sise": "quick"}, "no parameter 'sise'. Parameters: size, draws, pixels, seed, progress."),
        ("inat21", {"mini": True}, "needs the parameter 'path': give path=VALUE (in a recipe data.path)."),
        ("glyphs", {"seed": -1}, "seed must be a whole number, 0 or more, not -1"),
        ("features", {"path": "x.npz", "seed": 0.5}, "seed must be a whole number, 0 or more, not 0.5"),
        ("inat21", {"path": "x", "mini": "no"}, "mini must be true or false, not 'no'"),
    ],
)
def test_unknown_names_and_parameters_are_refused(name: str, params: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(message)):
        data.load(name, **params)


def test_errors_of_data_are_the_packages_own() -> None:
    assert issubclass(FileError, HedgerowError)
    assert data.parameters("inat21")["mini"] is False
