// The operating curves, and a marker per model. The curves are drawn once; the markers are plain elements above
// them, placed by CSS, so that they move with the slider without drawing anything again.

const MARGIN = { l: 54, r: 14, t: 12, b: 46 };
const AXES = { recall: "Recall", precision: "Precision", correct: "Correct", exact: "Exactly correct" };
const CONFIG = { displayModeBar: false, displaylogo: false, responsive: true, showTips: false, staticPlot: false };
const dark = window.matchMedia("(prefers-color-scheme: dark)");

/** Return a colour of the style sheet. */
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** Return the colour of a model. */
function modelColour(i) {
  return colour(`model-${i % MODEL_COLOURS}`);
}

/** Return the ranges of both axes for a kind of figure: round numbers around everything drawn. */
function ranges(kind) {
  const lines = data.models.map((model) => model.line[kind]);
  const right = Math.max(0.05, ...lines.map((line) => Math.max(...line.x)));
  const low = Math.min(...lines.map((line) => Math.min(...line.y)));
  const bottom = Math.min(0.9, Math.floor((low - 0.02) * 20) / 20);
  return { x: [0, Math.min(1, Math.ceil(right * 20) / 20)], y: [Math.max(0, bottom), 1] };
}

function drawCurves() {
  const [along, up] = data.kinds[state.kind];
  const range = ranges(state.kind);
  const traces = [];
  const order = data.models.map((_, i) => i).filter((i) => i !== state.focus).concat(state.focus);
  for (const i of order) {
    const { x, y, half } = data.models[i].line[state.kind];
    const opacity = i === state.focus || data.models.length <= 3 ? 1 : 0.75;
    const line = { color: modelColour(i), width: i === state.focus ? 3 : 2, shape: "vh" };
    const common = { type: "scatter", mode: "lines", hoverinfo: "skip", opacity };
    traces.push({ ...common, x: x.slice(0, half + 1), y: y.slice(0, half + 1), line });
    traces.push({ ...common, x: x.slice(half), y: y.slice(half), line: { ...line, dash: "4px,3px" } });
  }
  const axis = {
    gridcolor: colour("line"), linecolor: colour("line"), zeroline: false, fixedrange: true, tickformat: ".0%",
    nticks: 7, automargin: false,
  };
  const top = range.y[1] + 0.02 * (range.y[1] - range.y[0]);
  const layout = {
    margin: MARGIN, showlegend: false, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "inherit", size: 13, color: colour("soft") },
    xaxis: { ...axis, range: range.x, title: { text: AXES[along], standoff: 8 } },
    yaxis: { ...axis, range: [range.y[0], top], title: { text: AXES[up], standoff: 8 } },
  };
  Plotly.react("curves", traces, layout, CONFIG);
  const place = document.getElementById("markers");
  const rings = data.point ? data.models.map((_, i) => mark(i, "ring")) : [];
  place.replaceChildren(...rings, ...order.map((i) => mark(i, i === state.focus ? "dot focus" : "dot")));
  moveMarkers();
}

function mark(i, kind) {
  return element("span", { class: kind, "data-model": i, style: `--colour: var(--model-${i % MODEL_COLOURS})` });
}

/** Put the markers where the models are now; the ring stays at the point that was chosen before. */
function moveMarkers() {
  const [along, up] = data.kinds[state.kind];
  const range = ranges(state.kind);
  const top = range.y[1] + 0.02 * (range.y[1] - range.y[0]);
  for (const dot of document.querySelectorAll("#markers > span")) {
    const model = data.models[Number(dot.dataset.model)];
    const fixed = dot.classList.contains("ring");
    const position = fixed ? model.at.threshold[data.point.step] : positionOf(model);
    const x = model.figures[along][position];
    const y = model.figures[up][position];
    dot.style.left = `${(100 * (x - range.x[0])) / (range.x[1] - range.x[0])}%`;
    dot.style.top = `${(100 * (top - y)) / (top - range.y[0])}%`;
    dot.dataset.x = x;
    dot.dataset.y = y;
  }
  const said = data.models.map((model) => {
    const figure = (name) => `${AXES[name].toLowerCase()} ${percent(model.figures[name][positionOf(model)])}`;
    return `${model.name}: ${figure(along)}, ${figure(up)}`;
  });
  const title = `${AXES[up]} over ${AXES[along].toLowerCase()}, one curve per model. ${said.slice(0, 10).join("; ")}`;
  document.getElementById("curves").setAttribute("aria-label", title);
}

function startCurves() {
  for (const button of document.querySelectorAll("[data-kind]")) {
    button.addEventListener("click", () => change({ kind: button.dataset.kind }));
  }
  follow(["kind", "focus"], "curves", () => {
    for (const button of document.querySelectorAll("[data-kind]")) {
      button.setAttribute("aria-pressed", button.dataset.kind === state.kind);
    }
    drawCurves();
  });
  follow(POINT, "curves", moveMarkers);
  dark.addEventListener("change", drawCurves);
}
