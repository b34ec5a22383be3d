"""Training methods: the loss and the likelihood of scores, as torch modules.

In come scores θ and labels; out go losses to train with, and likelihoods of all nodes to answer with. A method is
one class in one file, with both side by side. This is the first package that imports torch.

>>> from hedgerow import Hierarchy, methods
>>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
>>> method = methods.create("softmax-margin", h, alpha=5.0)
>>> h.names[method.outputs].tolist()
['root', 'pet', 'cat', 'dog', 'wolf']

In the equations, A(y) are the ancestors of y and D(y) its descendants, both including y itself; C(y) are its
children; π(y) is its parent; L are the leaves and L(y) those below y; r is the root; LSE is the log-sum-exp.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from hedgerow.errors import ParameterError, check_kinds
from hedgerow.methods.base import HierarchicalHead, Law, Method
from hedgerow.methods.conditional_sigmoid import ConditionalSigmoid
from hedgerow.methods.conditional_softmax import ConditionalSoftmax
from hedgerow.methods.deep_rtc import DeepRTC
from hedgerow.methods.flat_softmax import FlatSoftmax
from hedgerow.methods.hxe import HXE
from hedgerow.methods.logit_adjusted import LogitAdjustedConditionalSoftmax
from hedgerow.methods.multilabel_focal import MultilabelFocal
from hedgerow.methods.ps_softmax import PSSoftmax
from hedgerow.methods.soft_labels import SoftLabels
from hedgerow.methods.softmax_descendant import SoftmaxDescendant
from hedgerow.methods.softmax_margin import SoftmaxMargin
from hedgerow.registry import Registry

if TYPE_CHECKING:
    from hedgerow.tree import Hierarchy

__all__ = [
    "METHODS",
    "HierarchicalHead",
    "Law",
    "Method",
    "available",
    "create",
    "find",
    "parameters",
    "register",
    "title",
]

_LARGEST = 1e6  # larger parameters would make losses overflow


def _checked(name: str, found: Any) -> type[Method]:
    if isinstance(found, type) and issubclass(found, Method):
        return found
    raise ParameterError(f"{name!r} is not a method: it must be a subclass of hedgerow.methods.Method.")


METHODS: Registry[type[Method]] = Registry(
    "method",
    {
        "flat-softmax": FlatSoftmax,
        "hxe": HXE,
        "multilabel-focal": MultilabelFocal,
        "conditional-softmax": ConditionalSoftmax,
        "conditional-sigmoid": ConditionalSigmoid,
        "deep-rtc": DeepRTC,
        "ps-softmax": PSSoftmax,
        "softmax-descendant": SoftmaxDescendant,
        "softmax-margin": SoftmaxMargin,
        "soft-labels": SoftLabels,
        "logit-adjusted-conditional-softmax": LogitAdjustedConditionalSoftmax,
    },
    group="hedgerow.methods",
    check=_checked,
    importable=True,
)
"""Every method by its name: the nine of the paper, then the extras."""


def available() -> list[str]:
    """Return the names that `create` knows, including those from installed packages."""
    return METHODS.names()


def register(name: str, method: type[Method]) -> None:
    """Register your own method under a name, for recipes, studies and `HedgedClassifier`.

    A package can do this without being imported first, through an entry point in the group "hedgerow.methods".
    """
    METHODS.register(name, method)


def find(name: str) -> type[Method]:
    """Return the method with this name: one of `available`, or "package.module:Class"."""
    return METHODS.find(name)


def title(name: str) -> str:
    """Return what tables and figures call a method: its `title`, else its short name, or that of its class.

    >>> title("hxe")
    'hxe'
    """
    return find(name).title or name.rpartition(":")[2]


def parameters(name: str) -> dict[str, Any]:
    """Return the parameters of a method and their defaults.

    >>> parameters("multilabel-focal")
    {'alpha': 0.9, 'gamma': 1.0}
    """
    given = inspect.signature(find(name)).parameters
    return {key: value.default for key, value in given.items() if key != "hierarchy"}


def create(name: str, hierarchy: Hierarchy, **params: Any) -> Method:
    """Create the method with this name for a tree.

    Parameters
    ----------
    name
        One of `available`, or "package.module:Class".
    hierarchy
        The tree of classes.
    **params
        Parameters of the method; see `parameters`.

    Examples
    --------
    >>> from hedgerow import Hierarchy
    >>> create("hxe", Hierarchy.from_edges([("root", "cat"), ("root", "dog")]), beta=1)
    Traceback (most recent call last):
    hedgerow.errors.ParameterError: 'hxe' has no parameter 'beta'; it has alpha.
    """
    method, defaults = find(name), parameters(name)
    known = inspect.signature(method).parameters
    for key, value in params.items():
        if key not in defaults:
            there = f"it has {', '.join(defaults)}" if defaults else "it has none"
            raise ParameterError(f"{name!r} has no parameter {key!r}; {there}.")
        if isinstance(value, float) and value > _LARGEST:
            raise ParameterError(f"{key} of {name!r} must be at most {_LARGEST:g}, not {value!r}.")
        if value is not None or "None" not in str(known[key].annotation):
            check_kinds(f"The method {name!r}", defaults, {key: value})
    return method(hierarchy, **params)
