"""Budgets: what each guarantee allows, against definitions in exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import hedgerow as hr
from hedgerow.choose.guarantees import GUARANTEES, Bound
from hedgerow.choose.written import exactly


def binomial_tail(n: int, count: int, alpha: Fraction) -> Fraction:
    """The probability of at most so many errors."""
    return sum((math.comb(n, k) * alpha**k * (1 - alpha) ** (n - k) for k in range(count + 1)), Fraction(0))


levels = st.integers(1, 99).map(lambda percent: f"0.{percent:02d}")


@given(n=st.integers(1, 300), level=levels)
def test_the_conformal_budget_is_the_rank_of_the_definition(n: int, level: str) -> None:
    rank = math.ceil((n + 1) * exactly(level))
    budget = Bound("conformal", 1 - exactly(level)).budget(n)
    if rank > n:
        assert budget < 0
    else:
        assert math.floor(budget) == n - rank


def test_decimals_are_those_that_were_written() -> None:
    # In floating-point numbers (99 + 1) * 0.55 is 55.00000000000001, whose ceiling is 56.
    assert math.ceil(100 * 0.55) == 56
    assert math.floor(Bound("conformal", 1 - exactly(0.55)).budget(99)) == 99 - 55


@settings(max_examples=50, deadline=None)
@given(n=st.integers(1, 120), alpha=levels, delta=st.sampled_from(["0.01", "0.05", "0.1", "0.5"]))
def test_the_pac_budget_is_clopper_and_pearson(n: int, alpha: str, delta: str) -> None:
    budget = Bound("pac", exactly(alpha), exactly(delta)).budget(n)
    affordable = [c for c in range(n) if binomial_tail(n, c, exactly(alpha)) <= exactly(delta)]
    assert budget == max(affordable, default=-1)


@pytest.mark.parametrize("delta", ["0.001", "0.05", "0.1", "0.5", "0.9"])
@pytest.mark.parametrize("alpha", ["0.0001", "0.01", "0.05", "0.1", "0.3", "0.5", "0.9", "0.99"])
def test_the_pac_budget_is_the_largest_unlikely_count(alpha: str, delta: str) -> None:
    for n in (1, 2, 5, 13, 59, 100, 299, 1_000, 4_999, 100_000, 3_000_000):
        budget = int(Bound("pac", exactly(alpha), exactly(delta)).budget(n))
        assert -1 <= budget < n
        at, above = (float(stats.binom.cdf(count, n, float(alpha))) for count in (budget, budget + 1))
        assert at <= float(delta) * (1 + 1e-8)
        assert above > float(delta) * (1 - 1e-8)
        if n <= 300:  # exactly, also where δ is met
            assert binomial_tail(n, budget, exactly(alpha)) <= exactly(delta)
            assert binomial_tail(n, budget + 1, exactly(alpha)) > exactly(delta)


def test_a_tail_of_exactly_delta_is_unlikely_enough() -> None:
    assert Bound("pac", Fraction(1, 2), Fraction(1, 2**10)).budget(10) == 0
    assert Bound("pac", Fraction(1, 2), Fraction(11, 2**10)).budget(10) == 1
    assert Bound("pac", Fraction(1, 2), Fraction(11, 2**10) - Fraction(1, 10**30)).budget(10) == 0


@settings(max_examples=50, deadline=None)
@given(n=st.integers(1, 500), alpha=levels, delta=st.sampled_from([0.01, 0.05, 0.2]))
def test_the_budget_for_bounded_losses_is_hoeffding_and_bentkus(n: int, alpha: str, delta: float) -> None:
    budget = float(Bound("pac", exactly(alpha), exactly(delta), binary=False).budget(n))
    a = float(alpha)

    def p_value(total: float) -> float:
        mean = min(total / n, a)
        first = mean * math.log(mean / a) if mean > 0 else 0.0
        kl = first + (1 - mean) * math.log((1 - mean) / (1 - a))
        bentkus = math.e * float(binomial_tail(n, math.ceil(total - 1e-9), exactly(alpha)))
        return min(math.exp(-n * kl), bentkus)

    if budget < 0:
        assert p_value(0.0) > delta
    else:
        assert p_value(budget) <= delta * (1 + 1e-6)
        assert p_value(budget + 1e-3 * n + 1e-6) > delta
    assert budget <= float(Bound("pac", exactly(alpha), exactly(delta)).budget(n)) + 1


@pytest.mark.parametrize("guarantee", GUARANTEES)
@pytest.mark.parametrize("binary", [True, False])
def test_the_number_needed_is_the_smallest_that_suffices(guarantee: str, binary: bool) -> None:
    bound = Bound(guarantee, Fraction(1, 20), Fraction(1, 10), binary)
    assert bound.budget(bound.needed) >= 0
    assert bound.needed == 1 or bound.budget(bound.needed - 1) < 0


def test_the_usual_numbers() -> None:
    assert Bound("conformal", exactly("0.05")).needed == 19
    assert Bound("pac", exactly("0.05"), exactly("0.05")).needed == 59
    assert Bound("empirical", exactly("0.05")).needed == 1


@pytest.mark.parametrize("delta", [0, 1, -0.1, 2])
def test_delta_must_be_a_probability(delta: float) -> None:
    with pytest.raises(hr.HedgerowError, match=r"delta is the probability .* between 0 and 1, not"):
        Bound("pac", Fraction(1, 20), exactly(delta))


def test_numpy_numbers_are_read_as_they_print() -> None:
    assert exactly(np.float64(0.95)) == exactly(np.float32(0.95)) == exactly("0.95") == Fraction(19, 20)
