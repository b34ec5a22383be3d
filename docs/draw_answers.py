"""Draws `figures/answers.svg`: one example, its lineage, and the answer at three thresholds.

The likelihoods are those of py3langid 0.4.0 for three words of the Universal Declaration of Human Rights in
Norwegian Bokmål, the line "nob-2" of the first tutorial. Languages far from the answer are added up. The
picture is narrow, so that a phone can show it.
"""

from __future__ import annotations

from pathlib import Path

import hedgerow as hr

PICTURE = Path(__file__).parent / "figures" / "answers.svg"

TREE = {
    "any language": {
        "North Germanic": {"Norwegian": ["Bokmål", "Nynorsk"], "Danish": {}, "three others": {}},
        "West Germanic": {},
        "all others": {},
    }
}
WORDS = "arbeide for sosialt"
SCORES = {
    "Bokmål": 0.5867,
    "Nynorsk": 0.3008,
    "Danish": 0.0375,
    "three others": 0.0032,
    "West Germanic": 0.0494,
    "all others": 0.0224,
}
CLASSES = {"Bokmål": 1, "Norwegian": 2, "North Germanic": 6, "any language": 140}
"""How many classes of the model each answer leaves open."""
TRUTH = "Bokmål"
LEVELS = (0.9, 0.7, 0.5)

WIDTH, HEIGHT = 492, 506
LEFT, STEP, ROW = 18, 127, 36  # where the tree begins, the width of a level, the height of a leaf
TOP = 74  # of the tree
BAR = 46  # length of a bar at likelihood 1
ANSWERS = 318  # where the answers begin
CARD = 38

STYLE = """
  svg { --page: #ffffff; --ink: #1f2328; --soft: #59636e; --line: #d1d9e0; --core: #1a7f4b; --card: #eef8f1; }
  @media (prefers-color-scheme: dark) {
    svg { --page: #0d1117; --ink: #f0f6fc; --soft: #9aa4af; --line: #3d444d; --core: #4cc38a; --card: #10231a; }
  }
  text { font-family: sans-serif; font-size: 13px; fill: var(--ink); }
  .page { fill: var(--page); stroke: var(--line); }
  .title { font-size: 16px; font-weight: bold; }
  .soft { font-size: 12px; fill: var(--soft); }
  .edge { fill: none; stroke: var(--line); stroke-width: 1.5; }
  .truth { stroke: var(--core); stroke-width: 2.5; }
  .true { font-weight: bold; fill: var(--core); }
  .empty { fill: var(--line); }
  .full { fill: var(--core); }
  .card { fill: var(--card); stroke: var(--core); stroke-opacity: 0.45; }
  .answer { font-size: 16px; font-weight: bold; fill: var(--core); }
  .end { text-anchor: end; }
"""


def text(x: float, y: float, words: str, kind: str = "") -> str:
    """Return a line of text."""
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{words}</text>'


def left_open(answer: str) -> str:
    """Say how much an answer leaves open."""
    count = CLASSES[answer]
    return f"{count} of {CLASSES['any language']} classes" if count > 1 else "one class"


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
            start, middle = LEFT + STEP * (int(h.depth[node]) - 1) + BAR + 36, x - 9
            line = f"M{start} {y[h.parent[node]]:g} H{middle} V{y[node]:g} H{x - 6}"
            edges.append(f'<path class="edge {"truth" if kind else ""}" d="{line}"/>')
        share = float(q[0, node])
        nodes += [
            text(x, y[node] - 6, h.names[node], kind),
            f'<rect class="empty" x="{x}" y="{y[node] + 3:g}" width="{BAR}" height="5" rx="2.5"/>',
            f'<rect class="full" x="{x}" y="{y[node] + 3:g}" width="{BAR * share:.1f}" height="5" rx="2.5"/>',
            text(x + BAR + 5, y[node] + 10, f"{share:.2f}", "soft"),
        ]
    cards = []
    for row, level in enumerate(LEVELS):
        answer = h.names[hr.infer.threshold(h, q, level)[0]]
        top = ANSWERS + 14 + row * (CARD + 8)
        cards += [
            f'<rect class="card" x="{LEFT}" y="{top}" width="{WIDTH - 2 * LEFT}" height="{CARD}" rx="8"/>',
            text(LEFT + 12, top + 24, f"above {level:g}", "soft"),
            text(LEFT + 92, top + 25, f"“{answer}”", "answer"),
            text(WIDTH - LEFT - 12, top + 24, left_open(answer), "soft end"),
        ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
            "<title>Three words of Norwegian: likelihoods up the tree, and the answer at three thresholds</title>",
            f"<style>{STYLE}</style>",
            f'<rect class="page" x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="10"/>',
            text(LEFT, 34, f"Which language is “{WORDS}”?", "title"),
            text(LEFT, ANSWERS, "The most specific answer that is likely enough", "title"),
            *edges,
            *nodes,
            *cards,
            text(
                LEFT, HEIGHT - 18, "Likelihoods of py3langid: sure of Norwegian, unsure of its standard.", "soft"
            ),
            "</svg>",
            "",
        ]
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
