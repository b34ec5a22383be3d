// The figures at the chosen point, and the levels at which answers stop.

const FIGURES = Object.keys(data.metrics);

function startFigures() {
  const rows = data.models.map((model, i) => {
    const chip = element("span", { class: "chip", "data-model": i, style: modelColour(i) });
    const name = element("span", { title: model.name }, shortened(model.name, 60));
    const cells = FIGURES.map((figure) => element("td", { "data-figure": figure }));
    return element("tr", {}, element("th", { scope: "row" }, element("span", { class: "named" }, chip, name)), ...cells, element("td", { "data-figure": "tau" }));
  });
  document.getElementById("figures").append(...rows);
  const table = document.querySelector("table.figures");
  table.classList.toggle("single", data.models.length === 1);
  table.classList.toggle("curves", data.models.every((model) => !model.figures.answered)); // then it is not known
  for (const chip of document.querySelectorAll(".summary .chip")) {
    chip.style.cssText = modelColour(chip.dataset.model);
  }
  follow(POINT, "figures", () => {
    data.models.forEach((model, i) => {
      const position = positionOf(model);
      FIGURES.forEach((figure, j) => {
        const cell = rows[i].cells[j + 1];
        const value = model.figures[figure]?.[position] ?? null;
        const shown = data.metrics[figure] ? (100 * value).toFixed(1) : String(Number((value ?? 0).toPrecision(3)));
        cell.textContent = value === null ? "–" : shown;
        cell.dataset.value = value ?? "";
      });
      const last = rows[i].cells[FIGURES.length + 1];
      last.textContent = threshold(model.tau[position]);
      last.dataset.value = model.tau[position];
    });
  });
  if (tree) startLevels();
}

function startLevels() {
  const rows = data.tree.levels.map((name) => {
    const bar = element("td", { class: "bar" }, element("span", { class: "right" }), element("span", { class: "wrong" }));
    return element("tr", {}, element("th", { scope: "row" }, name), bar, element("td"), element("td"));
  });
  document.getElementById("levels").append(...rows);
  follow([...POINT, "focus"], "levels", () => {
    const model = data.models[state.focus];
    const counts = model.levels[positionOf(model)];
    const total = data.tree.sets[model.set].examples;
    rows.forEach((row, i) => {
      const [wrong, right] = [counts[2 * i], counts[2 * i + 1]];
      const [rightBar, wrongBar] = row.cells[1].children;
      rightBar.style.width = `${(100 * right) / total}%`;
      wrongBar.style.width = `${(100 * wrong) / total}%`;
      row.cells[2].textContent = counted(right);
      row.cells[3].textContent = counted(wrong);
    });
  });
}
