"""A training run, from a recipe to a folder with a model in it."""

from __future__ import annotations

import dataclasses
import logging
import os
import signal
import warnings
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from lightning.pytorch import Trainer, seed_everything
from lightning.pytorch.callbacks import LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from lightning.pytorch.utilities import rank_zero_only

from hedgerow import methods
from hedgerow.errors import HedgerowError, ParameterError, counted
from hedgerow.files import reading
from hedgerow.infer import RULES
from hedgerow.learn import data, models, penalty
from hedgerow.learn.network import Network, SharedOutputs
from hedgerow.learn.scaling import Scaling
from hedgerow.learn.solver import Fitting, Schedule
from hedgerow.learn.training.batches import SplitBatches
from hedgerow.learn.training.console import EpochReport, ShareReport, choosing_penalty, print_tree
from hedgerow.learn.training.module import Classifier, TrainingModule
from hedgerow.learn.training.recipe import Choice, Recipe, Run
from hedgerow.learn.training.run_folder import AtomicCheckpoints, RunFolder
from hedgerow.learn.training.scores import likelihood_blocks, resolved, write_test_scores
from hedgerow.measure import evaluate

_SUMMARISED = {name: RULES[name] for name in ("leaf", "majority")}

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from os import PathLike

    from hedgerow.learn.data import DataSplits
    from hedgerow.score_files import Block


def train(
    recipe: Recipe,
    folder: str | PathLike[str],
    *,
    resume: bool = False,
    progress: bool = True,
    splits: DataSplits | None = None,
) -> RunFolder:
    """Train by a recipe, and save the model, its metrics and its scores in a folder.

    Parameters
    ----------
    recipe
        What to train, and how.
    folder
        Where to save it; must be new or empty, unless resuming.
    resume
        Continue from the last checkpoint in the folder. On a CPU the final weights are bit-identical to those of
        an uninterrupted run.
    progress
        Print one line about the tree and one per epoch and, in a terminal, show a bar.
    splits
        The data, instead of the recipe's: ``DataSplits("mine", hierarchy, train, val, test)`` with
        `hedgerow.learn.data.LabelledInputs` made from arrays. The recipe of the run then records its name.
    """
    run = RunFolder(Path(folder))
    methods.parameters(recipe.method.name)  # find unknown names before loading the data
    models.find(recipe.model.name)
    of_recipe = splits is None
    if splits is None:
        splits = data.load(recipe.data.name, **recipe.data.params)
        recipe = _with_whole_paths(recipe)
    else:
        recipe = dataclasses.replace(recipe, data=Choice(splits.name))
    processes = recipe.run.devices * recipe.run.nodes
    for part, examples in (("training", splits.train), ("validation", splits.val)):
        if not len(examples):
            raise ParameterError(f"There are no examples in the {part} data.")
        if len(examples) < processes:  # Lightning leaves out a process that has none
            raise ParameterError(
                f"The {part} data has {counted(len(examples), 'example', 'examples')}, fewer than the {processes} "
                f"processes. Use fewer devices."
            )
    classifier = _classifier(recipe, splits)
    if _is_first_process():  # the others start later, or elsewhere
        run.begin(recipe, splits.hierarchy, resume=resume)
        whole = _score_bytes(splits)
        run.check_space(classifier, whole if resolved(recipe.run.scores, whole) == "all" else 0)
        if progress and of_recipe and not run.is_finished:  # callers who pass data know its tree
            print_tree(splits.hierarchy, recipe)
    if run.is_finished:
        return run
    with without_noise(), _interrupts():
        module, batches = _prepared(
            classifier, _with_kept_penalty(recipe, splits, classifier, run, progress), splits
        )
        trainer = Trainer(
            **_settings(recipe),
            callbacks=_callbacks(recipe, run, progress),
            logger=_loggers(run.path / "logs"),
            plugins=[AtomicCheckpoints()],
            log_every_n_steps=10,
            enable_progress_bar=False,  # `EpochReport` replaces it
            default_root_dir=run.path,
        )
        device = trainer.strategy.root_device  # after training, the module is on the CPU
        resumed = run.last if resume and run.last.exists() else None
        with nullcontext() if resumed is None else _restoring(resumed, module):
            trainer.fit(module, batches, ckpt_path=resumed)
    if trainer.is_global_zero:
        if recipe.run.strategy == "fsdp":  # this process holds only its share of the weights
            classifier = _classifier(recipe, splits)
        _finish(run, classifier, splits, device, recipe.run)
    trainer.strategy.barrier()
    return run


def _with_whole_paths(recipe: Recipe) -> Recipe:
    """Make the paths of the data absolute: a run may be used, or resumed, from other folders."""
    params = {
        key: str(Path(value).absolute()) if key in ("path", "cache") and isinstance(value, str) else value
        for key, value in recipe.data.params.items()
    }
    return dataclasses.replace(recipe, data=Choice(recipe.data.name, params))


def _is_first_process() -> bool:
    """Return whether this is the first process of the first machine, before Lightning starts the others."""
    return int(rank_zero_only.rank) == 0 and os.environ.get("NODE_RANK", "0") == "0"  # type: ignore[attr-defined]


def fit(recipe: Recipe, splits: DataSplits) -> Classifier:
    """Train by a recipe and return the classifier after the last epoch: no files, no validation, one device."""
    classifier = _classifier(recipe, splits)
    with without_noise(), _interrupts():
        module, batches = _prepared(classifier, with_penalty(recipe, splits, classifier), splits)
        trainer = Trainer(
            **_settings(recipe),
            callbacks=[ShareReport()],
            limit_val_batches=0,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
        )
        trainer.fit(module, batches)
    return classifier


def _classifier(recipe: Recipe, splits: DataSplits) -> Classifier:
    """Return the seeded classifier."""
    seed_everything(recipe.run.seed, verbose=False)
    counts = np.bincount(splits.train.labels, minlength=len(splits.hierarchy))
    classifier = Classifier(recipe, splits.hierarchy, splits.input_shape, counts)
    for part in classifier.modules():
        if isinstance(part, models.Scaled):
            part.measure(splits.train.inputs, splits.train.labels)  # type: ignore[arg-type]  # it accepts only features
    return classifier


def with_penalty(recipe: Recipe, splits: DataSplits, classifier: Classifier, progress: bool = False) -> Recipe:
    """Choose optimiser.C if it is 0: with held-out training examples, if the model is linear."""
    optimiser = recipe.optimiser
    if optimiser.kind != "per-output" or optimiser.C > 0:
        return recipe
    inputs, labels = splits.train.inputs, splits.train.labels
    scaled = isinstance(classifier.model, models.Linear) and isinstance(classifier.model.scaling, models.Scaled)
    # Training names examples that are not finite.
    if not (scaled and isinstance(inputs, np.ndarray) and np.isfinite(inputs).all()):
        return recipe.with_penalty(penalty.USUAL)
    random, weight = np.random.RandomState(recipe.run.seed), np.ones(len(labels))
    seed = int(random.randint(2**31 - 1))
    schedule = Schedule.usual(labels, seed=seed)
    # Sums on a GPU have no fixed order, and every process must make the same choice.
    alone = recipe.run.devices * recipe.run.nodes == 1
    device = "cuda" if alone and accelerator(recipe.run) == "gpu" else "cpu"
    layers = Network.start([inputs.shape[1], classifier.method.width], random)
    with choosing_penalty(progress) as chosen:
        shared = SharedOutputs.of(classifier.method, labels)
        fitting = Fitting(classifier.method, Scaling.of(inputs, labels, weight), schedule, device, shared=shared)
        choice = penalty.choose(fitting, layers, inputs, labels, weight, random)
        chosen(choice.C)
    return recipe.with_penalty(choice.C)


def _with_kept_penalty(
    recipe: Recipe, splits: DataSplits, classifier: Classifier, run: RunFolder, progress: bool
) -> Recipe:
    """Choose optimiser.C if it is 0, unless this run or its first process has already done so."""
    kept = run.penalty()
    if kept is not None:
        return recipe.with_penalty(kept)
    chosen = with_penalty(recipe, splits, classifier, progress)
    if chosen is not recipe and _is_first_process():
        run.save_penalty(chosen.optimiser.C)
    return chosen


def _prepared(classifier: Classifier, recipe: Recipe, splits: DataSplits) -> tuple[TrainingModule, SplitBatches]:
    """Return the module and the batches that train a classifier."""
    on_gpu = accelerator(recipe.run) == "gpu"
    whole = recipe.run.strategy != "fsdp"  # distributed weights cannot be compiled as one
    compiled = on_gpu and whole if recipe.run.compile == "auto" else recipe.run.compile == "yes"
    if on_gpu:
        classifier.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # as `to_float` makes images
    return (
        TrainingModule(classifier, recipe, splits.train, compiled=compiled),
        SplitBatches(splits, recipe.optimiser, recipe.run),
    )


def _settings(recipe: Recipe) -> dict[str, Any]:
    """Return the settings of every trainer."""
    chosen = accelerator(recipe.run)
    precision = recipe.run.precision
    if precision == "auto":
        precision = "bf16-mixed" if chosen == "gpu" else "32"
    return {
        "accelerator": chosen,
        "devices": recipe.run.devices,
        "num_nodes": recipe.run.nodes,
        "strategy": _strategy(recipe, chosen),
        "precision": precision,
        "max_epochs": recipe.optimiser.epochs,
        "accumulate_grad_batches": recipe.optimiser.accumulate,
        "gradient_clip_val": recipe.optimiser.clip or None,
        "use_distributed_sampler": False,  # `BatchSampler` distributes the examples
        "num_sanity_val_steps": 0,
        "enable_model_summary": False,
    }


def _strategy(recipe: Recipe, chosen: str) -> str:
    run = recipe.run
    if run.strategy == "fsdp":
        if chosen != "gpu":
            raise ParameterError(
                "run.strategy is 'fsdp', which distributes weights over GPUs: use 'ddp' on a CPU."
            )
        for setting, unsuited in (
            ("clip", recipe.optimiser.clip > 0),
            ("kind 'per-output'", recipe.optimiser.kind == "per-output"),
        ):
            if unsuited:
                raise ParameterError(
                    f"optimiser.{setting} does not work with run.strategy 'fsdp'. Change one of them."
                )
    return "ddp" if run.strategy == "auto" and run.devices * run.nodes > 1 else run.strategy


def _callbacks(recipe: Recipe, run: RunFolder, progress: bool) -> list[Any]:
    checkpoints: Any = {
        "dirpath": run.path / "checkpoints",
        "enable_version_counter": False,
        "save_on_train_epoch_end": False,
    }
    callbacks: list[Any] = [
        ModelCheckpoint(filename="best", monitor=f"val_{recipe.run.monitor}", mode="max", **checkpoints),
        ModelCheckpoint(filename="last", **checkpoints),  # after "best", so that it records the best one
        LearningRateMonitor("step"),
    ]
    return [*callbacks, EpochReport(recipe.run.monitor)] if progress else callbacks


def _loggers(folder: Path) -> list[Any]:
    """Return loggers with separate files for every start of the run: CSV, and TensorBoard if it is installed."""
    attempt = len(list(folder.glob("csv/*"))) if folder.exists() else 0
    loggers: list[Any] = [CSVLogger(folder, name="csv", version=attempt)]
    try:
        from lightning.pytorch.loggers import TensorBoardLogger

        loggers.append(TensorBoardLogger(folder, name="tensorboard", version=attempt))
    except ModuleNotFoundError:
        pass
    return loggers


def _finish(run: RunFolder, classifier: Classifier, splits: DataSplits, device: torch.device, how: Run) -> None:
    """Write weights, scores and metrics of the best epoch; the metrics last, as they mark the run as finished."""
    best = AtomicCheckpoints().load_checkpoint(run.best)["state_dict"]
    prefix = "classifier."
    with reading(run.best, "the checkpoint of this run"):
        classifier.load_state_dict({k.removeprefix(prefix): v for k, v in best.items() if k.startswith(prefix)})
    run.save_weights(classifier)
    hierarchy = splits.hierarchy
    val, test = (likelihood_blocks(classifier, part, device, how.loaders) for part in (splits.val, splits.test))
    tested: Iterable[Block] = test
    kept = resolved(how.scores, _score_bytes(splits))
    if kept != "none":
        write_test_scores(run.scores, classifier.method, splits.test, test, compact=kept == "compact")
        tested = run.open_scores()
    run.save_digests()
    run.save_metrics(*(evaluate(hierarchy, blocks, rules=_SUMMARISED).summary() for blocks in (val, tested)))


def _score_bytes(splits: DataSplits) -> int:
    """Return the size of the likelihoods of all nodes for the test data."""
    return 4 * len(splits.test) * len(splits.hierarchy)


@contextmanager
def _restoring(path: Path, module: TrainingModule) -> Iterator[None]:
    """Name the checkpoint if training cannot be resumed from it."""
    try:
        yield
    except Exception as error:
        if module.is_training or isinstance(error, HedgerowError):
            raise
        with reading(path, "the checkpoint of this run", "Delete it to begin the run again."):
            raise


def accelerator(run: Run) -> str:
    """Return "gpu" or "cpu", as requested and available."""
    there = torch.cuda.is_available()
    if run.accelerator == "gpu" and not there:
        raise ParameterError(
            "run.accelerator is 'gpu', but torch finds no GPU here: leave it out, or set it to 'cpu'."
        )
    chosen = ("gpu" if there else "cpu") if run.accelerator == "auto" else run.accelerator
    if chosen == "gpu" and run.devices > torch.cuda.device_count():
        raise ParameterError(
            f"run.devices is {run.devices}, but the number of GPUs is {torch.cuda.device_count()}. Use fewer."
        )
    return chosen


@contextmanager
def _interrupts() -> Iterator[None]:
    """Re-raise an interrupt, which Lightning turns into a silent exit."""
    try:
        yield
    except SystemExit as ended:
        if isinstance(ended.__context__, KeyboardInterrupt):
            signal.signal(signal.SIGINT, signal.default_int_handler)
            raise KeyboardInterrupt from None
        raise


@contextmanager
def without_noise() -> Iterator[None]:
    """Silence Lightning's messages about what is intended."""
    expected = (
        ".*does not have many workers.*",
        ".*Checkpoint directory .* exists and is not empty.*",
        ".*isinstance.treespec, LeafSpec.*",
        ".*smaller than the logging interval.*",
    )
    logger = logging.getLogger("lightning.pytorch")
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        with warnings.catch_warnings():
            for message in expected:
                warnings.filterwarnings("ignore", message)
            yield
    finally:
        logger.setLevel(level)
