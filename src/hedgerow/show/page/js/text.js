// Numbers and names as text, and elements of the page.

/** Write a share as a percentage with one digit. */
function percent(share) {
  return `${(100 * share).toFixed(1)}\u00a0%`;
}

/** Write a threshold with as many digits as it needs near 0 and 1. */
function threshold(tau) {
  const distance = Math.min(tau, 1 - tau);
  const digits = distance <= 0 || distance >= 0.01 ? 3 : Math.min(12, 1 - Math.floor(Math.log10(distance)));
  return String(Number(tau.toFixed(digits)));
}

/** Write a count with separators, as Python does. */
function counted(number) {
  return number.toLocaleString("en-US");
}

/** Shorten a name; whole characters stay whole. */
function shortened(name, length) {
  const signs = Array.from(name);
  return signs.length <= length ? name : `${signs.slice(0, length - 1).join("")}…`;
}

/** Return a name that Plotly shows as it is: its labels are read as a kind of HTML. */
function plotlyLabel(name, length) {
  return shortened(name, length).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

/** Make an element; children are elements or text, never HTML. */
function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "onclick") made.addEventListener("click", value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}
