from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from lightning.pytorch.strategies import SingleDeviceStrategy
from PIL import Image
from safetensors.torch import load_file

from hedgerow import methods, operating_curve
from hedgerow.errors import FileError, ParameterError, ScoreError
from hedgerow.learn.classifier import HedgedClassifier
from hedgerow.learn.data import DataSplits, ImageFiles, LabelledInputs
from hedgerow.learn.training.module import Classifier, TrainingError, TrainingModule, build_optimiser
from hedgerow.learn.training.new_data import run_scores
from hedgerow.learn.training.recipe import Choice, Recipe
from hedgerow.learn.training.run import fit, train, with_penalty
from hedgerow.learn.training.run_folder import RunFolder
from hedgerow.learn.training.scores import likelihood_blocks
from hedgerow.score_files import open_scores
from tests.learn.training.toy import TREE, recipe, splits

if TYPE_CHECKING:
    from pathlib import Path

    from hedgerow.learn.training.recipe import Optimiser


@pytest.mark.parametrize("method", methods.available())
def test_every_method_learns(method: str, tmp_path: Path) -> None:
    run = train(recipe(f"method.name={method}"), tmp_path / "run", progress=False, splits=splits())
    assert run.metrics()["test"]["AP"] > 0.5  # 0.2 before training


def test_features_on_any_scale_are_learnt_and_new_ones_scaled_alike(tmp_path: Path) -> None:
    given = splits()
    parts = [given.train, given.val, given.test]
    tiny = DataSplits("tiny", TREE, *(LabelledInputs(1e-3 * np.asarray(p.inputs), p.labels, p.ids) for p in parts))
    run = train(recipe(), tmp_path / "run", progress=False, splits=tiny)
    usual = train(recipe(), tmp_path / "usual", progress=False, splits=given)
    assert run.metrics()["test"]["AP"] == pytest.approx(usual.metrics()["test"]["AP"], abs=0.01)
    np.savez(tmp_path / "new.npz", features=np.asarray(tiny.test.inputs))
    q = np.concatenate([block.q for block in run_scores(run, tmp_path / "new.npz", labels=False)])
    stored = np.concatenate([block.q for block in open_scores(run.path / "scores.npz", TREE)])
    np.testing.assert_array_equal(q, stored)


def seen_batches(monkeypatch: pytest.MonkeyPatch, chosen: Recipe, data: DataSplits) -> dict[int, list[Any]]:
    """Train, and return (inputs, labels, numbers) of all batches of each epoch."""
    seen: dict[int, list[Any]] = {}
    step = TrainingModule.training_step

    def watched(self: TrainingModule, batch: Any, batch_idx: int) -> torch.Tensor:
        seen.setdefault(self.current_epoch, []).append([part.clone() for part in batch])
        return step(self, batch, batch_idx)

    monkeypatch.setattr(TrainingModule, "training_step", watched)
    fit(chosen, data)
    return seen


def test_every_epoch_has_all_examples_in_another_order(monkeypatch: pytest.MonkeyPatch) -> None:
    data = splits()
    seen = seen_batches(monkeypatch, recipe("optimiser.batch_size=64"), data)
    orders = [torch.cat([numbers for *_, numbers in seen[epoch]]).tolist() for epoch in range(3)]
    for order in orders:
        assert sorted(order) == list(range(len(data.train)))
    assert orders[0] != orders[1] != orders[2] != orders[0]
    for inputs, labels, numbers in seen[2]:
        np.testing.assert_array_equal(inputs, np.asarray(data.train.inputs)[numbers])
        np.testing.assert_array_equal(labels, data.train.labels[numbers])


def test_image_files_are_changed_anew_in_every_epoch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noise = np.random.default_rng(0).integers(256, size=(4, 40, 40, 3), dtype=np.uint8)
    for i, pixels in enumerate(noise):
        Image.fromarray(pixels).save(tmp_path / f"{i}.png")
    files = ImageFiles.of([f"{i}.png" for i in range(4)], tmp_path, 16)
    images = LabelledInputs(files, TREE.leaves[:4])
    small = recipe("optimiser.epochs=2", "model.scale_inputs=false", "run.workers=1")
    seen = seen_batches(monkeypatch, small, DataSplits("images", TREE, images, images, images))
    first, second = (
        {
            int(number): image
            for inputs, _, numbers in seen[epoch]
            for image, number in zip(inputs, numbers, strict=True)
        }
        for epoch in range(2)
    )
    assert first.keys() == second.keys() == set(range(4))
    for number in range(4):
        assert not torch.equal(first[number], second[number])


def test_the_linear_recipe_learns_what_the_classifier_learns() -> None:
    data = splits()
    inputs, names = np.asarray(data.train.inputs), TREE.names[data.train.labels]
    run = fit(
        recipe("optimiser.epochs=200", "optimiser.lr=0.3", "optimiser.C=5", "optimiser.batch_size=300"), data
    )
    clf = HedgedClassifier(TREE, method="flat-softmax", C=5, epochs=30, random_state=0).fit(inputs, names)
    clf.temperature_ = 1.0  # the recipe has none
    q = np.concatenate([block.q for block in likelihood_blocks(run, data.test, torch.device("cpu"))])
    expected = clf.predict_likelihood(np.asarray(data.test.inputs), scale="log")
    np.testing.assert_allclose(np.exp(q), np.exp(expected), atol=1e-3)


@pytest.mark.parametrize("method", ["flat-softmax", "conditional-sigmoid", "logit-adjusted-conditional-softmax"])
def test_a_linear_recipe_chooses_the_penalty_as_the_classifier_does(method: str) -> None:
    data = splits()
    left_open = recipe("optimiser.C=0", "optimiser.epochs=10", f"method.name={method}", "run.seed=3")
    clf = HedgedClassifier(TREE, method=method, random_state=3)
    clf.fit(np.asarray(data.train.inputs), TREE.names[data.train.labels])
    assert len(clf.path_["C"]) > 1
    assert in_use(left_open, data) == clf.C_
    assert in_use(recipe("optimiser.C=7"), data) == 7


def test_the_penalty_of_other_models_is_the_usual_one() -> None:
    for changes in (["model.name=mlp"], ["model.scale_inputs=false"]):
        assert in_use(recipe("optimiser.C=0", *changes), splits()) == 30


def in_use(chosen: Recipe, data: DataSplits) -> float:
    """Return the penalty of a recipe for these data, which the optimiser then uses."""
    own = with_penalty(
        chosen, data, Classifier(chosen, TREE, data.input_shape, np.ones(len(TREE), dtype=np.int64))
    ).optimiser
    decay = build_optimiser([torch.zeros(2, 3)], own, 60).param_groups[0]["weight_decay"]
    assert decay == pytest.approx(1 / (60 * own.C))
    return own.C


def test_the_linear_recipe_untouched_is_as_good_as_the_classifier_untouched() -> None:
    data = splits()
    run = fit(Recipe.load("features-linear", ["run.accelerator=cpu"]), data)
    blocks = likelihood_blocks(run, data.test, torch.device("cpu"))
    q = np.concatenate([block.q for block in blocks])
    features, names = np.asarray(data.train.inputs), TREE.names[data.train.labels]
    clf = HedgedClassifier(TREE, method="flat-softmax", random_state=0).fit(features, names)
    clf.temperature_ = 1.0  # the recipe has none
    expected = clf.predict_likelihood(np.asarray(data.test.inputs), scale="log")
    np.testing.assert_allclose(np.exp(q), np.exp(expected), atol=0.05)


def test_small_data_are_passed_over_several_times_in_an_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    data = splits()
    seen = seen_batches(monkeypatch, recipe("optimiser.batch_size=150", "optimiser.least_steps=6"), data)
    for epoch in range(3):
        numbers = torch.cat([numbers for *_, numbers in seen[epoch]])
        assert len(seen[epoch]) == 6
        assert torch.bincount(numbers).tolist() == [3] * len(data.train)


def test_settings_that_have_no_effect_are_refused() -> None:
    for change, said in (
        (
            "optimiser.weight_decay=5",
            "weight_decay has no effect if optimiser.kind is 'per-output'. Set optimiser.C",
        ),
        ("optimiser.momentum=0.5", "momentum has no effect if optimiser.kind is 'per-output'. Leave it out"),
    ):
        with pytest.raises(ParameterError, match=said):
            recipe(change)
    with pytest.raises(ParameterError, match=r"C has no effect if optimiser\.kind is 'sgd'"):
        recipe("optimiser.kind=sgd", "optimiser.C=5")


def test_a_run_with_another_number_of_steps_is_not_resumed(tmp_path: Path) -> None:
    data, chosen = splits(), recipe("optimiser.batch_size=200")
    run = train(chosen, tmp_path / "run", progress=False, splits=data)
    (run.path / "metrics.json").unlink()  # as if it had been cut off
    checkpoint = torch.load(run.last, weights_only=False)
    checkpoint["lr_schedulers"][0]["T_max"] = 3  # as if it had seen fewer examples
    torch.save(checkpoint, run.last)
    with pytest.raises(TrainingError, match="began with 3 steps and would now have 6: its training data"):
        train(chosen, run.path, progress=False, splits=data, resume=True)


def expected_values(run: RunFolder, examples: LabelledInputs) -> Any:
    blocks = likelihood_blocks(run.classifier(), examples, torch.device("cpu"))
    return np.concatenate([block.q for block in blocks])


def test_the_folder_holds_everything(tmp_path: Path) -> None:
    data = splits()
    run = train(recipe(), tmp_path / "run", progress=False, splits=data)
    assert run.hierarchy() == TREE
    assert run.recipe().data == Choice("toy")  # not what the recipe would have loaded
    assert run.recipe().tables() | {"data": {}} == recipe().tables() | {"data": {}}
    assert {file.name for file in (run.path / "checkpoints").iterdir()} == {"best.ckpt", "last.ckpt"}
    assert list(run.path.glob("logs/csv/*/metrics.csv"))
    q = expected_values(run, data.test)
    stored = np.concatenate([block.q for block in open_scores(run.path / "scores.npz", TREE)])
    np.testing.assert_array_equal(stored, q)
    curve = operating_curve(TREE, q, data.test.labels, scale="log")
    assert run.metrics()["test"]["AP"] == curve.summary()["AP"]


def test_resuming_ends_where_an_unbroken_run_does(tmp_path: Path) -> None:
    whole = train(recipe("optimiser.epochs=4"), tmp_path / "whole", progress=False, splits=splits())
    short = RunFolder(tmp_path / "short")
    begin_epoch = TrainingModule.on_train_epoch_start

    def begin_or_stop(module: TrainingModule) -> None:
        if module.current_epoch == 2:
            raise InterruptedError
        begin_epoch(module)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TrainingModule, "on_train_epoch_start", begin_or_stop)
        with pytest.raises(InterruptedError):
            train(recipe("optimiser.epochs=4"), short.path, progress=False, splits=splits())
    assert not short.is_finished
    train(recipe("optimiser.epochs=4"), short.path, resume=True, progress=False, splits=splits())
    first, second = (load_file(folder.path / "model.safetensors") for folder in (whole, short))
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert whole.metrics() == short.metrics()


def test_the_penalty_is_chosen_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left_open = recipe("optimiser.C=0", "optimiser.epochs=1")
    run = train(left_open, tmp_path / "run", progress=False, splits=splits())
    assert run.penalty() == in_use(left_open, splits())
    assert run.recipe().optimiser.C == 0
    (run.path / "metrics.json").unlink()
    run.save_penalty(17.5)
    used = []

    def build(parameters: Any, own: Optimiser, examples: int) -> torch.optim.Optimizer:
        used.append(own.C)
        return build_optimiser(parameters, own, examples)

    monkeypatch.setattr("hedgerow.learn.training.module.build_optimiser", build)
    train(left_open, run.path, resume=True, progress=False, splits=splits())
    assert used == [17.5]
    (run.path / "metrics.json").unlink()
    run.save_penalty(-1)
    with pytest.raises(FileError, match=r"penalty.json.*`float` >= 1e-06 - at `\$\.C`"):
        train(left_open, run.path, resume=True, progress=False, splits=splits())


def test_a_given_penalty_is_not_recorded_twice(tmp_path: Path) -> None:
    run = train(recipe("optimiser.C=7"), tmp_path / "run", progress=False, splits=splits())
    assert not (run.path / "penalty.json").exists()
    assert run.recipe().optimiser.C == 7


def test_a_finished_run_is_left_alone(tmp_path: Path) -> None:
    run = train(recipe(), tmp_path / "run", progress=False, splits=splits())
    before = (run.path / "model.safetensors").stat().st_mtime_ns
    train(recipe(), run.path, resume=True, progress=False, splits=splits())
    assert (run.path / "model.safetensors").stat().st_mtime_ns == before


def test_a_folder_in_use_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileError, match=r"is not empty.*resume=True"):
        train(recipe(), tmp_path, progress=False, splits=splits())
    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]


def test_resuming_with_another_recipe_is_refused(tmp_path: Path) -> None:
    train(recipe(), tmp_path / "run", progress=False, splits=splits())
    with pytest.raises(FileError, match="another recipe or tree"):
        train(recipe("optimiser.lr=0.5"), tmp_path / "run", resume=True, progress=False, splits=splits())


def test_a_loss_that_is_not_finite_names_step_and_examples(tmp_path: Path) -> None:
    data = splits()
    inputs = np.array(data.train.inputs)
    inputs[5] = np.nan
    broken = DataSplits(
        "toy", TREE, type(data.train)(inputs, data.train.labels, data.train.ids), data.val, data.test
    )
    with pytest.raises(TrainingError, match=r"not finite at epoch 0, step \d+.*optimiser.lr=0.03") as caught:
        train(recipe("optimiser.batch_size=2"), tmp_path / "run", progress=False, splits=broken)
    assert str(caught.value).endswith("Then begin again, in a new folder.")
    assert "checkpoint" not in str(caught.value)


def test_a_loss_that_is_not_finite_later_keeps_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def poisoned(module: TrainingModule) -> None:
        begin(module)
        if module.current_epoch == 1:
            with torch.no_grad():
                next(module.parameters()).fill_(float("nan"))

    begin = TrainingModule.on_train_epoch_start
    monkeypatch.setattr(TrainingModule, "on_train_epoch_start", poisoned)
    with pytest.raises(TrainingError, match=r"not finite at epoch 1, .*The last good checkpoint is kept: if"):
        train(recipe("optimiser.epochs=3"), tmp_path / "run", progress=False, splits=splits())
    assert RunFolder(tmp_path / "run").last.exists()


def test_scores_that_are_not_finite_are_named(tmp_path: Path) -> None:
    data = splits()
    broken = LabelledInputs(np.asarray(data.val.inputs) * np.inf, data.val.labels, data.val.ids)
    given = DataSplits("toy", TREE, data.train, broken, data.test)
    with pytest.raises(TrainingError, match=r"The scores are not finite after epoch 0. Try a smaller learning"):
        train(recipe(), tmp_path / "run", progress=False, splits=given)


def test_no_room_on_the_disk_is_said_before_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1 << 20))
    with pytest.raises(FileError, match=r"has 1 MB free"):
        train(recipe(), tmp_path / "run", progress=False, splits=splits())
    assert not (tmp_path / "run" / "checkpoints").exists()


def test_a_disk_that_fills_up_keeps_the_last_good_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = torch.save
    calls = []

    def save(data: object, file: object) -> None:
        calls.append(file)
        if len(calls) > 2:
            file.write(b"half of it")  # type: ignore[attr-defined]
            raise OSError(28, "No space left on device")
        saved(data, file)  # type: ignore[arg-type]

    monkeypatch.setattr(torch, "save", save)
    with pytest.raises(FileError, match="No space left on device"):
        train(recipe(), tmp_path / "run", progress=False, splits=splits())
    monkeypatch.undo()
    run = RunFolder(tmp_path / "run")
    assert torch.load(run.last, weights_only=True)["epoch"] == 0
    assert not list(run.path.glob("**/*.tmp"))
    train(recipe(), run.path, resume=True, progress=False, splits=splits())
    assert json.loads((run.path / "metrics.json").read_text())["test"]["AP"] > 0.8


def test_scores_are_computed_where_the_model_was_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, asked = torch.device("cpu", 0), []  # Lightning brings the model back to "cpu" after training
    monkeypatch.setattr(SingleDeviceStrategy, "root_device", place)

    def blocks(classifier: Classifier, examples: LabelledInputs, device: torch.device, workers: int) -> Any:
        asked.append((device, workers))
        return likelihood_blocks(classifier, examples, device, workers)

    monkeypatch.setattr("hedgerow.learn.training.run.likelihood_blocks", blocks)
    monkeypatch.setattr("hedgerow.learn.training.scores.likelihood_blocks", blocks)
    train(recipe("run.workers=3"), tmp_path / "run", progress=False, splits=splits())
    assert asked == [(place, 3), (place, 3)]


@pytest.mark.parametrize(("accelerator", "device"), [("auto", "cuda"), ("cpu", "cpu")])
def test_new_data_are_scored_on_a_gpu_unless_the_recipe_says_cpu(
    accelerator: str, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = recipe(f"run.accelerator={accelerator}", "optimiser.epochs=1", "run.workers=2")
    run = train(chosen, tmp_path / "run", progress=False, splits=splits())
    np.savez(tmp_path / "new.npz", features=np.asarray(splits().test.inputs))
    asked = []

    def blocks(_: Classifier, __: LabelledInputs, device: torch.device, workers: int) -> Any:
        asked.append((device, workers))
        return iter(())

    monkeypatch.setattr("hedgerow.learn.training.new_data.likelihood_blocks", blocks)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert list(run_scores(run, tmp_path / "new.npz", labels=False)) == []
    assert asked == [(torch.device(device), 2)]


def test_a_gpu_that_is_not_there(tmp_path: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is one")
    with pytest.raises(ParameterError, match="no GPU"):
        train(recipe("run.accelerator=gpu"), tmp_path / "run", progress=False, splits=splits())


def test_fitting_without_a_folder_gives_the_weights_of_the_last_epoch(tmp_path: Path) -> None:
    run = train(recipe(), tmp_path / "run", progress=False, splits=splits())
    last = torch.load(run.last, weights_only=True)["state_dict"]
    fitted = fit(recipe(), splits()).state_dict()
    assert fitted
    assert all(torch.equal(fitted[name], last[f"classifier.{name}"]) for name in fitted)


def test_a_trained_model_on_new_data(tmp_path: Path) -> None:
    data = splits()
    run = train(recipe(), tmp_path / "run", progress=False, splits=data)
    new = tmp_path / "new.npz"
    np.savez(
        new,
        features=np.asarray(data.test.inputs),
        labels=TREE.names[data.test.labels].astype(np.str_),
        ids=data.test.ids,
    )
    scores = run_scores(run, new)
    blocks = list(scores)
    assert scores.rows == len(data.test)
    np.testing.assert_array_equal(np.concatenate([block.labels for block in blocks]), data.test.labels)
    ids = [block.ids for block in blocks if block.ids is not None]
    np.testing.assert_array_equal(np.concatenate(ids), data.test.ids)
    q = np.concatenate([block.q for block in blocks])
    np.testing.assert_array_equal(q, expected_values(run, data.test))

    np.savez(new, features=np.zeros((3, 5)))
    with pytest.raises(ScoreError, match=r"shape \(5,\).*trained on \(8,\)"):
        run_scores(run, new, labels=False)
    np.savez(new, features=np.zeros((3, 8)))
    with pytest.raises(FileError, match="holds no labels"):
        run_scores(run, new)
    assert [block.labels for block in run_scores(run, new, labels=False)] == [None]


def test_a_model_of_grey_images_on_a_folder_of_new_ones(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)

    def grey(examples: LabelledInputs) -> LabelledInputs:
        noise = rng.integers(100, size=(len(examples), 12, 12))
        return LabelledInputs((noise + 10 * examples.labels[:, None, None]).astype(np.uint8), examples.labels)

    given = splits()
    data = DataSplits("grey", TREE, grey(given.train), grey(given.val), grey(given.test))
    run = train(recipe("model.scale_inputs=false"), tmp_path / "run", progress=False, splits=data)
    expected = expected_values(run, data.test)

    folder = tmp_path / "new"
    for i, (pixels, label) in enumerate(zip(np.asarray(data.test.inputs), data.test.labels, strict=True)):
        place = folder / str(TREE.names[label])
        place.mkdir(parents=True, exist_ok=True)
        image = Image.fromarray(pixels)
        (image.convert("RGB") if i % 2 else image).save(place / f"{i:04}.png")
    scores = run_scores(run, folder)
    number = [int(name[-8:-4]) for block in scores if block.ids is not None for name in block.ids.tolist()]
    q = np.concatenate([block.q for block in scores])
    np.testing.assert_allclose(q, expected[number], atol=1e-6)
    labels = np.concatenate([block.labels for block in scores])
    np.testing.assert_array_equal(labels, data.test.labels[number])

    large = tmp_path / "large"
    large.mkdir()
    Image.new("RGB", (640, 480), "white").save(large / "a.png")
    (block,) = run_scores(run, large, labels=False)
    white = LabelledInputs(np.full((1, 12, 12), 255, np.uint8), [0])
    np.testing.assert_allclose(block.q, expected_values(run, white), atol=1e-6)


def test_folders_of_images_without_labels_or_of_several_splits(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    given = splits()

    def grey(examples: LabelledInputs) -> LabelledInputs:
        return LabelledInputs(rng.integers(256, size=(len(examples), 12, 12)).astype(np.uint8), examples.labels)

    data = DataSplits("grey", TREE, grey(given.train), grey(given.val), grey(given.test))
    changes = ("model.scale_inputs=false", "optimiser.epochs=1")
    run = train(recipe(*changes), tmp_path / "run", progress=False, splits=data)
    name = str(TREE.names[TREE.leaves[0]])
    both = tmp_path / "both"
    for split in ("train", "test"):
        (both / split / name).mkdir(parents=True)
        Image.new("L", (12, 12)).save(both / split / name / "a.png")
    with pytest.raises(FileError, match=r"holds the folders 'train' and 'test'.*both/train' or data=.*both/test'"):
        run_scores(run, both)
    assert run_scores(run, both / "test").rows == 1
    Image.new("L", (12, 12)).save(both / "train" / "b.png")
    with pytest.raises(FileError, match=r"outside any class folder \('b.png'\).*hedgerow predict"):
        run_scores(run, both / "train")
    assert run_scores(run, both / "train", labels=False).rows == 2


def test_a_model_of_features_takes_no_folder(tmp_path: Path) -> None:
    run = train(recipe(), tmp_path / "run", progress=False, splits=splits())
    with pytest.raises(ScoreError, match=r"is a folder.*trained on 8 features\. Give a feature file"):
        run_scores(run, tmp_path)


def test_what_is_no_run_folder(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="does not hold a training run"):
        RunFolder(tmp_path).recipe()
