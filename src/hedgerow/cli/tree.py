"""`hedgerow tree`: cut a tree down, and write it in another format."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from rich.console import Console
from rich.text import Text

from hedgerow.cli.options import TREES, JsonOption, option, positional, verb
from hedgerow.cli.outputs import check_outputs
from hedgerow.errors import counted, options
from hedgerow.files import is_special, write_json
from hedgerow.tree import Hierarchy, TreeReading

_CALLED = {"rank": "ranks", "title": "titles", "aliases": "aliases"}


@verb(
    "hedgerow tree taxdump/ --keep species.txt -o tree.json",
    "hedgerow tree Taxon.tsv --tree-format darwin-core --clade Mammalia -o m.json",
    "hedgerow tree m.json --ranks family,species --to lineages -o lineages.csv",
    "hedgerow tree tree.csv --beside blank --beside vehicle -o camera.json",
    "hedgerow tree hs.csv --tree-format codes --prefixes 2,4,6 -o hs.json",
    panel=TREES,
    first=("output", "format", "keep", "clade"),
)
def tree(
    tree_reading: TreeReading,
    source: Annotated[Path, positional("SOURCE", "The tree: a file, or the folder of a taxdump.")],
    output: Annotated[
        Path, option("FILE", "Where to write: .csv (edges), .json, .nwk, .txt (paths).", "-o", "--output")
    ],
    json_file: JsonOption = None,
    keep: Annotated[
        Path | None, option("FILE", "Classes to keep, with their ancestors: one name per line.")
    ] = None,
    clade: Annotated[str | None, option("NAME", "The class that becomes the root of the tree.")] = None,
    beside: Annotated[
        list[str] | None,
        option("NAME", "A class to add beside the others, below the root, such as blank; may be repeated."),
    ] = None,
    ranks: Annotated[str | None, option("A,B,...", "Ranks to keep; children of others move up.")] = None,
    to: Annotated[
        str | None,
        option("FORMAT", "Format to write: edges, lineages, paths, json, newick.", shown="by extension"),
    ] = None,
) -> None:
    """Read a tree in any format, cut it down or add to it, and write it in any format."""
    from hedgerow.tree import cut_down, format_of, read_names, refuse_unknown, with_plain_names, writable

    check_outputs(output, json_file, inputs=(source, keep))
    read_as, target = format_of(source, tree_reading.format), writable(output, to)
    names = None if keep is None else read_names(keep)
    kept_ranks = None if ranks is None else [rank.strip() for rank in ranks.split(",") if rank.strip()]
    new_root = tree_reading.root
    if beside and "root" not in read_as.takes:
        tree_reading = replace(tree_reading, root="root")  # it names the root above the tree's own
    whole = Hierarchy.read(source, tree_reading)
    if names is not None and keep is not None:
        unknown = {name: line for name, line in names.items() if name not in whole}
        if unknown and json_file is not None:
            write_json(json_file, {"source": str(source), "keep": str(keep), "unknown": unknown})
        refuse_unknown(whole, names, unknown, keep)
    part = cut_down(whole, keep=None if names is None else list(names), clade=clade, ranks=kept_ranks)
    if part is not whole and read_as.tells_apart:
        part = with_plain_names(part)
    part = part.beside(beside, root=new_root) if beside else part
    lost = [what for what in ("rank", "title", "aliases") if what not in target.keeps and _has(part, what)]
    part.write(output, target.name)

    console = Console(stderr=is_special(output))
    done = [f"{source}: {_size(whole)}."]
    if names is not None:
        done.append(f"Kept {counted(len(names), 'name', 'names')} of {keep}, and their ancestors.")
    if clade is not None:
        done.append(f"The root is {part.names[0]!r}.")
    if kept_ranks is not None:
        done.append(f"Kept the ranks {', '.join(kept_ranks)}.")
    if beside:
        done.append(f"Added {', '.join(beside)} below the root {part.names[0]!r}.")
    console.print(Text(" ".join(done)), soft_wrap=True)
    console.print(Text(f"{output}: {_size(part)}; written as {target.name}."), soft_wrap=True)
    if lost:
        what = ", ".join(_CALLED[extra] for extra in lost)
        console.print(Text(f"Left out (JSON would keep them): {what}.", "yellow"), soft_wrap=True)
    command = shlex.join(["hedgerow", "doctor", str(output), *options(format=to)])
    console.print(
        Text(f"Next: see whether your labels fit the tree:\n  {command} --labels FILE", "bold"), soft_wrap=True
    )
    if json_file is not None:
        write_json(
            json_file,
            {
                "source": str(source),
                "format": read_as.name,
                "nodes": len(whole),
                "leaves": len(whole.leaves),
                "output": str(output),
                "output_format": target.name,
                "output_nodes": len(part),
                "output_leaves": len(part.leaves),
                "root": str(part.names[0]),
                "fingerprint": part.fingerprint,
                "lost": lost,
            },
        )


def _size(hierarchy: Hierarchy) -> str:
    leaves = counted(len(hierarchy.leaves), "leaf", "leaves")
    return f"{len(hierarchy):,} nodes, {leaves}, depth {int(hierarchy.depth.max())}"


def _has(hierarchy: Hierarchy, extra: str) -> bool:
    values = getattr(hierarchy, extra)
    return values is not None and any(values)
