// The operating curves, and a marker per model. The curves are drawn in thousandths of the axes and stretched to their
// place, and all colours come from the style sheet: neither the window's size nor its colours call for a new drawing.
// The markers are plain elements above them, placed by CSS, so that only they move with the slider.

const AXES = { recall: "Recall", precision: "Precision", correct: "Correct", exact: "Exactly correct" };
const TICK_STEPS = [0.01, 0.02, 0.05, 0.1, 0.2];
const HEADROOM = 0.02; // above 100 %, so that the whole width of a line there is seen
const scales = Object.fromEntries(Object.keys(data.kinds).map((kind) => [kind, scale(kind)]));

/** Return both axes of a kind of figure: round ends around everything drawn, and where a value is, from 0 to 1. */
function scale(kind) {
  const lines = data.models.map((model) => model.line[kind]);
  const most = Math.max(0.05, ...lines.map((line) => Math.max(...line.x)));
  const least = Math.min(...lines.map((line) => Math.min(...line.y)));
  const right = Math.min(1, Math.ceil(most * 20) / 20);
  const bottom = Math.max(0, Math.min(0.9, Math.floor((least - 0.02) * 20) / 20));
  const top = 1 + HEADROOM * (1 - bottom);
  return {
    along: { ticks: ticks(0, right, 5), place: (value) => value / right },
    up: { ticks: ticks(bottom, 1, 7), place: (value) => (top - value) / (top - bottom) },
  };
}

/** Return round values from one to another, with not many more than some number of steps between them. */
function ticks(low, high, number) {
  const step = TICK_STEPS.find((each) => high - low <= each * number) ?? TICK_STEPS.at(-1);
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, i) => (first + i) * step);
}

/** Return part of a stepped line as the data of a path: between two points, the height is that of the second. */
function pathOf({ x, y }, from, to, { along, up }) {
  const put = (share) => (1000 * share).toFixed(2);
  let path = `M${put(along.place(x[from]))} ${put(up.place(y[from]))}`;
  for (let i = from + 1; i <= to; i += 1) path += `V${put(up.place(y[i]))}H${put(along.place(x[i]))}`;
  return path;
}

/** Return the lines behind the curves, and the words at the axes. */
function drawAxes() {
  const { along, up } = scales[state.kind];
  const names = data.kinds[state.kind].map((name) => AXES[name]);
  const across = along.ticks.flatMap((value) => {
    const x = `${100 * along.place(value)}%`;
    return [shape("line", { class: "grid", x1: x, x2: x, y1: 0, y2: "100%" }),
      shape("text", { class: "tick", x, y: "100%", dy: 20, "text-anchor": "middle" }, roundPercent(value))];
  });
  const upward = up.ticks.flatMap((value) => {
    const y = `${100 * up.place(value)}%`;
    return [shape("line", { class: "grid", x1: 0, x2: "100%", y1: y, y2: y }),
      shape("text", { class: "tick", x: -6, y, dy: "0.35em", "text-anchor": "end" }, roundPercent(value))];
  });
  return [...across, ...upward,
    shape("text", { class: "axis", x: "50%", y: "100%", dy: 42, "text-anchor": "middle" }, names[0]),
    shape("svg", { x: -47, y: "50%", overflow: "visible" }, shape("text", { class: "axis", transform: "rotate(-90)", "text-anchor": "middle" }, names[1]))];
}

function drawCurves() {
  const order = data.models.map((_, i) => i).filter((i) => i !== state.focus).concat(state.focus);
  const crowded = data.models.length > 3;
  const lines = order.flatMap((i) => {
    const line = data.models[i].line[state.kind];
    const kind = i === state.focus ? "focus" : crowded ? "behind" : "";
    const part = (name, from, to) => shape("path", {
      class: `${name} ${kind}`, "data-model": i, style: modelColour(i), d: pathOf(line, from, to, scales[state.kind]),
    });
    return [part("sure", 0, line.half), part("unsure", line.half, line.x.length - 1)];
  });
  const stretched = shape("svg", { viewBox: "0 0 1000 1000", preserveAspectRatio: "none", overflow: "visible" }, ...lines);
  document.getElementById("curves").replaceChildren(...drawAxes(), stretched);
  const rings = data.point ? data.models.map((_, i) => mark(i, "ring")) : [];
  document.getElementById("markers").replaceChildren(...rings, ...order.map((i) => mark(i, i === state.focus ? "dot focus" : "dot")));
  moveMarkers();
}

function mark(i, kind) {
  return element("span", { class: kind, "data-model": i, style: modelColour(i) });
}

/** Put the markers where the models are now; the ring stays at the point that was chosen before. */
function moveMarkers() {
  const [along, up] = data.kinds[state.kind];
  for (const dot of document.querySelectorAll("#markers > span")) {
    const model = data.models[Number(dot.dataset.model)];
    const fixed = dot.classList.contains("ring");
    const position = fixed ? model.at.threshold[data.point.step] : positionOf(model);
    const x = model.figures[along][position];
    const y = model.figures[up][position];
    dot.style.left = `${100 * scales[state.kind].along.place(x)}%`;
    dot.style.top = `${100 * scales[state.kind].up.place(y)}%`;
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
}
