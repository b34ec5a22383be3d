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

/** Write a round share as a percentage without digits. */
function roundPercent(share) {
  return `${Math.round(100 * share)}\u00a0%`;
}

/** Return the colour of a model, as a style of an element. */
function modelColour(i) {
  return `--colour: var(--model-${i % MODEL_COLOURS})`;
}

/** Make an element of the page; children are elements or text, never HTML. */
function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** Make an element of a drawing. */
function shape(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick") made.addEventListener("click", value);
    else if (name === "style") made.style.cssText = value; // the page's policy forbids the attribute
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}
