from __future__ import annotations

import copy
import pickle
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import Hierarchy
from hedgerow.errors import HedgerowError, ParameterError, ScoreError, TreeError, UnknownNameError
from tests.oracle_tree import Tree
from tests.tree_strategies import shuffled_parents, trees, trees_and_nodes

REAL_TREES = Path(__file__).parents[3] / "shared" / "data" / "hierarchies"
PETS = [("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")]


@pytest.fixture
def pets() -> Hierarchy:
    return Hierarchy.from_edges(PETS)


# Order -------------------------------------------------------------------------------------------------------


@given(parent=shuffled_parents())
def test_nodes_are_in_depth_first_order_siblings_as_given(parent: list[int]) -> None:
    names = [f"node {i}" for i in range(len(parent))]
    tree = Tree({name: None if p < 0 else names[p] for name, p in zip(names, parent, strict=True)})
    h = Hierarchy.from_parents(names, parent)
    assert h.names.tolist() == tree.descendants(tree.root())
    assert {h.names[i]: None if p < 0 else h.names[p] for i, p in enumerate(h.parent)} == tree.parent


@given(h=trees())
def test_descendants_are_a_slice(h: Hierarchy) -> None:
    tree = Tree.of(h)
    for node, name in enumerate(h.names):
        assert h.names[node : h.end[node]].tolist() == tree.descendants(name)


def test_a_chain_of_ten_thousand_and_a_star() -> None:
    names = [f"n{i}" for i in range(10_001)]
    chain = Hierarchy.from_edges(pairwise(names))
    assert chain.depth[-1] == 10_000
    assert chain.height[0] == 10_000
    assert chain.leaves.tolist() == [10_000]
    assert chain.lca(10_000, 17) == 17
    assert len(chain.lineage(10_000)) == 10_001
    assert chain.pretty(max_depth=2).count("\n") == 3
    star = Hierarchy.from_edges(("n0", name) for name in names[1:])
    assert len(star.leaves) == 10_000
    assert star.lca(5, 6) == 0


def test_a_million_nodes() -> None:
    parent = np.arange(-1, 999_999) // 3
    parent[0] = -1
    h = Hierarchy.from_parents(list(map(str, range(1_000_000))), parent)
    assert len(h) == 1_000_000
    assert h.end[0] == 1_000_000
    assert h.leaf_count[0] == len(h.leaves)


def test_arrays_are_int64_and_read_only(pets: Hierarchy) -> None:
    for array in (pets.parent, pets.end, pets.depth, pets.leaves):
        assert array.dtype == np.int64
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    assert pets.names.dtype == object
    assert all(type(name) is str for name in pets.names)
    with pytest.raises(ValueError, match="read-only"):
        pets.names[0] = "x"


def test_the_callers_arrays_stay_writable() -> None:
    names, parent = np.array(["a", "b"], dtype=object), np.array([-1, 0])
    h = Hierarchy(names, parent)
    names[0], parent[1] = "x", 7
    assert h.names.tolist() == ["a", "b"]
    assert h.parent.tolist() == [-1, 0]


def test_the_constructor_wants_depth_first_order() -> None:
    def build(parent: list[int]) -> Hierarchy:
        return Hierarchy(np.array(list("abcd")[: len(parent)], dtype=object), np.array(parent))

    assert build([-1, 0, 1, 0]).end.tolist() == [4, 3, 3, 4]
    for parent in ([-1, 0, 0, 1], [1, -1, 1, 1], [-1, 2, 0, 0]):
        with pytest.raises(TreeError, match="depth-first order"):
            build(parent)
    for parent in ([-1, 0, 9, 0], [-1, 0, -7, 0]):
        with pytest.raises(TreeError, match="Every parent must be the position of a node"):
            build(parent)
    with pytest.raises(TreeError, match=r"2 roots .*: 'a' and 'b' \(positions 0 and 1\)"):
        build([-1, -1, 0, 0])
    with pytest.raises(TreeError, match=r"c -> b -> c \(positions 1 and 2\)"):
        build([-1, 2, 1, 0])
    with pytest.raises(TreeError, match=r"position 0: 'a' is its own parent"):
        build([0, -1, 1, 1])
    with pytest.raises(TreeError, match="only one node"):
        build([-1])
    with pytest.raises(TreeError):
        build([])


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", ""], "1 class has no name \\(position 1\\)"),
        (["a", "a"], "'a' occurs under 2 parents: a; a > a \\(positions 0 and 1\\)"),
        (["a", 3], "3 is int"),
        (["a"], "1 names"),
    ],
)
def test_bad_names(names: list[str], message: str) -> None:
    with pytest.raises(TreeError, match=message):
        Hierarchy.from_parents(names, [-1, 0])


def test_numpy_strings_become_str() -> None:
    h = Hierarchy.from_parents(np.array(["a", "b"]), [-1, 0])  # type: ignore[arg-type]
    assert type(h.names[1]) is str
    assert h == Hierarchy.from_edges(np.array([["a", "b"]]))


# Relations ---------------------------------------------------------------------------------------------------


@given(h=trees())
def test_all_pairs_against_the_definitions(h: Hierarchy) -> None:
    tree = Tree.of(h)
    names = h.names.tolist()
    everyone = np.arange(len(h))
    lca, ancestor = h.lca(everyone[:, None], everyone), h.is_ancestor(everyone[:, None], everyone)
    for i, a in enumerate(names):
        for j, b in enumerate(names):
            assert names[lca[i, j]] == tree.lca(a, b)
            assert ancestor[i, j] == tree.is_ancestor(a, b)


@given(h=trees())
def test_nodes_against_the_definitions(h: Hierarchy) -> None:
    tree = Tree.of(h)
    for node, name in enumerate(h.names):
        assert h.names[h.lineage(node)].tolist() == tree.lineage(name)
        assert h.names[h.children(node)].tolist() == tree.children(name)
        assert h.depth[node] == tree.depth(name)
        assert h.height[node] == tree.height(name)
        assert h.child_count[node] == len(tree.children(name))
        assert h.leaf_count[node] == len(tree.leaves(name))
        assert h.is_leaf[node] == (not tree.children(name))
        assert h.is_trivial[node] == (len(tree.children(name)) == 1 and node != 0)
        below = h.leaves[h.leaves_before[node] : h.leaves_before[h.end[node]]]
        assert h.names[below].tolist() == tree.leaves(name)
        parent = tree.parent[name]
        siblings = [name] if parent is None else tree.children(parent)
        assert h.names[h.siblings(node)].tolist() == siblings
    assert [h.names[level].tolist() for level in h.levels] == [
        [name for name in h.names if tree.depth(name) == depth] for depth in range(tree.height(tree.root()) + 1)
    ]


@given(drawn=trees_and_nodes(6))
def test_lca_broadcasts_and_keeps_shapes(drawn: tuple[Hierarchy, list[int]]) -> None:
    h, nodes = drawn
    a, b = np.array(nodes[:4]).reshape(2, 2), np.array(nodes[4:])
    result = h.lca(a, b)
    assert result.shape == (2, 2)
    assert result.dtype == np.int64
    assert result.tolist() == [[int(h.lca(x, y)) for x, y in zip(row, b, strict=True)] for row in a]
    assert np.ndim(h.lca(nodes[0], nodes[1])) == 0
    assert h.lca(np.empty((0, 3), dtype=int), np.zeros(3, dtype=int)).shape == (0, 3)


@pytest.mark.parametrize("count", [1 << 16, (1 << 16) + 1])
def test_lca_where_numbers_of_nodes_outgrow_16_bits(count: int) -> None:
    random = np.random.default_rng(0)
    h = Hierarchy.from_parents(
        [str(i) for i in range(count)], [-1, *random.integers(0, np.arange(1, count)).tolist()]
    )
    for a, b in [
        (count - 1, count - 2),
        (count - 1, count - 1),
        *random.integers(count // 2, count, (50, 2)).tolist(),
    ]:
        shared = np.intersect1d(h.lineage(a), h.lineage(b))
        assert h.lca(a, b) == shared.max()


def test_lca_over_several_blocks() -> None:
    h = Hierarchy.from_parents(list(map(str, range(100))), (np.arange(100) - 1) // 2)
    random = np.random.default_rng(0)
    a, b = random.integers(0, 100, (2, 100_001))
    expected = np.array([[Tree.of(h).lca(str(x), str(y)) for y in range(100)] for x in range(100)])
    names = h.names
    assert names[h.lca(a, b)].tolist() == [
        expected[int(names[x]), int(names[y])] for x, y in zip(a, b, strict=True)
    ]


@pytest.mark.parametrize("bad", [-1, 5, 10**6])
def test_nodes_out_of_range_are_refused(pets: Hierarchy, bad: int) -> None:
    for ask in (
        lambda: pets.lca(bad, 0),
        lambda: pets.lca(np.array([0, 1]), np.array([bad, 0])),
        lambda: pets.is_ancestor(0, bad),
        lambda: pets.is_ancestor(bad, 0),
        lambda: pets.lineage(bad),
        lambda: pets.children(bad),
        lambda: pets.siblings(bad),
        lambda: pets.nodes([bad]),
    ):
        with pytest.raises(HedgerowError, match=f"{bad} is not a node"):
            ask()


# Names -------------------------------------------------------------------------------------------------------


def test_index_and_indices(pets: Hierarchy) -> None:
    assert pets.index("cat") == 2
    assert pets.indices([["dog", "cat"]]).tolist() == [[3, 2]]
    assert pets.indices("dog").tolist() == 3
    assert pets.indices([]).tolist() == []
    assert pets.indices(np.array(["wolf"])).dtype == np.int64


def test_unknown_names_come_with_near_ones(pets: Hierarchy) -> None:
    with pytest.raises(UnknownNameError, match=r"no 'catt' in the tree\. Did you mean 'cat'\?"):
        pets.index("catt")
    with pytest.raises(
        UnknownNameError, match=r"2 names are not in the tree: 'Dog' and 'bird'\. Did you mean 'dog' for 'Dog'"
    ):
        pets.indices(["cat", "Dog", "bird", "Dog"])
    with pytest.raises(UnknownNameError, match="1 name is not in the tree: '3'"):
        pets.indices(np.array(["cat", 3], dtype=object))
    with pytest.raises(UnknownNameError):
        pets.index(["cat"])  # type: ignore[arg-type]


def test_nodes_takes_names_or_indices(pets: Hierarchy) -> None:
    assert pets.nodes(["dog", "root"]).tolist() == [3, 0]
    assert pets.nodes(np.array([3, 0], dtype=np.uint8)).tolist() == [3, 0]
    assert pets.nodes([]).tolist() == []
    with pytest.raises(ScoreError, match="float64"):
        pets.nodes([1.0])
    with pytest.raises(UnknownNameError):
        pets.nodes(["unicorn"])


@given(h=trees(odd=True), data=st.data())
def test_names_do_what_indices_do(h: Hierarchy, data: st.DataObject) -> None:
    node = st.integers(0, len(h) - 1)
    a = np.array(data.draw(st.lists(node, min_size=1, max_size=4)))
    b = data.draw(node)
    names, name = h.names[a], h.names[b]
    assert h.lca(names, name).tolist() == h.lca(a, b).tolist()
    assert h.lca(names.tolist(), b).tolist() == h.lca(a, b).tolist()
    assert h.lca(name, name) == b
    assert h.is_ancestor(names, name).tolist() == h.is_ancestor(a, b).tolist()
    for relatives in (h.lineage, h.children, h.siblings):
        assert relatives(name).tolist() == relatives(b).tolist()
    assert h.display_name(name) == h.display_name(b) == name


def test_unknown_names_are_refused_everywhere(pets: Hierarchy) -> None:
    for ask in (
        lambda: pets.lca("cat", "catt"),
        lambda: pets.is_ancestor(["catt"], "pet"),
        lambda: pets.lineage("catt"),
        lambda: pets.children("catt"),
        lambda: pets.siblings("catt"),
        lambda: pets["catt"],
    ):
        with pytest.raises(UnknownNameError, match=r"not in the tree: 'catt'\. Did you mean 'cat'\?"):
            ask()
    with pytest.raises(ScoreError, match="by name or by integer index, not as float64"):
        pets.lca(1.0, 2)


@given(h=trees(odd=True))
def test_views_of_nodes(h: Hierarchy) -> None:
    tree = Tree.of(h)
    for index, name in enumerate(h.names):
        node = h[name]
        assert node == h[index] == h[np.int64(index)]
        assert hash(node) == hash(h[index])
        assert (node.name, node.index, node.parent) == (name, index, tree.parent[name])
        assert node.children == tuple(tree.children(name))
        assert node.lineage == tuple(tree.lineage(name))
        assert (node.depth, node.leaf_count) == (tree.depth(name), len(tree.leaves(name)))
        assert node.is_leaf == (not tree.children(name))
        assert (node.rank, node.title) == ("", "")
    assert list(h) == h.names.tolist()


def test_a_node_is_frozen_and_readable(pets: Hierarchy) -> None:
    named = Hierarchy(pets.names, pets.parent, pets.names, pets.names).with_titles({"cat": "Katze"})
    assert repr(named["cat"]) == "Node('cat', index 2, depth 2, rank 'cat', title 'Katze', leaf)"
    assert repr(pets[0]) == "Node('root', index 0, depth 0, 3 leaves)"
    assert pets["cat"] != named["cat"]
    with pytest.raises(AttributeError):
        pets["cat"].index = 3  # type: ignore[misc]
    for bad in (-1, 5):
        with pytest.raises(HedgerowError, match=f"{bad} is not a node"):
            pets[bad]


def test_names_that_are_in_the_tree(pets: Hierarchy) -> None:
    assert "cat" in pets
    for absent in ("Cat", "", 0, None, ["cat"]):
        assert absent not in pets


# Specificity -------------------------------------------------------------------------------------------------


@given(h=trees(), data=st.data())
def test_information(h: Hierarchy, data: st.DataObject) -> None:
    tree = Tree.of(h)
    count = len(h.leaves)
    weights = data.draw(st.lists(st.floats(1e-6, 1e6), min_size=count, max_size=count))
    by_name = dict(zip(h.names[h.leaves].tolist(), weights, strict=True))
    assert h.information() == pytest.approx([tree.information(name) for name in h.names], abs=1e-12)
    weighted = h.information(leaf_weights=weights)
    assert weighted == pytest.approx([tree.information(name, by_name) for name in h.names], abs=1e-9)
    assert h.information("depth").tolist() == [tree.depth(name) for name in h.names]
    for values in (h.information(), weighted, h.information("depth")):
        assert values[0] == 0
        assert np.all(values[1:] >= values[h.parent[1:]])
        assert h.information(values).tolist() == values.tolist()


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1.0, 0.0])
def test_bad_leaf_weights(pets: Hierarchy, bad: float) -> None:
    with pytest.raises(ScoreError, match="the weight of 'dog' is"):
        pets.information(leaf_weights=[1.0, bad, 1.0])


def test_bad_information(pets: Hierarchy) -> None:
    with pytest.raises(ScoreError, match="3 leaf weights are needed"):
        pets.information(leaf_weights=[1.0])
    with pytest.raises(ParameterError, match="'height'"):
        pets.information("height")
    with pytest.raises(ParameterError, match="leaf_weights"):
        pets.information("depth", leaf_weights=[1, 1, 1])
    for values in ([0, 1, 2, 3, float("nan")], [1, 1, 1, 1, 1], [0, 2, 1, 1, 1]):
        with pytest.raises(ScoreError, match="never smaller"):
            pets.information(values)
    with pytest.raises(ScoreError, match="one value per node, 5"):
        pets.information([0, 1])


# Parts -------------------------------------------------------------------------------------------------------


def test_classes_beside_the_tree() -> None:
    edges = [("animal", "bird"), ("animal", "fish")]
    above = Hierarchy.from_edges(edges).beside(["blank", "vehicle"])
    assert above == Hierarchy.from_edges([("root", "animal"), *edges, ("root", "blank"), ("root", "vehicle")])
    rows = [{"class": "bird", "species": "robin"}, {"class": "fish", "species": "cod"}]
    ranked = Hierarchy.from_lineages(rows).beside(["blank"])  # the added root is no class itself
    assert ranked.names.tolist() == ["root", "bird", "robin", "fish", "cod", "blank"]
    assert ranked.rank is not None
    assert ranked.rank.tolist() == ["", "class", "species", "class", "species", ""]
    named = Hierarchy.from_parents(["Life", "lion", "puma"], [-1, 0, 0], None, ["", "", "cat"], {"cougar": 2})
    assert named.beside(["blank"], root="Life").parent.tolist() == [-1, 0, 0, 0]
    other = named.beside(["blank"], root="photo")
    assert other.names.tolist() == ["photo", "Life", "lion", "puma", "blank"]
    assert other.index("cougar") == 3
    for names, root, said in (
        (["lion"], "root", "'lion' cannot be put beside the tree"),
        (["cougar"], "root", "'cougar' cannot"),
        (["blank"], "lion", "a class is called 'lion' already"),
        (["blank", "blank"], "root", "'blank' occurs 2 times"),
    ):
        with pytest.raises(HedgerowError, match=said):
            named.beside(names, root=root)


@given(h=trees(), data=st.data())
def test_subtree_and_projection(h: Hierarchy, data: st.DataObject) -> None:
    tree = Tree.of(h)
    keep = data.draw(
        st.lists(st.sampled_from(h.names.tolist()), min_size=1).filter(lambda names: set(names) != {h.names[0]})
    )
    kept = tree.spanned(keep)
    smaller, projection = h.subtree(keep)
    assert smaller.names.tolist() == [name for name in h.names if name in kept]
    assert Tree.of(smaller).parent == {name: tree.parent[name] for name in smaller.names}
    assert smaller.names[projection].tolist() == [tree.projected(name, kept) for name in h.names]
    mask = np.isin(np.arange(len(h)), h.indices(keep))
    for again, projected in (h.subtree(h.indices(keep)), h.subtree(mask)):
        assert again == smaller
        assert projected.tolist() == projection.tolist()


@given(h=trees(), depth=st.integers(1, 30))
def test_cut_at_depth(h: Hierarchy, depth: int) -> None:
    smaller, projection = h.cut_at_depth(depth)
    assert smaller.names.tolist() == h.names[h.depth <= depth].tolist()
    assert [h.names[h.lineage(v)[: depth + 1][-1]] for v in range(len(h))] == smaller.names[projection].tolist()


def test_bad_parts(pets: Hierarchy) -> None:
    with pytest.raises(ParameterError, match="depth 1 or deeper"):
        pets.cut_at_depth(0)
    with pytest.raises(ScoreError, match="mask"):
        pets.subtree([True, False])
    with pytest.raises(UnknownNameError):
        pets.subtree(["unicorn"])
    with pytest.raises(HedgerowError, match="at least one class below"):
        pets.subtree(["root"])
    with pytest.raises(HedgerowError, match="at least one class below"):
        pets.subtree([])


@given(h=trees(), fraction=st.floats(0, 1), seed=st.integers(0, 10))
def test_split_leaves(h: Hierarchy, fraction: float, seed: int) -> None:
    chosen, others = h.split_leaves(fraction, seed)
    assert sorted([*chosen, *others]) == h.leaves.tolist()
    assert chosen.tolist() == sorted(chosen)
    assert others.tolist() == sorted(others)
    for parent in set(h.parent[h.leaves].tolist()):
        leaves = [leaf for leaf in h.leaves if h.parent[leaf] == parent]
        share = len(leaves) * fraction
        taken = sum(leaf in chosen for leaf in leaves)
        assert np.floor(share) <= taken <= np.ceil(share)
    again = h.split_leaves(fraction, seed)
    assert again[0].tolist() == chosen.tolist()
    everywhere, _ = h.split_leaves(fraction, seed, per_parent=False)
    assert np.floor(len(h.leaves) * fraction) <= len(everywhere) <= np.ceil(len(h.leaves) * fraction)


def test_split_leaves_is_fair_and_checked(pets: Hierarchy) -> None:
    counts = sum(np.isin(pets.leaves, pets.split_leaves(0.3, seed)[0]) for seed in range(2_000))
    assert np.all(np.abs(counts / 2_000 - 0.3) < 0.05)
    for bad in (-0.1, 1.1, float("nan")):
        with pytest.raises(ParameterError, match="between 0 and 1"):
            pets.split_leaves(bad, 0)


# Identity and display ----------------------------------------------------------------------------------------


@given(h=trees(odd=True), data=st.data())
def test_the_fingerprint_is_of_the_pairs_whatever_their_order(h: Hierarchy, data: st.DataObject) -> None:
    edges = [(h.names[p], name) for name, p in zip(h.names, h.parent, strict=True) if p >= 0]
    other = Hierarchy.from_edges(data.draw(st.permutations(edges)))
    assert other.fingerprint == h.fingerprint
    assert len(h.fingerprint) == 64
    assert (other == h) == (other.names.tolist() == h.names.tolist())
    assert hash(other) == hash(h)


def test_equality(pets: Hierarchy) -> None:
    assert pets == Hierarchy.from_edges(PETS)
    assert pets != Hierarchy.from_edges(PETS[:3])
    assert pets != pets.with_titles({"cat": "Katze"})
    assert pets != "pets"
    assert Hierarchy.from_edges(PETS[:3]).fingerprint != pets.fingerprint


def test_copies(pets: Hierarchy) -> None:
    titled = pets.with_titles({"cat": "Katze"})
    for other in (pickle.loads(pickle.dumps(titled)), copy.copy(titled), copy.deepcopy(titled)):  # noqa: S301
        assert other == titled
        assert other.end.tolist() == titled.end.tolist()


def test_repr_and_pretty(pets: Hierarchy) -> None:
    assert repr(pets) == "Hierarchy(5 nodes, 3 leaves, depth 2, root 'root')"
    folded = Hierarchy.from_edges(("root", f"leaf {i}") for i in range(1_000)).pretty(max_children=3)
    assert folded.splitlines() == ["root  (1,000 leaves)", "├── leaf 0", "├── leaf 1", "└── ... 998 more"]
    ranked = Hierarchy.from_lineages([("birds", "robin"), ("birds", "wren")], ranks=["class", "species"])
    assert ranked.with_titles({"robin": "Rotkehlchen"}).pretty().splitlines() == [
        "birds  [class]  (2 leaves)",
        "├── robin (Rotkehlchen)  [species]",
        "└── wren  [species]",
    ]


class TextOnly(HTMLParser):
    """Collects the tags and the text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


@given(h=trees(odd=True))
def test_notebooks_show_names_as_text(h: Hierarchy) -> None:
    h = h.with_titles({h.names[0]: "<b>&amp;"})
    page = TextOnly()
    page.feed(h._repr_html_())
    page.close()
    assert page.tags == ["p", "pre"]
    assert page.text == f"{h!r}\n{h.pretty()}"


def test_notebooks_do_not_run_names() -> None:
    h = Hierarchy.from_edges([("<script>alert(1)</script>", "<img src=x onerror=alert(1)>")])
    assert "<script" not in h._repr_html_()
    assert "<img" not in h._repr_html_()
    assert "&lt;img src=x" in h._repr_html_()


# Real trees --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "nodes", "leaves", "depth", "root", "widest"),
    [
        ("inat21", 16344, 10000, (7, 7), "Life", 216),
        ("inat18", 14036, 8142, (7, 7), "Life", 171),
        ("inat19", 1190, 1010, (7, 7), "Life", 38),
        ("inat17", 5103, 5089, (2, 2), "Life", 2101),
        ("imagenet_fiveai", 1372, 1000, (3, 15), "n00001930", 26),
        ("tiny_imagenet_fiveai", 413, 200, (3, 14), "n00001930", 12),
        ("mini_imagenet_fiveai", 260, 100, (3, 14), "n00001930", 8),
        ("tiered_imagenet", 643, 608, (2, 2), "root", 34),
        ("imagenet21k", 11925, 8152, (3, 18), "n00001740", 162),
        ("audioset_tree", 497, 370, (2, 6), "root", 25),
    ],
)
def test_real_trees(file: str, nodes: int, leaves: int, depth: tuple[int, int], root: str, widest: int) -> None:
    path = REAL_TREES / f"{file}.csv"
    if not path.exists():
        pytest.skip("the real trees are not on this machine")
    h = Hierarchy.from_edges(path)
    assert len(h) == nodes
    assert len(h.leaves) == leaves
    assert (h.depth[h.leaves].min(), h.depth[h.leaves].max()) == depth
    assert h.names[0] == root
    assert h.child_count.max() == widest


def test_inat21_has_the_numbers_of_the_design() -> None:
    path = REAL_TREES / "inat21.csv"
    if not path.exists():
        pytest.skip("the real trees are not on this machine")
    h = Hierarchy.from_edges(path)
    assert h.is_trivial.sum() == 3_899
    assert len(h) - len(h.leaves) == 6_344
    assert len(np.unique(h.information())) == 133
    smaller, _ = h.cut_at_depth(4)
    expected = Hierarchy.from_edges(REAL_TREES / "subtree" / "inat21_max_depth_4.csv")
    assert smaller.fingerprint == expected.fingerprint
