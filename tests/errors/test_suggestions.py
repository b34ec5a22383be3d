"""Names that are near a misspelt one."""

from __future__ import annotations

from hedgerow.errors import closest, nearest


def test_near_names() -> None:
    assert nearest("Turdus merula ", ["turdus merula", "Turdus_merula", "Turdus"]) == [
        "turdus merula",
        "Turdus_merula",
    ]
    assert closest(["xyzzy"], ["robin"]) == ""
    assert closest([], ["robin"]) == ""
    assert closest(["robin"], []) == ""
    assert closest(["robbin"], ["robin", "robins"]) == " Did you mean 'robin' or 'robins'?"


def test_near_names_among_very_many_are_found_quickly() -> None:
    known = {f"species number {i}": i for i in range(200_000)}
    assert "species number 123456" in nearest("species nunber 123456", known)
    assert closest(["Species Number 77"], known) != ""
