// The answers to single examples, by the same rule as in Python: the last event above the threshold.

/** The kept nodes of the tree: parents come before their children. */
class Tree {
  constructor(nodes) {
    this.parent = nodes.parent;
    this.size = nodes.parent.length;
    this.leaf = nodes.leaf;
    this.name = nodes.name.map((name, i) => (nodes.title && nodes.title[i] ? nodes.title[i] : name));
    this.id = nodes.name;
    this.depth = new Int32Array(this.size);
    this.end = new Int32Array(this.size);
    this.children = Array.from({ length: this.size }, () => []);
    for (let i = 1; i < this.size; i += 1) {
      this.depth[i] = this.depth[this.parent[i]] + 1;
      this.children[this.parent[i]].push(i);
    }
    for (let i = this.size - 1; i >= 0; i -= 1) {
      this.end[i] = Math.max(this.end[i], i + 1);
      if (i > 0) this.end[this.parent[i]] = Math.max(this.end[this.parent[i]], this.end[i]);
    }
  }

  /** Tell whether a node is another one or an ancestor of it. */
  contains(ancestor, node) {
    return ancestor <= node && node < this.end[ancestor];
  }

  /** Return the path from the root to a node. */
  lineage(node) {
    const path = [];
    for (let i = node; i >= 0; i = this.parent[i]) path.unshift(i);
    return path;
  }
}

/** Return the answer after the events [node, position, confidence] up to a position, and its confidence. */
function answerAt(events, position) {
  let found = { node: 0, confidence: 1 };
  for (const [node, when, confidence] of events) {
    if (when > position) break;
    found = { node, confidence };
  }
  return found;
}

/** Return how good an answer is: "exact", "hedged" (right, but coarser) or "wrong". */
function statusOf(tree, label, answer, belowLabel) {
  if (answer === label || (belowLabel === "label" && tree.contains(label, answer))) return "exact";
  return tree.contains(answer, label) ? "hedged" : "wrong";
}

/** Return the path of an answer, and on to the most specific node below it that the model names. */
function shownLineage(tree, events, answer) {
  let end = answer;
  for (const [node] of events) if (tree.contains(end, node)) end = node;
  return tree.lineage(end);
}
