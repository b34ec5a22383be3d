// The tree as an icicle, with an equivalent list for keyboards and screen readers.

const MOST_SECTORS = 300;
const THINNEST = 1 / 300; // of the drawing: thinner sectors of inner groups could not be seen
const SEARCHED = 8;
const SHORT_LIST = 12; // of groups beside the drawing
const LONG_LIST = 100;
const SCALES = {
  right: { words: ["half or less is right", "all is right"], stops: [[0, "#8c3b00"], [0.5, "#d55e00"], [0.8, "#f3c98b"], [0.92, "#e9eef2"], [1, "#0072b2"]] },
  stops: { words: ["no answer stops here", "every answer does"], stops: [[0, "#e9eef2"], [0.25, "#b9d3c6"], [0.5, "#6fb295"], [1, "#00674a"]] },
};
const counts = []; // of each model: the counts of every node along the slider

/** Return the number of right answers, of answers that stop there and of examples of a node. */
function countsOf(node) {
  const model = data.models[state.focus];
  counts[state.focus] ??= { right: [], stops: [] };
  const kept = counts[state.focus];
  const total = data.tree.sets[model.set].count[node];
  kept.right[node] ??= new Series(total, model.right[node]);
  kept.stops[node] ??= new Series(node === 0 ? total : 0, model.stops[node]);
  const position = positionOf(model);
  return { total, right: kept.right[node].at(position), stops: kept.stops[node].at(position) };
}

/** Return a colour of a scale, from 0 to 1, as red, green and blue. */
function onScale(stops, share) {
  const next = Math.max(1, stops.findIndex(([at]) => share <= at));
  const [[low, from], [high, to]] = [stops[next - 1], stops[next]];
  const part = Math.min(1, Math.max(0, (share - low) / (high - low)));
  const channel = (i) => {
    const [a, b] = [from, to].map((text) => parseInt(text.slice(1 + 2 * i, 3 + 2 * i), 16));
    return Math.round(a + part * (b - a));
  };
  return [channel(0), channel(1), channel(2)];
}

/** Return the colours of a node and of the text on it. */
function nodeColours(node) {
  const { total, right, stops } = countsOf(node);
  const share = total ? (state.colour === "right" ? right : stops) / total : 0;
  const rgb = onScale(SCALES[state.colour].stops, share);
  const light = rgb.map((value) => (value / 255) ** 2.2);
  const bright = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2] > 0.25;
  return { fill: `rgb(${rgb.join(",")})`, text: bright ? "#14171a" : "#ffffff" };
}

/** Return the nodes to draw, largest first: those with the most examples, some levels deep, with their ancestors. */
function sectors() {
  const root = state.clade;
  const count = data.tree.sets[data.models[state.focus].set].count;
  const deepest = tree.depth[root] + (window.innerWidth < 700 ? 2 : 4);
  const inside = [];
  const inner = Math.max(1, count[root] * THINNEST);
  for (let i = root; i < tree.end[root]; i += 1) {
    const least = tree.parent[i] === root ? 1 : inner;
    if (tree.depth[i] <= deepest && count[i] >= least) inside.push(i);
  }
  inside.sort((a, b) => count[b] - count[a] || a - b);
  return inside.slice(0, MOST_SECTORS);
}

const drawn = new Map(); // the sector of each node that is drawn

/** Draw the nodes: a column for each level, in which the children of a node stand beside it, the largest on top. */
function drawTree() {
  const count = data.tree.sets[data.models[state.focus].set].count;
  const nodes = sectors();
  const [root] = nodes;
  const depth = (node) => tree.depth[node] - tree.depth[root];
  const width = 100 / (1 + Math.max(...nodes.map(depth)));
  const next = new Map(); // where the next child of a node begins
  drawn.clear();
  for (const node of nodes) {
    const above = node === root ? 0 : next.get(tree.parent[node]);
    const height = (100 * count[node]) / count[root];
    next.set(tree.parent[node], above + height).set(node, above);
    const style = `left: ${width * depth(node)}%; top: ${above}%; width: ${width}%; height: ${height}%`;
    drawn.set(node, element("div", { class: "sector", "data-node": node, style }, element("span", {}, shortened(tree.name[node], 40))));
  }
  document.getElementById("icicle").replaceChildren(...drawn.values());
  colourTree();
}

function colourTree() {
  for (const [node, sector] of drawn) {
    const { fill, text } = nodeColours(node);
    sector.style.backgroundColor = fill;
    sector.style.color = text;
  }
}

/** Describe a node in words. */
function described(node) {
  const { total, right, stops } = countsOf(node);
  const name = shortened(tree.name[node], 80);
  if (!total) return `${name}: no ${data.thing}`;
  const share = (number) => percent(number / total);
  return `${name}: ${counted(total)} ${data.thing}, ${share(right)} right, ${share(stops)} stop here`;
}

/** Return a button that leads to a node of the tree. */
function toNode(node, length = 60) {
  return element("button", { type: "button", class: "link", title: tree.id[node], onclick: () => change({ clade: node, cards: FIRST_CARDS }) },
    shortened(tree.name[node], length));
}

function drawCrumbs() {
  const path = tree.lineage(state.clade);
  const items = path.map((node, i) => element("li", {}, i < path.length - 1 ? toNode(node, 40)
    : element("span", { "aria-current": "true", title: tree.id[node] }, shortened(tree.name[node], 60))));
  document.getElementById("crumbs").replaceChildren(element("ol", {}, ...items));
  document.getElementById("inside-title").textContent = `Inside ${shortened(tree.name[state.clade], 60)}`;
}

/** Return the groups to list: the children of a node, and what is in the largest of them while there is room. */
function outline(root) {
  const count = data.tree.sets[data.models[state.focus].set].count;
  const childrenOf = (node) => tree.children[node].filter((child) => count[child] > 0);
  const listed = new Set(childrenOf(root).sort((a, b) => count[b] - count[a]).slice(0, LONG_LIST));
  const queue = Array.from(listed);
  while (queue.length && listed.size < SHORT_LIST) {
    queue.sort((a, b) => count[b] - count[a]);
    const more = childrenOf(queue.shift());
    if (listed.size + more.length > SHORT_LIST + 4) continue;
    for (const child of more) {
      listed.add(child);
      queue.push(child);
    }
  }
  return listed.size ? Array.from(listed).sort((a, b) => a - b) : [root];
}

function drawInside() {
  const rows = outline(state.clade).map((node) => {
    const { total, right, stops } = countsOf(node);
    const share = (number) => (total ? percent(number / total) : "–");
    const ends = tree.leaf[node] || node === state.clade;
    const name = ends ? element("span", { title: tree.id[node] }, shortened(tree.name[node], 60)) : toNode(node);
    const deep = Math.max(0, tree.depth[node] - tree.depth[state.clade] - 1);
    return element("tr", {}, element("th", { scope: "row", style: `--deep: ${deep}` }, name),
      element("td", {}, counted(total)), element("td", {}, share(right)), element("td", {}, share(stops)));
  });
  document.getElementById("inside").replaceChildren(...rows);
}

/** List the classes whose names contain what was typed: the kept ones first, those that begin with it before others. */
function search() {
  const wanted = document.getElementById("search").value.trim().toLowerCase();
  const hits = [];
  if (wanted) {
    const look = (name, node, kept) => {
      const at = name.toLowerCase().indexOf(wanted);
      if (at >= 0) hits.push({ name, node, order: (kept ? 0 : 2) + (at > 0 ? 1 : 0) });
    };
    tree.name.forEach((name, node) => look(name === tree.id[node] ? name : `${name} (${tree.id[node]})`, node, true));
    data.tree.others.name.forEach((name, i) => look(name, data.tree.others.inside[i], false));
    hits.sort((a, b) => a.order - b.order || a.name.length - b.name.length);
  }
  const items = hits.slice(0, SEARCHED).map(({ name, node, order }) => {
    const where = order >= 2 ? ` in ${shortened(tree.name[node], 40)}` : "";
    const go = () => {
      document.getElementById("search").value = "";
      search();
      change({ clade: tree.leaf[node] && node > 0 ? tree.parent[node] : node, pointed: node, cards: FIRST_CARDS });
    };
    return element("li", {}, element("button", { type: "button", onclick: go }, shortened(name, 60), element("small", {}, where)));
  });
  if (wanted && !items.length) items.push(element("li", { class: "none" }, "No class has such a name."));
  document.getElementById("found").replaceChildren(...items);
}

function drawScale() {
  const { words, stops } = SCALES[state.colour];
  const first = state.colour === "right" ? 0.5 : 0;
  const colours = Array.from({ length: 11 }, (_, i) => `rgb(${onScale(stops, first + (i / 10) * (1 - first)).join(",")})`);
  const bar = element("span", { class: "ramp", style: `background: linear-gradient(90deg, ${colours.join(",")})` });
  document.getElementById("scale").replaceChildren(words[0], bar, words[1]);
}

function startTree() {
  const place = document.getElementById("icicle");
  follow(["clade", "focus"], "icicle", () => {
    drawTree();
    drawCrumbs();
  });
  follow([...POINT, "colour"], "icicle", colourTree);
  follow([...POINT, "clade", "focus"], "inside", drawInside);
  follow(["colour"], "scale", () => {
    for (const button of document.querySelectorAll("[data-colour]")) {
      button.setAttribute("aria-pressed", button.dataset.colour === state.colour);
    }
    drawScale();
  });
  const nodeOf = (event) => Number(event.target.closest(".sector")?.dataset.node ?? NaN);
  place.addEventListener("click", (event) => {
    const node = nodeOf(event);
    const up = node === state.clade && node > 0;
    if (up || tree.leaf[node] === 0) change({ clade: up ? tree.parent[node] : node, cards: FIRST_CARDS });
  });
  place.addEventListener("pointerover", (event) => {
    const node = nodeOf(event);
    if (node >= 0) change({ pointed: node });
  });
  follow([...POINT, "focus", "pointed"], "hovered", () => {
    if (state.pointed !== null) document.getElementById("hovered").textContent = described(state.pointed);
  });
  for (const button of document.querySelectorAll("[data-colour]")) {
    button.addEventListener("click", () => change({ colour: button.dataset.colour }));
  }
  const field = document.getElementById("search");
  field.addEventListener("input", search);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") document.querySelector("#found button")?.click();
    if (event.key === "Escape") {
      field.value = "";
      search();
    }
  });
}
