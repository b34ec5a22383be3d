"""Scores of a trained model: computed block by block, written to a file of bounded size, and read again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import torch

from hedgerow.files import Archive, Document, write_blocks
from hedgerow.infer import compacted
from hedgerow.learn.training.batches import EVALUATION_BATCH, BatchSampler, batches
from hedgerow.likelihood import Likelihoods, Scale, SparseLikelihoods
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


class _Compact(msgspec.Struct, forbid_unknown_fields=True):
    """What a file of compact scores says besides its arrays."""

    scale: Scale


_COMPACT = Document("hedgerow compact scores", 1, _Compact, "the scores of a training run", "Copy the run again.")


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
    about = {"classes": names, "ids": examples.ids}
    if not compact:
        about |= {"labels": names[examples.labels], "scale": np.array(method.scale)}
        write_blocks(path, about, "likelihoods", len(examples), (block.q for block in blocks))
        return
    # Some twenty nodes per example, so they are held whole.
    parts = [
        _narrow(compacted(block.likelihoods)) for block in blocks if isinstance(block.likelihoods, Likelihoods)
    ]
    entries = {
        name: np.concatenate(column) for name, column in zip(_ENTRIES, zip(*parts, strict=True), strict=True)
    }
    entries["label"] = examples.labels.astype(np.int32)
    _COMPACT.write_archive(path, _Compact(method.scale), about | entries)


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
        compact = "about" in archive.arrays
    return _open_compact(path, hierarchy, labels) if compact else open_scores(path, hierarchy, labels=labels)


def _open_compact(path: Path, hierarchy: Hierarchy, labelled: bool) -> Scores:
    with _COMPACT.reading_archive(path) as (about, arrays):
        if not np.array_equal(arrays.take("classes", np.str_, len(hierarchy)), hierarchy.names):
            raise ValueError("its classes are not the nodes of the tree")
        label = arrays.take("label", np.int32, None, low=0, high=len(hierarchy) - 1).astype(np.int64)
        ids = arrays.take("ids", np.str_, len(label)).astype(object)
        count = arrays.take("count", np.int32, len(label), low=0)
        node = arrays.take("node", np.int32, None, low=0, high=len(hierarchy) - 1)
        value = arrays.take("value", np.floating, len(node), low=-np.inf, high=np.inf)
        q = SparseLikelihoods(hierarchy, np.append(0, np.cumsum(count)), node, value, about.scale)
    q.compact = True

    def read(_: list[str]) -> Iterator[Block]:
        for rows in (slice(start, start + _ROWS) for start in range(0, len(q), _ROWS)):
            yield Block.of(rows.start, q[rows], labels=label[rows] if labelled else None, ids=ids[rows])

    return Scores(str(path), hierarchy, read, rows=len(q), has_ids=True)
