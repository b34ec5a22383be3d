"""Draws `figures/answers.svg`: one example, its lineage, and the answer at three thresholds.

The numbers are computed here, from the likelihoods of a made-up model for one photograph.
"""

from __future__ import annotations

from pathlib import Path

import hedgerow as hr

PICTURE = Path(__file__).parent / "figures" / "answers.svg"

TREE = {
    "animal": {
        "bird": {"owl": ["barn owl", "tawny owl"], "songbird": ["robin", "redstart"]},
        "mammal": ["hedgehog", "fox"],
    }
}
SCORES = {"barn owl": 0.03, "tawny owl": 0.04, "robin": 0.62, "redstart": 0.25, "hedgehog": 0.04, "fox": 0.02}
TRUTH = "robin"
LEVELS = (0.9, 0.7, 0.5)

LEFT, STEP, ROW = 28, 132, 40  # where the tree begins, the width of a level, the height of a leaf
TOP, WIDTH, HEIGHT = 84, 880, 356
BAR = 64  # length of a bar at likelihood 1
ANSWERS = 560  # where the answers begin
CARD = 72

STYLE = """
  svg { --page: #ffffff; --ink: #1f2328; --soft: #59636e; --line: #d1d9e0; --core: #1a7f4b; --card: #eef8f1; }
  @media (prefers-color-scheme: dark) {
    svg { --page: #0d1117; --ink: #f0f6fc; --soft: #9aa4af; --line: #3d444d; --core: #4cc38a; --card: #10231a; }
  }
  text { font-family: sans-serif; font-size: 14px; fill: var(--ink); }
  .page { fill: var(--page); stroke: var(--line); }
  .title { font-size: 16px; font-weight: bold; }
  .soft { font-size: 12.5px; fill: var(--soft); }
  .edge { fill: none; stroke: var(--line); stroke-width: 1.5; }
  .truth { stroke: var(--core); stroke-width: 2.5; }
  .true { font-weight: bold; fill: var(--core); }
  .empty { fill: var(--line); }
  .full { fill: var(--core); }
  .card { fill: var(--card); stroke: var(--core); stroke-opacity: 0.45; }
  .answer { font-size: 19px; font-weight: bold; fill: var(--core); }
"""


def text(x: float, y: float, words: str, kind: str = "") -> str:
    """Return a line of text."""
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{words}</text>'


def heights(hierarchy: hr.Hierarchy) -> list[float]:
    """Return the height on the page of every node: leaves in rows, others amid their children."""
    found = [0.0] * len(hierarchy)
    for row, leaf in enumerate(hierarchy.leaves):
        found[leaf] = TOP + ROW * row
    for node in reversed(range(len(hierarchy))):
        children = hierarchy.indices(list(hierarchy[node].children))
        if len(children):
            found[node] = (found[children[0]] + found[children[-1]]) / 2
    return found


def picture() -> str:
    """Return the picture as SVG."""
    h = hr.Hierarchy.from_json(TREE)
    q = hr.likelihood.from_leaves(h, [list(SCORES.values())], classes=list(SCORES))
    y = heights(h)
    above = set(h.lineage(TRUTH).tolist())
    edges, nodes = [], []
    for node in range(len(h)):
        x = LEFT + STEP * int(h.depth[node])
        kind = "true" if node in above else ""
        if node:
            start, middle = LEFT + STEP * (int(h.depth[node]) - 1) + BAR + 34, x - 16
            line = f"M{start} {y[h.parent[node]]:g} H{middle} V{y[node]:g} H{x - 6}"
            edges.append(f'<path class="edge {"truth" if kind else ""}" d="{line}"/>')
        share = float(q[0, node])
        nodes += [
            text(x, y[node] - 4, h.names[node], kind),
            f'<rect class="empty" x="{x}" y="{y[node] + 3:g}" width="{BAR}" height="5" rx="2.5"/>',
            f'<rect class="full" x="{x}" y="{y[node] + 3:g}" width="{BAR * share:.1f}" height="5" rx="2.5"/>',
            text(x + BAR + 5, y[node] + 10, f"{share:.2f}", "soft"),
        ]
    cards = []
    for row, level in enumerate(LEVELS):
        answer = h.names[hr.infer.threshold(h, q, level)[0]]
        bits = h.information()[h.index(answer)]
        top = TOP - 26 + row * (CARD + 12)
        cards += [
            f'<rect class="card" x="{ANSWERS}" y="{top}" width="{WIDTH - ANSWERS - 28}" height="{CARD}" rx="8"/>',
            text(ANSWERS + 16, top + 30, f"“{answer}”", "answer"),
            text(ANSWERS + 16, top + 54, f"more likely than {level:g} · {bits:.1f} bits", "soft"),
        ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
            "<title>A photograph of a robin: likelihoods up the tree, and the answer at three thresholds</title>",
            f"<style>{STYLE}</style>",
            f'<rect class="page" x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="10"/>',
            text(LEFT, 36, "A blurred photograph of a robin: what the model thinks", "title"),
            text(ANSWERS, 36, "The answer you ask for", "title"),
            *edges,
            *nodes,
            *cards,
            text(
                LEFT,
                HEIGHT - 20,
                "Leaves sum up to groups: unsure of the species, sure of the bird.",
                "soft",
            ),
            text(ANSWERS, HEIGHT - 20, "The most specific class that is likely enough.", "soft"),
            "</svg>",
            "",
        ]
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
