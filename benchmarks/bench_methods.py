"""Training methods: time of loss and gradient beside `F.cross_entropy` and beside dense-matrix code; memory.

Run with `python -m benchmarks.bench_methods`, which measures on the CPU and, where there is one, on the GPU;
`--cpu` or `--gpu` runs one half. `--tree FILE` is an edge list; without it, the tree of iNaturalist 2021 if it
lies beside the checkout, else a random tree of its shape. `--out FILE` gets the printed tables as well.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from tests.methods.cases import CASES, Case, given_cut
from torch import Tensor
from torch.nn import functional

from hedgerow import Hierarchy, methods

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hedgerow.methods.base import Method

INAT21 = Path(__file__).parents[2] / "shared" / "data" / "hierarchies" / "inat21.csv"
INAT21_LEVELS = (1, 3, 13, 51, 273, 1_103, 4_900, 10_000)
MILLION_LEVELS = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
MIB = 1 << 20


def random_tree(levels: tuple[int, ...], seed: int = 0) -> Hierarchy:
    """A tree with so many nodes at each depth, all leaves at the last; every node above has a child."""
    random = np.random.default_rng(seed)
    parent = [np.array([-1])]
    first = 0
    for above, count in pairwise(levels):
        skewed = (above * random.random(count - above) ** 2).astype(np.int64)
        parent.append(first + np.sort(np.concatenate([np.arange(above), skewed])))
        first += above
    return Hierarchy.from_parents([str(i) for i in range(sum(levels))], np.concatenate(parent))


# Dense-matrix code, as one would write it down from the equations ------------------------------------------


class Dense:
    """The textbook versions: A[u, v] = 1 where u is an ancestor of v."""

    def __init__(self, h: Hierarchy) -> None:
        node = np.arange(len(h))
        ancestor = (node[:, None] <= node) & (node < h.end[:, None])
        self.A = torch.tensor(ancestor, dtype=torch.float32)
        self.leaves = torch.tensor(h.leaves)
        self.is_leaf = torch.tensor(h.is_leaf)
        self.inner = ~self.is_leaf
        self.inner[0] = False
        self.leaf_count = torch.tensor(h.leaf_count, dtype=torch.float32)
        self.group = torch.tensor(h.parent[1:])

    @staticmethod
    def _with_root(theta: Tensor) -> Tensor:
        return functional.pad(theta, (1, 0))

    def conditional_softmax(self, theta: Tensor, labels: Tensor) -> Tensor:
        group = self.group.expand(theta.shape)
        largest = theta.new_full((len(theta), len(self.A)), -torch.inf)
        largest = largest.scatter_reduce(1, group, theta.detach(), "amax").gather(1, group)
        total = theta.new_zeros(len(theta), len(self.A)).scatter_add(1, group, (theta - largest).exp())
        log_r = theta - largest - total.gather(1, group).log()
        log_q = self._with_root(log_r) @ self.A
        return -log_q.gather(1, labels[:, None])[:, 0]

    def ps_softmax(self, theta: Tensor, labels: Tensor) -> Tensor:
        beta = (self._with_root(theta) @ self.A)[:, self.leaves]
        inside = self.A[labels][:, self.leaves] > 0
        return beta.logsumexp(1) - beta.masked_fill(~inside, -torch.inf).logsumexp(1)

    def deep_rtc(self, theta: Tensor, labels: Tensor, cut: Tensor | None = None) -> Tensor:
        if cut is None:
            cut = (torch.rand(len(theta), len(self.A)) < 0.1) & self.inner
        beta = self._with_root(theta) @ self.A
        above = cut.float() @ self.A - cut.float()
        kept = (cut | self.is_leaf) & (above == 0)
        related = (self.A[labels] + self.A.T[labels]) > 0
        whole = beta.masked_fill(~kept, -torch.inf).logsumexp(1)
        return whole - beta.masked_fill(~(kept & related), -torch.inf).logsumexp(1)

    def softmax_descendant(self, theta: Tensor, labels: Tensor) -> Tensor:
        mass = (theta - theta.detach().amax(1, keepdim=True)).exp()
        related = mass @ self.A + mass @ self.A.T - mass
        unrelated = mass.sum(1, keepdim=True) - related
        terms = ((unrelated.clamp(min=0) + mass).log() - mass.log()) / self.leaf_count
        path = self.A.T[labels].clone()
        path[:, 0] = 0
        return (terms * path).sum(1)


DENSE = {
    "conditional-softmax": Dense.conditional_softmax,
    "deep-rtc": Dense.deep_rtc,
    "ps-softmax": Dense.ps_softmax,
    "softmax-descendant": Dense.softmax_descendant,
}


# What is timed ---------------------------------------------------------------------------------------------


def step(loss: Callable[[Tensor, Tensor], Tensor], theta: Tensor, labels: Tensor) -> Callable[[], None]:
    """Loss and gradient of one batch."""

    def run() -> None:
        theta.grad = None
        torch.autograd.backward(loss(theta, labels).sum())

    return run


def cross_entropy(theta: Tensor, labels: Tensor) -> Tensor:
    return functional.cross_entropy(theta, labels, reduction="none")


def batch(
    method: Method, rows: int, device: str = "cpu", dtype: torch.dtype = torch.float32
) -> tuple[Tensor, Tensor]:
    """Scores and leaf labels."""
    random = torch.Generator().manual_seed(rows)
    theta = torch.randn(rows, len(method.outputs), generator=random).to(device, dtype)
    leaf = torch.randint(len(method.hierarchy.leaves), (rows,), generator=random)
    return theta.requires_grad_(), torch.tensor(method.hierarchy.leaves)[leaf].to(device)


def seconds(run: Callable[[], None], repeats: int) -> float:
    """Best wall time; with a single thread best CPU time, which other work on the machine hardly changes."""
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    run()
    times = []
    for _ in range(repeats):
        start = clock()
        run()
        times.append(clock() - start)
    return min(times)


def table(head: list[str], rows: list[list[str]]) -> Iterator[str]:
    yield ""
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def goal(value: float, most: float) -> str:
    return f"{value:.2f}" + ("" if value <= most else " (goal missed)")


# CPU -------------------------------------------------------------------------------------------------------


def cpu_tables(h: Hierarchy, threads: int, rows: int = 64) -> Iterator[str]:
    torch.set_num_threads(threads)
    yield f"\n### CPU: {h!r}, batch {rows}, threads: {threads}, torch {torch.__version__}"
    yield f"\nLoad of the machine before: {os.getloadavg()[0]:.1f}. Under other work use `--threads 1`: CPU time."
    leaves = torch.randn(rows, len(h.leaves), requires_grad=True)
    reference = step(cross_entropy, leaves, torch.randint(len(h.leaves), (rows,)))
    dense = Dense(h)
    lines = []
    for name in methods.available():
        start = time.perf_counter()
        method = methods.create(name, h)
        build = time.perf_counter() - start
        theta, labels = batch(method, rows)
        # Side by side, so that both meet the same load of the machine.
        pairs = [(seconds(step(method.loss, theta, labels), 10), seconds(reference, 10)) for _ in range(4)]
        own, plain = min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)
        gain = "-"
        if name in DENSE:
            given = given_cut(method, rows)
            textbook = DENSE[name]
            with torch.no_grad():
                torch.testing.assert_close(
                    method.loss(theta, labels, **given),
                    textbook(dense, theta, labels, **given),
                    atol=1e-3,
                    rtol=1e-3,
                )
            slow = seconds(step(lambda t, y, f=textbook: f(dense, t, y), theta, labels), 2)  # type: ignore[misc]
            gain = f"{slow / own:.0f}x" + ("" if slow >= 5 * own else " (goal missed)")
        lines.append(
            [name, f"{1e3 * own:.1f}", goal(own / plain, 20), gain, goal(1e3 * build, 50)],
        )
    head = ["method", "loss + gradient, ms", "x F.cross_entropy", "faster than dense", "construction, ms"]
    yield from table(head, lines)
    yield "\nGoals: at most 20x F.cross_entropy over the leaves, at least 5x faster than dense, 50 ms. Best of 40."


# GPU -------------------------------------------------------------------------------------------------------


def device_ms(run: Callable[[], None], repeats: int = 20) -> float:
    """Device time of a run, by CUDA events around several."""
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    begin.record()
    for _ in range(repeats):
        run()
    end.record()
    torch.cuda.synchronize()
    return float(begin.elapsed_time(end)) / repeats


def wall_ms(*runs: Callable[[], None], repeats: int = 50) -> list[float]:
    """Median wall times of runs that are waited for, done in turns so that a busy host slows all alike."""
    for run in 3 * runs:
        run()
    times: list[list[float]] = [[] for _ in runs]
    for _ in range(repeats):
        for run, taken in zip(runs, times, strict=True):
            torch.cuda.synchronize()
            start = time.perf_counter()
            run()
            torch.cuda.synchronize()
            taken.append(time.perf_counter() - start)
    return [1e3 * median(taken) for taken in times]


def plain_batch(theta: Tensor) -> tuple[Tensor, Tensor]:
    """Scores of the same shape, and columns, for `F.cross_entropy`."""
    scores = torch.randn_like(theta, requires_grad=True)
    return scores, torch.randint(theta.shape[1], (len(theta),), device=theta.device)


def peak_mib(run: Callable[[], None], theta: Tensor) -> float:
    """Most memory held during a run, scores and their gradient included and constants not."""
    theta.grad = None
    gc.collect()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated() - theta.nbytes
    torch.cuda.reset_peak_memory_stats()
    run()
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_allocated() - before) / MIB


def agreement(method: Method, case: Case, compiled: Callable[..., Tensor]) -> list[str]:
    """Compare compiled, eager, float64 on the CPU and, for three labels, the plain loops."""
    h = method.hierarchy
    random = torch.Generator().manual_seed(1)
    labels = torch.randint(len(h), (256,), generator=random)
    labels[:4] = torch.tensor([0, 1, int(h.leaves[7]), int(h.parent[h.leaves[7]])])
    theta = 3 * torch.randn(256, len(method.outputs), generator=random)
    on_cpu = case.create(h)
    given = given_cut(on_cpu, 256)
    on_gpu = {key: value.cuda() for key, value in given.items()}

    def evaluate(loss: Callable[..., Tensor], scores: Tensor, extra: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        scores = scores.detach().clone().requires_grad_()
        value = loss(scores, labels.to(scores.device), **extra)
        torch.autograd.backward(value.sum())
        assert scores.grad is not None
        return value.detach().cpu().double(), scores.grad.cpu().double()

    true, true_grad = evaluate(on_cpu.loss, theta.double(), given)
    eager, eager_grad = evaluate(method.loss, theta.cuda(), on_gpu)
    fused, fused_grad = evaluate(compiled, theta.cuda(), on_gpu)
    cut = {key: value[1:4] for key, value in given.items()}
    loops = torch.tensor(case.losses(h, theta[1:4], labels[1:4], **cut), dtype=torch.float64)
    largest = true.abs().max()
    errors = [
        ((eager - true).abs().max() / largest).item(),
        ((fused - true).abs().max() / largest).item(),
        (eager_grad - true_grad).abs().max().item(),
        (fused_grad - true_grad).abs().max().item(),
        ((loops - true[1:4]).abs().max() / largest).item(),
    ]
    root_is_silent = not (eager[0] or eager_grad[0].any() or fused[0] or fused_grad[0].any())
    good = max(errors[:4]) < 1e-4 and errors[4] < 1e-9 and (root_is_silent or bool(true[0]))
    return [*(f"{error:.0e}" for error in errors), "yes" if root_is_silent else "NO", "yes" if good else "NO"]


def gpu_tables(h: Hierarchy) -> Iterator[str]:
    yield f"\n### GPU: {torch.cuda.get_device_name()}, {h!r}, torch {torch.__version__}"
    default = {case.name: case for case in reversed(CASES)}  # the first case of each name
    checks, small, large = [], [], []
    for name in methods.available():
        started = time.perf_counter()
        torch._dynamo.reset()  # no compiled function has to find its way among those of other methods
        fused = torch.compile(cross_entropy, fullgraph=True, dynamic=False)
        method = default[name].create(h).cuda()
        compiled = torch.compile(method.loss, fullgraph=True, dynamic=False)
        checks.append([name, *agreement(method, default[name], compiled)])
        rows = 256
        theta, labels = batch(method, rows, "cuda")
        given = {key: value.cuda() for key, value in given_cut(default[name].create(h), rows).items()}

        def drawn(t: Tensor, y: Tensor, f: Any = compiled, extra: dict[str, Tensor] = given) -> Tensor:
            result: Tensor = f(t, y, **extra)
            return result

        eager, own, plain = wall_ms(
            step(method.loss, theta, labels),
            step(drawn, theta, labels),
            step(fused, *plain_batch(theta)),
            repeats=100,
        )
        eager_peak = peak_mib(step(method.loss, theta, labels), theta)
        peak = peak_mib(step(drawn, theta, labels), theta)
        score_mib = theta.nbytes / MIB
        small.append(
            [
                name,
                goal(eager, 2.0),
                f"{eager_peak:.0f}",
                f"{own:.2f}",
                f"{plain:.2f}",
                goal(own / plain, 2.0),
                goal(peak, 6 * score_mib + 64),
                f"{6 * score_mib + 64:.0f}",
            ]
        )
        rows = 4096
        theta, labels = batch(method, rows, "cuda")
        given = {key: value.cuda() for key, value in given_cut(default[name].create(h), rows).items()}
        run = step(lambda t, y, f=compiled, g=given: f(t, y, **g), theta, labels)  # type: ignore[misc]
        took, reference = device_ms(run), device_ms(step(cross_entropy, *plain_batch(theta)))
        large.append([name, f"{took:.2f}", f"{reference:.2f}", goal(took / reference, 4.0),
                      f"{peak_mib(run, theta):.0f}", f"{theta.nbytes / MIB:.0f}"])  # fmt: skip
        del theta, labels, given, run, compiled, method
        torch.cuda.empty_cache()
        took_s = f"{time.perf_counter() - started:.0f} s"
        print(took_s, checks[-1], small[-1][1:], large[-1][1:], file=sys.stderr, flush=True)
    yield "\nAgreement with float64 on the CPU, 256 labels at random nodes; losses relative, gradients absolute."
    head = ["method", "eager", "compiled", "eager gradient", "compiled gradient", "plain loops", "root 0", "good"]
    yield from table(head, checks)
    yield "\nBatch 256, loss and gradient; wall times in ms, memory in MiB with the scores and their gradient."
    head = ["method", "eager", "eager peak", "compiled", "F.cross_entropy", "ratio", "compiled peak", "allowed"]
    yield from table(head, small)
    yield "\nThe F.cross_entropy beside it is compiled too, of equal width, and timed in turns with the method."
    yield "\nBatch 4,096, compiled; device time by CUDA events in ms, beside eager F.cross_entropy of equal width."
    yield from table(["method", "device time", "F.cross_entropy", "ratio", "peak, MiB", "scores, MiB"], large)


def million_table(rows: int = 32) -> Iterator[str]:
    h = random_tree(MILLION_LEVELS)
    yield f"\nOne training step (linear layer of 64 features, eager, SGD) on {h!r}, batch {rows}, on the GPU:"
    lines = []
    for name in methods.available():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        head = methods.HierarchicalHead(64, methods.create(name, h)).cuda()
        optimiser = torch.optim.SGD(head.parameters(), lr=0.1)
        features = torch.randn(rows, 64, device="cuda")
        labels = torch.tensor(np.random.default_rng(0).choice(h.leaves, rows)).cuda()

        def run(head: Any = head, x: Tensor = features, y: Tensor = labels, o: Any = optimiser) -> None:
            o.zero_grad()
            torch.autograd.backward(head.method.loss(head(x), y).mean())
            o.step()

        (took,) = wall_ms(run, repeats=3)
        finite = all(bool(weight.isfinite().all()) for weight in head.parameters())
        lines.append(
            [name, f"{took:.0f}", f"{torch.cuda.max_memory_allocated() / MIB:,.0f}", "yes" if finite else "NO"]
        )
        del head, optimiser, run
    yield from table(["method", "step, ms", "peak, MiB", "finite"], lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tree", type=Path, help="edge list; default: iNaturalist 2021, or a tree of its shape")
    parser.add_argument("--cpu", action="store_true", help="measure on the CPU only")
    parser.add_argument("--gpu", action="store_true", help="measure on the GPU only")
    parser.add_argument("--threads", type=int, default=2, help="threads on the CPU")
    parser.add_argument("--out", type=Path, help="write the tables to this file too")
    asked = parser.parse_args()
    tree = asked.tree or (INAT21 if INAT21.exists() else None)
    h = random_tree(INAT21_LEVELS) if tree is None else Hierarchy.from_edges(tree)
    parts: list[Iterator[str]] = []
    if not asked.gpu:
        parts.append(cpu_tables(h, asked.threads))
    if not asked.cpu and torch.cuda.is_available():
        parts += [million_table(), gpu_tables(h)]
    lines = []
    for part in parts:
        for line in part:
            print(line, flush=True)
            lines.append(line)
            if asked.out is not None:
                asked.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
