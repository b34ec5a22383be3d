// Single examples: the truth, and the answer as a lineage that grows and shrinks with the slider.

const ROWS = 7; // of a lineage; the upper part of a longer one is folded
const OTHERS = 3; // models whose answers are shown beside that of the model in focus

/** Return the examples of the model in focus that are in the chosen clade, with their answers now. */
function examplesNow() {
  const model = data.models[state.focus];
  const position = positionOf(model);
  return data.tree.sets[model.set].shown
    .map((example, i) => {
      const answer = answerAt(model.events[i], position);
      return { example, i, answer, status: statusOf(tree, example.label, answer.node, model.settings.below_label) };
    })
    .filter(({ example }) => tree.contains(state.clade, example.label));
}

function statusMark(status, words) {
  return element("span", { class: `status ${status}` }, element("span", { "aria-hidden": "true" }, STATUS[status].sign), ` ${words}`);
}

function lineageRows(events, answer) {
  const confidence = new Map([[0, 1], ...events.map(([node, , value]) => [node, value])]);
  let path = shownLineage(tree, events, answer);
  const at = path.indexOf(answer);
  const folded = path.length > ROWS + 1 ? Math.max(0, Math.min(path.length - ROWS, at - 1)) : 0;
  const rows = [];
  if (folded > 0) rows.push(element("li", { class: "folded" }, `${folded} above`));
  path = path.slice(folded, folded + ROWS + 1);
  for (const node of path) {
    const answered = path.indexOf(node) <= path.indexOf(answer);
    const known = confidence.has(node) ? percent(confidence.get(node)) : "";
    const name = element("span", { class: "name", title: tree.id[node] }, shortened(tree.name[node], 60));
    const kind = node === answer ? "answered answer" : answered ? "answered" : "rest";
    const share = confidence.has(node) ? `--share: ${confidence.get(node)}` : "--share: 0";
    rows.push(element("li", { class: kind, style: share }, name, element("span", { class: "sure" }, known),
      node === answer ? element("span", { class: "unseen" }, " (the answer)") : null));
  }
  return rows;
}

/** Return the answers of some other models to an example. */
function otherAnswers(i) {
  const focus = data.models[state.focus];
  const others = data.models.filter((model) => model !== focus && model.set === focus.set).slice(0, OTHERS);
  return others.map((model) => ({ model, node: answerAt(model.events[i], positionOf(model)).node }));
}

function otherRows(others, example) {
  if (!others.length) return null;
  const items = others.map(({ model, node }) => {
    const status = statusOf(tree, example.label, node, model.settings.below_label);
    return element("li", {}, element("span", { class: "who" }, `${shortened(model.name, 30)}: `), statusMark(status, shortened(tree.name[node], 40)));
  });
  return element("ul", { class: "others" }, ...items);
}

const made = new Map(); // the cards of examples, until their answers change

/** Return the card of an example: the one that is there already, if it says the same. */
function card(now) {
  const others = otherAnswers(now.i);
  const key = [state.focus, now.answer.node, ...others.map(({ node }) => node)].join();
  const place = `${data.models[state.focus].set}:${now.i}`;
  if (made.get(place)?.key !== key) made.set(place, { key, shown: newCard(now, others) });
  return made.get(place).shown;
}

function newCard({ example, i, answer, status }, others) {
  const model = data.models[state.focus];
  const picture = example.image ? element("img", { src: example.image, alt: `Image of ${shortened(example.id, 80)}` }) : null;
  const words = example.text ? element("p", { class: "text" }, example.text) : null;
  const truth = element("p", { class: "truth" }, element("span", {}, "Truth "), element("b", { title: tree.id[example.label] }, shortened(tree.name[example.label], 80)));
  return element("article", { class: `card example ${status}`, "data-example": i, "data-answer": answer.node, "aria-label": shortened(example.id, 80) },
    element("div", { class: "about" }, picture,
      element("div", { class: "what" }, element("p", { class: "id", title: example.id }, shortened(example.id, 80)), words, truth, statusMark(status, STATUS[status].words))),
    element("ol", { class: "lineage" }, ...lineageRows(model.events[i], answer.node)),
    otherRows(others, example));
}

function drawCards() {
  const now = examplesNow();
  const wanted = now.filter(({ status }) => state.status === "all" || status === state.status);
  for (const place of document.querySelectorAll("[data-number]")) {
    const kind = place.dataset.number;
    place.textContent = kind === "all" ? now.length : now.filter(({ status }) => status === kind).length;
  }
  const shown = wanted.slice(0, state.cards).map(card);
  if (!shown.length) shown.push(element("p", { class: "empty" }, emptyWords(now.length)));
  const place = document.getElementById("cards");
  const same = shown.length === place.children.length && shown.every((each, i) => each === place.children[i]);
  if (!same) place.replaceChildren(...shown);
  document.getElementById("more").hidden = wanted.length <= state.cards;
  const set = data.tree.sets[data.models[state.focus].set];
  document.getElementById("cards-note").textContent = set.shown.length === set.examples
    ? `All ${counted(set.examples)} ${data.thing}.`
    : `${set.shown.length} of ${counted(set.examples)} ${data.thing}, chosen so that every kind of answer and every part of the tree is there. Their numbers are not shares.`;
}

function emptyWords(inClade) {
  if (!inClade) return `None of the shown ${data.thing} are in ${shortened(tree.name[state.clade], 60)}.`;
  return { wrong: "No wrong answers here.", hedged: "No coarse answers here.", exact: "No exact answers here." }[state.status];
}

/** Offer the path to the chosen clade, and the groups in it. */
function drawClades() {
  const count = data.tree.sets[data.models[state.focus].set].count;
  const inside = tree.children[state.clade].filter((node) => count[node] > 0 && !tree.leaf[node]);
  inside.sort((a, b) => count[b] - count[a]);
  const path = tree.lineage(state.clade);
  const option = (node, before) => element("option", { value: node }, before + shortened(tree.name[node], 50));
  const place = document.getElementById("clade");
  place.replaceChildren(...path.map((node) => option(node, node === 0 ? "all: " : "")), ...inside.slice(0, 100).map((node) => option(node, "· ")));
  place.value = state.clade;
}

function startCards() {
  document.getElementById("cards").style.setProperty("--rows", Math.min(ROWS, 1 + Math.max(...tree.depth)));
  follow([...POINT, "focus", "clade", "status", "cards"], "cards", drawCards);
  follow(["focus", "clade"], "clade", drawClades);
  for (const radio of document.querySelectorAll("input[name=status]")) {
    radio.addEventListener("change", () => change({ status: radio.value, cards: FIRST_CARDS }));
  }
  document.getElementById("more").addEventListener("click", () => change({ cards: state.cards + 24 }));
  document.getElementById("clade").addEventListener("change", (event) => change({ clade: Number(event.target.value), cards: FIRST_CARDS }));
}
