// What the reader has chosen, and what is drawn again when it changes.

const FIRST_CARDS = window.innerWidth < 600 ? 6 : 12;
const STATUS = {
  exact: { sign: "●", words: "exact" },
  hedged: { sign: "◐", words: "right, but coarser" },
  wrong: { sign: "✕", words: "wrong" },
};

const data = JSON.parse(document.getElementById("data").textContent);
const tree = data.tree ? new Tree(data.tree.nodes) : null;
const state = {
  mode: data.start.mode,
  step: data.start.step,
  focus: data.start.focus, // the model whose details are shown
  kind: Object.keys(data.kinds)[0],
  colour: "right",
  clade: 0,
  pointed: null, // the node of the tree that is described below the drawing
  status: "all",
  cards: FIRST_CARDS,
};
const POINT = ["mode", "step"]; // the keys that change the operating point
const MODEL_COLOURS = 12; // in the style sheet
const REST = 100; // milliseconds without a move of the slider
const followers = [];
const waiting = new Set(); // what is not on the screen, and is drawn when the slider rests
let timer = 0;

/** Call a function now and after every change of one of these keys; it draws what is inside an element. */
function follow(keys, id, draw) {
  followers.push({ keys, place: document.getElementById(id), draw });
  draw();
}

/** Change the state, and draw what depends on it. */
function change(changes) {
  const keys = Object.keys(changes).filter((key) => state[key] !== changes[key]);
  Object.assign(state, changes);
  const due = followers.filter(({ keys: wanted }) => keys.some((key) => wanted.includes(key)));
  const sliding = keys.every((key) => POINT.includes(key));
  const later = new Set(sliding ? due.filter(({ place }) => !onScreen(place)) : []);
  for (const follower of due) {
    if (later.has(follower)) continue;
    waiting.delete(follower);
    follower.draw();
  }
  if (!later.size) return;
  for (const follower of later) waiting.add(follower);
  document.documentElement.dataset.ready = "soon";
  clearTimeout(timer);
  timer = setTimeout(drawWaiting, REST);
}

function onScreen(place) {
  const { top, bottom } = place.getBoundingClientRect();
  return bottom > 0 && top < window.innerHeight;
}

function drawWaiting() {
  const due = Array.from(waiting);
  waiting.clear();
  for (const { draw } of due) draw();
  document.documentElement.dataset.ready = "yes";
}

/** Return the position of a model on its curve. */
function positionOf(model) {
  return model.at[state.mode][state.step];
}

const slider = document.getElementById("slider");
const ENDS = { correct: ["specific", "cautious"], recall: ["cautious", "specific"], threshold: ["specific", "cautious"] };

/** Describe the setting of the slider. */
function setting() {
  const value = data.steps[state.mode][state.step];
  if (state.mode === "threshold") return `answers more likely than ${threshold(value)}`;
  const what = state.mode === "correct" ? "of the answers right" : "of the labels' information found";
  return `at least ${percent(value).replace(".0\u00a0", "\u00a0")} ${what}`;
}

/** Change what the slider sets, and keep the model in focus where it is as nearly as possible. */
function changeMode(mode) {
  const model = data.models[state.focus];
  const now = mode === "threshold" ? model.tau[positionOf(model)] : model.figures[mode][positionOf(model)];
  const steps = data.steps[mode];
  let best = 0;
  for (let i = 1; i < steps.length; i += 1) if (Math.abs(steps[i] - now) < Math.abs(steps[best] - now)) best = i;
  change({ mode, step: best });
}

function startControls() {
  slider.addEventListener("input", () => change({ step: Number(slider.value) }));
  for (const radio of document.querySelectorAll("input[name=mode]")) {
    radio.addEventListener("change", () => changeMode(radio.value));
  }
  const focus = document.getElementById("focus");
  focus.append(...data.models.map((model, i) => element("option", { value: i }, shortened(model.name, 60))));
  focus.addEventListener("change", () => change({ focus: Number(focus.value), cards: FIRST_CARDS }));
  document.getElementById("focus-label").hidden = data.models.length < 2;
  document.getElementById("to-point")?.addEventListener("click", () => {
    change({ mode: "threshold", step: data.point.step });
  });
  window.addEventListener("beforeprint", drawWaiting);
  follow(POINT, "slider", () => {
    for (const radio of document.querySelectorAll("input[name=mode]")) radio.checked = radio.value === state.mode;
    slider.max = data.steps[state.mode].length - 1;
    slider.value = state.step;
    slider.setAttribute("aria-valuetext", setting());
    document.getElementById("setting").textContent = setting();
    ["end-low", "end-high"].forEach((id, i) => (document.getElementById(id).textContent = ENDS[state.mode][i]));
  });
  follow(["focus"], "focus", () => {
    focus.value = state.focus;
    const name = shortened(data.models[state.focus].name, 60);
    for (const place of document.querySelectorAll(".focus-name")) place.textContent = name;
  });
}
