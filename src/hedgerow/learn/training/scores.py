"""Scores of a trained model: computed block by block, written to a file of bounded size, and read again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from hedgerow.files import Archive, naming, read_arrays, write_arrays, write_blocks
from hedgerow.infer import compacted
from hedgerow.learn.training.batches import EVALUATION_BATCH, BatchSampler, batches
from hedgerow.likelihood import Likelihoods, SparseLikelihoods
from hedgerow.score_files import Block, Scores, open_scores

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import Tensor

    from hedgerow.learn.data import LabelledInputs
    from hedgerow.learn.training.module import Classifier
    from hedgerow.learn.training.recipe import Kept
    from hedgerow.methods import Method
    from hedgerow.tree import Hierarchy

_SMALL = 100 << 20  # bytes of scores that are kept whole
_ROWS = 1 << 14  # of compact scores, read at a time
_ENTRIES = ("count", "node", "value")


@torch.inference_mode()
def score_blocks(
    classifier: Classifier, examples: LabelledInputs, device: torch.device, workers: int = 0
) -> Iterator[Tensor]:
    """Yield the scores θ of examples, block by block, in order, in single precision."""
    classifier = classifier.to(device).eval()
    # Blocks of a fixed size: it may change the last digits of a score.
    for inputs, _, _ in batches(examples, BatchSampler(len(examples), EVALUATION_BATCH), device, workers=workers):
        yield classifier(inputs.to(device, non_blocking=True)).float()


@torch.inference_mode()
def likelihood_blocks(
    classifier: Classifier, examples: LabelledInputs, device: torch.device, workers: int = 0
) -> Iterator[Block]:
    """Yield the likelihoods, on the scale of the method, and labels of examples, in order, in main memory."""
    method, start = classifier.method, 0
    for theta in score_blocks(classifier, examples, device, workers):
        values = method.likelihood(theta, method.scale).cpu().numpy()
        likelihoods = Likelihoods.of(method.hierarchy, values, method.scale)
        yield Block.of(start, likelihoods, labels=examples.labels[start : start + len(values)])
        start += len(values)


def resolved(kept: Kept, whole_bytes: int) -> Kept:
    """Return which scores are kept, if whole ones take so much space."""
    if kept != "auto":
        return kept
    return "compact" if whole_bytes > _SMALL else "all"


def write_test_scores(
    path: Path, method: Method, examples: LabelledInputs, blocks: Iterable[Block], *, compact: bool
) -> None:
    """Write likelihoods, labels and ids as a score file, or in compact form; see `open_test_scores`."""
    names = method.hierarchy.names.astype(np.str_)
    about = {"classes": names, "ids": examples.ids, "scale": np.array(method.scale)}
    if not compact:
        labels = names[examples.labels]
        write_blocks(path, about | {"labels": labels}, "likelihoods", len(examples), (block.q for block in blocks))
        return
    # Some twenty nodes per example, so they are held whole.
    parts = [
        _narrow(compacted(block.likelihoods)) for block in blocks if isinstance(block.likelihoods, Likelihoods)
    ]
    entries = {
        name: np.concatenate(column) for name, column in zip(_ENTRIES, zip(*parts, strict=True), strict=True)
    }
    write_arrays(path, about | {"label": examples.labels.astype(np.int32)} | entries)


def _narrow(q: SparseLikelihoods) -> tuple[NDArray[Any], ...]:
    """Return the entries in the smallest types that hold them exactly."""
    single = q.value.astype(np.float32)
    return (
        q.count.astype(np.int32),
        q.node.astype(np.int32),
        single if np.array_equal(single, q.value) else q.value,
    )


def open_test_scores(path: Path, hierarchy: Hierarchy, *, labels: bool = True) -> Scores:
    """Open what `write_test_scores` wrote."""
    with Archive(path) as archive:
        compact = "node" in archive.arrays
    return _open_compact(path, hierarchy, labels) if compact else open_scores(path, hierarchy, labels=labels)


def _open_compact(path: Path, hierarchy: Hierarchy, labelled: bool) -> Scores:
    arrays: dict[str, Any] = read_arrays(path)
    with naming(path, "the scores of a training run", "Copy the run again."):
        if not np.array_equal(arrays["classes"], hierarchy.names):
            raise ValueError("its classes are not the nodes of the tree")
        (count, node, value), ids = (arrays[name] for name in _ENTRIES), arrays["ids"].astype(object)
        label = hierarchy.nodes(arrays["label"], hierarchy.names)
        q = SparseLikelihoods(hierarchy, np.append(0, np.cumsum(count)), node, value, arrays["scale"].item())
        if not label.shape == ids.shape == (len(q),):
            raise ValueError("it does not have one label and one id for each example")
    q.compact = True

    def read(_: list[str]) -> Iterator[Block]:
        for rows in (slice(start, start + _ROWS) for start in range(0, len(q), _ROWS)):
            yield Block.of(rows.start, q[rows], labels=label[rows] if labelled else None, ids=ids[rows])

    return Scores(str(path), hierarchy, read, rows=len(q), has_ids=True)
