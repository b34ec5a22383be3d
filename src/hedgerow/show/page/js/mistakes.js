// Which classes are confused, and in which groups most answers are wrong.

const LISTED = 10;

/** Return the pairs that are confused now, most often first. */
function confusedNow(leaves) {
  const model = data.models[state.focus];
  const position = positionOf(model);
  model.pairs.series ??= model.pairs.count.map((changes) => new Series(0, changes));
  return model.pairs.series
    .map((series, i) => ({ i, count: series.at(position) }))
    .filter(({ i, count }) => count > 0 && Boolean(model.pairs.leaves[i]) === leaves)
    .sort((a, b) => b.count - a.count || a.i - b.i)
    .slice(0, LISTED)
    .map(({ i, count }) => ({ truth: model.pairs.truth[i], answer: model.pairs.answer[i], count }));
}

/** Return the groups with the smallest share of right answers, without those whose examples are all in one child. */
function worstNow() {
  const set = data.tree.sets[data.models[state.focus].set];
  const least = Math.max(5, set.examples / 1000);
  const groups = [];
  for (let node = 1; node < tree.size; node += 1) {
    if (tree.leaf[node] || set.count[node] < least) continue;
    if (tree.children[node].some((child) => set.count[child] === set.count[node] && !tree.leaf[child])) continue;
    const { total, right } = countsOf(node);
    if (right < total) groups.push({ node, total, right });
  }
  return groups.sort((a, b) => a.right / a.total - b.right / b.total || b.total - a.total).slice(0, LISTED);
}

function fill(id, rows, columns) {
  const nothing = element("tr", {}, element("td", { class: "empty", colspan: columns }, "None at this point."));
  document.getElementById(id).replaceChildren(...(rows.length ? rows : [nothing]));
}

function startMistakes() {
  const cell = (...content) => element("td", {}, ...content);
  const pairRows = (leaves) => confusedNow(leaves).map(({ truth, answer, count }) => {
    const place = (node) => (tree.leaf[node] ? element("span", { title: tree.id[node] }, shortened(tree.name[node], 60)) : toNode(node));
    return element("tr", {}, cell(place(truth)), cell(place(answer)), cell(counted(count)));
  });
  follow([...POINT, "focus"], "mistakes", () => {
    fill("leaf-pairs", pairRows(true), 3);
    fill("group-pairs", pairRows(false), 3);
    fill("worst", worstNow().map(({ node, total, right }) => element("tr", {}, cell(toNode(node)), cell(percent(right / total)), cell(counted(total)))), 3);
  });
}
