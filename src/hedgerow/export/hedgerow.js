/** Answers at an operating point of hedgerow, as its documentation specifies them. */

const HALF = 2 ** 31; // sums are in units of 2^-62, as two integers of 31 bits each, so that they are exact
const UNIT = 2 ** -62;
const SUM_TOLERANCE = 1e-3;
const ROUNDING = 1e-5;
const decisions = new WeakMap();

/**
 * Return the answer to one example.
 *
 * @param {object} point The content of a point file.
 * @param {number[]|object} row Probabilities of the leaves, in the order of `leaves(point)` or by name; or
 *   likelihoods of all nodes, on the scale of the point.
 * @param {object} [options] `logits`: whether the row holds logits of the leaves; `group`: that of the example.
 * @returns {{node: number, name: string, likelihood: number, lineage: string[]}}
 */
export function answer(point, row, { logits = false, group } = {}) {
  const decision = prepared(point);
  const q = likelihoods(point, row, { logits });
  const node = decision.rule(decision, q, group);
  const lineage = [];
  for (let v = node; v >= 0; v = decision.parent[v]) lineage.unshift(decision.names[v]);
  return { node, name: decision.names[node], likelihood: toProbability(point.scale, q[node]), lineage };
}

/** Return the names of the leaves, in the order of their probabilities. */
export function leaves(point) {
  const { names, leaf } = prepared(point);
  return leaf.map((v) => names[v]);
}

/** Return the likelihood of every node, on the scale of the point; the row is as for `answer`. */
export function likelihoods(point, row, { logits = false } = {}) {
  const decision = prepared(point);
  const { names, leaf, end } = decision;
  const values = byPosition(decision, row);
  if (!logits && values.length === names.length && names.length !== leaf.length) return checked(point, values);
  if (values.length !== leaf.length) {
    throw new Error(`A row needs ${leaf.length} numbers (leaves) or ${names.length} (nodes); got ${values.length}.`);
  }
  if (point.scale === "logit") throw new Error("This point needs the likelihoods of all nodes.");
  const mass = logits ? softmax(values, point.temperature) : probabilities(values, point.temperature);
  const { high, low } = sums(mass);
  const { before } = decision;
  const q = Float64Array.from(names, (_, v) => (v === 0 ? 1 : Math.min(1, share(high, low, before[v], before[end[v]]))));
  return point.scale === "log" ? q.map(Math.log) : q;
}

function byPosition({ names, leaf }, row) {
  if (Array.isArray(row) || ArrayBuffer.isView(row)) return Float64Array.from(row);
  const nodes = Object.hasOwn(row, names[0]) ? names.map((_, v) => v) : leaf;
  const missing = nodes.find((v) => !Object.hasOwn(row, names[v]));
  if (missing !== undefined) throw new Error(`There is no score of ${JSON.stringify(names[missing])}.`);
  if (Object.keys(row).length !== nodes.length) throw new Error("Some names of the row are not in the tree.");
  return Float64Array.from(nodes, (v) => row[names[v]]);
}

function checked({ scale }, values) {
  const isProbability = scale === "probability";
  if (values.some(isProbability ? (x) => !(x >= 0 && x <= 1 + ROUNDING) : Number.isNaN)) {
    throw new Error("Likelihoods must be numbers; probabilities lie between 0 and 1.");
  }
  return isProbability ? values.map((x) => Math.min(x, 1)) : values;
}

function probabilities(values, temperature) {
  const total = values.reduce((a, b) => a + b, 0);
  if (!values.every((x) => x >= 0) || !(Math.abs(total - 1) <= SUM_TOLERANCE)) {
    throw new Error(`Probabilities must be 0 or more and sum to 1, not to ${total}.`);
  }
  const { high, low } = sums(values);
  const n = values.length;
  const off = Math.abs((high[n] - HALF) * HALF + low[n]) > (n + 1) * 512;
  const whole = off ? share(high, low, 0, n) : 1;
  const p = values.map((x) => x / whole);
  return temperature === 1 ? p : softmax(p.map(Math.log), temperature);
}

function softmax(values, temperature) {
  const scores = values.map((x) => x / temperature);
  const largest = scores.reduce((a, b) => (b > a || Number.isNaN(b) ? b : a), -Infinity);
  if (!Number.isFinite(largest)) throw new Error("Logits must be finite (or -inf).");
  const mass = scores.map((x) => Math.exp(x - largest));
  const total = mass.reduce((a, b) => a + b, 0);
  return mass.map((x) => x / total);
}

/** Return the sums of the first 0, 1, 2, ... entries in units, as high + low parts. */
function sums(mass) {
  const high = new Float64Array(mass.length + 1);
  const low = new Float64Array(mass.length + 1);
  for (let i = 0; i < mass.length; i++) {
    const scaled = mass[i] * HALF;
    const whole = Math.floor(scaled);
    const part = low[i] + Math.floor((scaled - whole) * HALF);
    const carry = part >= HALF ? 1 : 0;
    high[i + 1] = high[i] + whole + carry;
    low[i + 1] = part - carry * HALF;
  }
  return { high, low };
}

/** Return the sum from one entry to another; it is rounded once, here. */
function share(high, low, first, last) {
  return ((high[last] - high[first]) * HALF + (low[last] - low[first])) * UNIT;
}

function toProbability(scale, x) {
  if (scale === "log") return Math.min(1, Math.exp(x));
  return scale === "logit" ? 1 / (1 + Math.exp(-x)) : x;
}

/** Return what the rules need. */
function prepared(point) {
  if (!decisions.has(point)) decisions.set(point, prepare(point));
  return decisions.get(point);
}

function prepare(point) {
  if (point?.format !== "hedgerow operating point" || point.schema !== 4) {
    throw new Error("This is no point of this version.");
  }
  for (const name of ["prior", "pool", "weight_steps"]) {
    if (point[name]?.length) throw new Error(`${name}: use the Python library.`);
  }
  const rule = RULES[point.rule];
  if (!rule) throw new Error(`There is no rule ${JSON.stringify(point.rule)}.`);
  const { names, parents: parent, ranks } = point.tree;
  const count = names.length;
  const depth = parent.map(() => 0);
  for (let v = 1; v < count; v++) depth[v] = depth[parent[v]] + 1;
  const end = parent.map((_, v) => v + 1);
  const children = parent.map(() => 0);
  for (let v = count - 1; v > 0; v--) {
    end[parent[v]] = Math.max(end[parent[v]], end[v]);
    children[parent[v]]++;
  }
  const leaf = [];
  const before = [0]; // leaves before each node
  for (let v = 0; v < count; v++) before[v + 1] = before[v] + (children[v] ? 0 : leaf.push(v) && 1);
  const { information, single_child } = point.request.settings;
  const answers = single_child === "answer";
  const isCandidate = parent.map((_, v) => v === 0 || answers || children[v] !== 1);
  const below = (v) => before[end[v]] - before[v];
  const value = parent.map((_, v) => (information === "depth" ? depth[v] : Math.log2(leaf.length) - Math.log2(below(v))));
  const compare = (a, b) =>
    (information === "depth" ? depth[a] - depth[b] : below(b) - below(a)) || (answers ? depth[a] - depth[b] : 0);
  const rank = ranks ?? depth.map(String);
  const number = (text) => (typeof text === "string" ? Number(text.replace("inf", "Infinity")) : text);
  const thresholds = new Map(Object.entries(point.thresholds).map(([name, tau]) => [name, number(tau)]));
  const stand = parent.map((_, v) => v);
  for (let v = count - 1; v > 0; v--) if (!isCandidate[v]) stand[v] = stand[v + 1];
  return { point, rule, names, parent, depth, end, leaf, before, isCandidate, value, compare, rank, thresholds, stand };
}

const bottom = ({ point }) => (point.scale === "probability" ? 0 : -Infinity);

/** Return whether a is a better answer than b: more specific; then more likely; then first. */
const better = ({ compare }, q, a, b) => (compare(a, b) || q[a] - q[b] || b - a) > 0;

function threshold(d, q, group) {
  const { by, clade_depth, root_is_safe } = d.point;
  let name = "";
  if (by === "group") {
    if (group === undefined) throw new Error("This point needs a group.");
    name = String(group);
  }
  if (by === "clade") {
    let v = tip(d, q);
    while (d.depth[v] > clade_depth) v = d.parent[v];
    name = d.names[v];
  }
  const tau = d.thresholds.get(name) ?? (root_is_safe ? Infinity : NaN);
  if (Number.isNaN(tau)) throw new Error(`Nothing is promised for the ${by} ${JSON.stringify(name)}.`);
  return Math.max(tau, bottom(d));
}

/** Return the most likely node with nothing likely below. */
function tip(d, q) {
  let best = 0;
  let largest = -Infinity;
  let last = -1; // likely candidate
  for (let v = d.names.length - 1; v >= 0; v--) {
    if (!d.isCandidate[v] || !(q[v] > bottom(d))) continue;
    if (!(last >= 0 && last < d.end[v]) && q[v] >= largest) [best, largest] = [v, q[v]];
    last = v;
  }
  return best;
}

function best(d, q, passes) {
  let found = -1;
  for (let v = 0; v < d.names.length; v++) {
    if (d.isCandidate[v] && passes(v) && (found < 0 || better(d, q, v, found))) found = v;
  }
  return Math.max(found, 0);
}

const RULES = {
  threshold(d, q, group) {
    const tau = threshold(d, q, group);
    return best(d, q, (v) => q[v] > tau);
  },
  climbing(d, q, group) {
    const tau = threshold(d, q, group);
    let v = d.leaf.reduce((a, b) => (q[b] > q[a] ? b : a));
    while (v > 0 && !(d.isCandidate[v] && q[v] > tau)) v = d.parent[v];
    return v;
  },
  "expected-information"(d, q, group) {
    const lambda = threshold(d, q, group);
    if (lambda === Infinity) return 0;
    const gain = (v) => (d.value[v] + lambda) * toProbability(d.point.scale, q[v]);
    let found = 0;
    for (let v = 0; v < d.names.length; v++) {
      if (!d.isCandidate[v] || !(q[v] > bottom(d))) continue;
      if ((gain(v) - gain(found) || q[v] - q[found] || d.compare(v, found)) > 0) found = v;
    }
    return found;
  },
  ranks(d, q) {
    const path = [];
    for (let v = tip(d, q); v >= 0; v = d.parent[v]) path.unshift(v);
    let found = -1;
    for (const v of path) {
      const p = q[d.stand[v]];
      if (v > 0 && !(p > (d.thresholds.get(d.rank[v]) ?? -Infinity))) break;
      if (d.isCandidate[v] && p > bottom(d) && (found < 0 || better(d, q, v, found))) found = v;
    }
    return Math.max(found, 0);
  },
};
