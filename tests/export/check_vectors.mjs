// Returns what is wrong with the answers of hedgerow.js to the test vectors: for node and for browsers.
export function failures(answer, vectors) {
  const found = [];
  const number = (x) => (typeof x === "string" ? Number(x.replace("inf", "Infinity")) : x);
  for (const { name, point, input, rows, groups, answers } of vectors.cases) {
    rows.forEach((row, i) => {
      let got = null;
      try {
        const { node, name, likelihood, lineage } = answer(point, row.map(number), { logits: input === "logits", group: groups?.[i] });
        got = name;
        const fits = point.tree.names[node] === name && lineage.at(-1) === name && lineage[0] === point.tree.names[0];
        if (!fits || !(likelihood >= 0 && likelihood <= 1)) found.push(`${name}, row ${i}: the parts of the answer differ`);
      } catch (error) {
        if (!(error instanceof Error) || error.constructor !== Error) throw error;
      }
      if (got !== answers[i]) found.push(`${name}, row ${i}: ${got} instead of ${answers[i]}`);
    });
  }
  return found;
}
