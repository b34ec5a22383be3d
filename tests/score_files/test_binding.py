"""Lineages of tools, bound to a tree by walking down from the root."""

from __future__ import annotations

import pytest

import hedgerow as hr
from hedgerow.score_files.lineage_binding import Binder, Step, as_lineage

EDGES = [
    ("root", "Bacteria"),
    ("root", "Eukaryota"),
    ("Bacteria", "Bacilli"),
    ("Bacilli", "Bacillaceae"),
    ("Bacillaceae", "Bacillus"),
    ("Bacillus", "Bacillus subtilis"),
    ("Bacillus", "Bacillus cereus"),
    ("Bacilli", "Listeriaceae"),
    ("Eukaryota", "Insecta"),
    ("Insecta", "Phasmatodea"),
    ("Phasmatodea", "Phasmatodea/Bacillus"),
    ("Phasmatodea", "Clonopsis"),
]
H = hr.Hierarchy.from_edges(EDGES)
RANKED = hr.Hierarchy.from_lineages(
    [
        ["Bacteria", "Firmicutes", "Bacilli", "Bacillaceae", "Bacillus", "Bacillus subtilis"],
        ["Bacteria", "Firmicutes", "Bacilli", "Bacillaceae", "Bacillus", "Bacillus cereus"],
        ["Bacteria", "Firmicutes", "", "Incertae", "Genusone", ""],
        ["Bacteria", "Actinobacteria", "Actinobacteria/Actinobacteria", "Streptaceae", "Streptomyces", ""],
    ],
    ranks=["domain", "phylum", "class", "family", "genus", "species"],
)


def bound(text: str, tree: hr.Hierarchy = H, outside: tuple[str, ...] = ()) -> list[str | None]:
    """Return the name of the node of each step; None where there is none."""
    found = Binder(tree, outside).bind(as_lineage(map(Step.of, text.split(","))))
    assert found.unbound is None, found.unbound
    return [None if node < 0 else tree.names[node] for node in found.nodes]


def reason(text: str, tree: hr.Hierarchy = H) -> str:
    found = Binder(tree).bind(as_lineage(map(Step.of, text.split(","))))
    assert found.unbound is not None
    return found.unbound.reason


def test_two_labels_are_not_a_lineage() -> None:
    assert reason("Clonopsis,Bacillus subtilis").startswith(
        "the tree's own lineage of 'Bacillus subtilis' is root >"
    )
    assert bound("Clonopsis,Clonopsis gallica") == ["Clonopsis", None]
    assert bound("Insecta,Phasmatodea,Clonopsis,Bacillus") == ["Insecta", "Phasmatodea", "Clonopsis", None]


@pytest.mark.parametrize(
    "text",
    [
        "Bacteria,Bacilli,Bacillaceae,Bacillus,Bacillus subtilis",
        "d:Bacteria,c:Bacilli,f:Bacillaceae,g:Bacillus,s:Bacillus_subtilis",
        "k__Bacteria,c__Bacilli,f__Bacillaceae,g__Bacillus,s__subtilis",
        'D_0__Bacteria,"Bacilli",BACILLACEAE,`Bacillus`,"Bacillus  subtilis"',
    ],
)
def test_names_are_found_however_they_are_written(text: str) -> None:
    path = H.names[H.lineage("Bacillus subtilis")].tolist()
    assert bound(text) == path[1:]


def test_a_tree_whose_own_names_have_prefixes() -> None:
    tree = hr.Hierarchy.from_paths(["d__Bacteria;g__Bacillus;s__subtilis", "d__Bacteria;g__Bacillus;s__cereus"])
    assert bound("Bacteria,Bacillus", tree) == ["d__Bacteria", "g__Bacillus"]
    assert bound("d:Bacteria,g:Bacillus,s:Bacillus_subtilis", tree) == [
        "d__Bacteria",
        "g__Bacillus",
        "s__subtilis",
    ]


def test_equal_names_are_told_apart_by_the_path() -> None:
    assert bound("Bacteria,Bacillus") == ["Bacteria", "Bacillus"]
    assert bound("Eukaryota,Insecta,Bacillus") == ["Eukaryota", "Insecta", "Phasmatodea/Bacillus"]
    assert bound("Bacillus") == ["Bacillus"]  # the very name of a node
    twins = hr.Hierarchy.from_edges(
        [("root", "A"), ("root", "B"), ("A", "A/x"), ("A", "y"), ("B", "B/x"), ("B", "z")]
    )
    assert bound("B,x", twins) == ["B", "B/x"]
    assert reason("x", twins) == "'x' may be several nodes there: root > A > A/x; root > B > B/x"


def test_a_class_within_a_phylum_of_the_same_name() -> None:
    names = ["Bacteria", "Actinobacteria", "Actinobacteria/Actinobacteria", "Streptaceae"]
    assert bound("d:Bacteria,p:Actinobacteria,c:Actinobacteria,f:Streptaceae", RANKED) == names
    assert bound("Bacteria,Actinobacteria,Actinobacteria", RANKED) == names[:3]


def test_a_name_that_follows_another_is_its_child() -> None:
    rows = [["A", "A", "a1"], ["A", "A", "a2"], ["B", "A", "b1"]]
    tree = hr.Hierarchy.from_lineages(rows, ranks=None, disambiguate=True)
    assert [bound(",".join(row), tree)[-1] for row in rows] == ["a1", "a2", "b1"]
    assert bound("A,", tree) == ["root/A", None]
    assert bound("A,A", tree) == ["root/A", "root/A/A"]
    assert reason("A", tree).startswith("'A' may be several nodes there: root > root/A;")
    assert reason("X,A", tree).startswith("'A' may be several nodes there")


def test_ranks_that_the_tree_lacks_are_skipped() -> None:
    assert bound("d:Bacteria,p:Firmicutes,c:Bacilli,o:Bacillales,f:Bacillaceae") == [
        "Bacteria",
        None,
        "Bacilli",
        None,
        "Bacillaceae",
    ]
    assert bound("d:Bacteria,p:Firmicutes,c:Bacilli,o:Bacillales,f:Bacillaceae", RANKED)[3] is None
    assert bound("d:Bacteria,p:Firmicutes,c:Anything,f:Incertae", RANKED) == [
        "Bacteria",
        "Firmicutes",
        None,
        "Incertae",
    ]


def test_what_is_finer_than_the_tree_is_skipped() -> None:
    assert bound("Bacteria,Bacilli,Listeriaceae,Listeria,Listeria ivanovii")[3:] == [None, None]
    assert bound("d:Bacteria,f:Incertae,g:Genusone,s:Genusone_nova", RANKED)[3] is None


def test_a_rank_filled_with_the_name_of_the_next_lower_one() -> None:
    """As the RDP classifier fills ranks that a lineage lacks."""
    text = "d:Bacteria,p:Firmicutes,c:Incertae,f:Incertae,g:Genusone"
    assert bound(text, RANKED) == ["Bacteria", "Firmicutes", None, "Incertae", "Genusone"]
    assert bound("Bacteria,Bacilli,Bacilli,Listeriaceae") == ["Bacteria", None, "Bacilli", "Listeriaceae"]


@pytest.mark.parametrize(
    ("text", "tree", "why"),
    [
        ("Bacteria,Bacilli,Nonsense", H, "the tree has no 'Nonsense' below 'Bacilli'"),
        ("Nonsense", H, "the tree has no 'Nonsense'"),
        ("Eukaryota,Bacilli", H, "the tree's own lineage of 'Bacilli' is root > Bacteria > Bacilli"),
        ("Insecta,Bacilli", H, "the tree's own lineage of 'Bacilli' is root > Bacteria > Bacilli"),
        ("Prokaryota,Bacilli", H, "the tree's own lineage is root > Bacteria > Bacilli"),
        ("d:Bacteria,p:Bacillota,c:Bacilli", RANKED, "the tree's own lineage is Bacteria > Firmicutes > Bacilli"),
        ("d:Bacteria,g:Bacillus,s:Bacillus_novus", RANKED, "the tree has no 'Bacillus_novus' below 'Bacillus'"),
    ],
)
def test_what_cannot_be_bound(text: str, tree: hr.Hierarchy, why: str) -> None:
    assert reason(text, tree) == why


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("d:Archaea", "the tree's own lineage is Bacteria"),
        ("d:Archaea,p:Firmicutes", "the tree's own lineage is Bacteria > Firmicutes"),
        ("d:Archaea,p:Thermoproteota", "the tree has no 'Thermoproteota'"),
        ("p:Firmicutes,p:Proteobacteria", "the tree's own lineage is Bacteria > Firmicutes"),
        ("g:Bacillus,s:subtilis,s:novus", "the tree's own lineage is Bacteria > Firmicutes > Bacilli"),
    ],
)
def test_a_second_name_at_a_rank_contradicts_the_tree(text: str, why: str) -> None:
    """The root of this tree is a class itself, the domain Bacteria."""
    assert reason(text, RANKED).startswith(why)
    assert bound(text, RANKED, outside=("*",))[0] in (None, "Firmicutes", "Bacillus")


def test_a_kingdom_has_the_letter_of_its_domain() -> None:
    fungi = hr.Hierarchy.from_lineages(
        [["Fungi", "Ascomycota"], ["Fungi", "Mucoromycota"]], ranks=["kingdom", "phylum"]
    )
    assert bound("d:Eukaryota,k:Fungi,p:Ascomycota", fungi) == [None, "Fungi", "Ascomycota"]
    assert (
        reason("d:Eukaryota,k:Viridiplantae,p:Ascomycota", fungi) == "the tree's own lineage is Fungi > Ascomycota"
    )


def test_classes_outside_the_tree_end_a_lineage() -> None:
    text = "Bacteria,Bacilli,Nonsense,Deeper"
    assert bound(text, outside=("nonsense",)) == ["Bacteria", "Bacilli", None, None]
    assert bound(text, outside=("*",)) == ["Bacteria", "Bacilli", None, None]
    assert bound("blank", outside=("blank",)) == [None]


def test_titles_are_names_too() -> None:
    tree = hr.Hierarchy.from_edges([("n1", "n2"), ("n1", "n3")]).with_titles({"n2": "grey wolf"})
    assert bound("Grey_wolf", tree) == ["n2"]


def test_the_walk_agrees_with_a_slow_one() -> None:
    """Every path of a tree, with any of its names left out, leads to the same nodes as looking names up."""
    for node in range(1, len(H)):
        path = H.lineage(node).tolist()[1:]
        for left_out in range(len(path)):
            kept = [v for i, v in enumerate(path) if i != left_out or i == len(path) - 1]
            names = [str(H.names[v]).removeprefix("Phasmatodea/") for v in kept]
            ambiguous = names[-1] == "Bacillus" and len(names) == 1
            if not ambiguous:
                assert bound(",".join(names)) == [H.names[v] for v in kept]


def test_prefixes_of_silva_give_ranks() -> None:
    tree = hr.Hierarchy.from_lineages([("Bacteria", "Bacillus")], ranks=["domain", "genus"])
    bound = Binder(tree).bind(as_lineage(map(Step.of, ("D_0__Bacteria", "D_5__Bacillus"))))
    assert bound.nodes == (0, 1)
    assert bound.unbound is None
