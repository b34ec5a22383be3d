// The summary table, sorted by a click on a heading.

function startTable() {
  const table = document.querySelector("table.summary");
  const headings = Array.from(table.querySelectorAll("thead th"));
  headings.forEach((heading, column) => {
    heading.querySelector("button").addEventListener("click", () => {
      const falling = heading.getAttribute("aria-sort") !== "descending" && column > 0;
      for (const other of headings) other.setAttribute("aria-sort", "none");
      heading.setAttribute("aria-sort", falling ? "descending" : "ascending");
      const value = (row) => row.cells[column].dataset.value;
      const order = column ? (a, b) => value(a) - value(b) : (a, b) => value(a).localeCompare(value(b));
      const rows = Array.from(table.tBodies[0].rows).sort((a, b) => (falling ? order(b, a) : order(a, b)));
      table.tBodies[0].append(...rows);
    });
  });
}
