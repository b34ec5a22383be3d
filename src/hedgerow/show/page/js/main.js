// Start everything.

startControls();
startCurves();
startFigures();
if (tree) {
  startTree();
  startCards();
  startMistakes();
}
startTable();
document.documentElement.dataset.ready = "yes";
