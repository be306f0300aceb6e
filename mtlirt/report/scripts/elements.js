// Elements, and how ids and numbers are shown. Ids enter the page as text nodes and attributes only.

const DRAWING = "http://www.w3.org/2000/svg";

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

function drawn(name, attributes = {}, ...children) {
  return filled(document.createElementNS(DRAWING, name), attributes, children);
}

// An id on one line, as it is: letters that would break it or turn its order are written as escapes.
function shownId(id) {
  return id.replace(/[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, (letter) => {
    const plain = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }[letter];
    return plain || `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

function idElement(id) {
  return element("bdi", { class: "id", title: shownId(id) }, shownId(id));
}

function fixed(value, decimals = 2) {
  if (value === null) return "–";
  const text = value.toFixed(decimals);
  return Number(text) === 0 ? text.replace("-", "") : text;
}

function grouped(value) {
  return value === null ? "–" : value.toLocaleString("en-US");
}

function share(value) {
  return value === null ? "–" : `${(100 * value).toFixed(1)} %`;
}

function plural(count, one, several) {
  return `${grouped(count)} ${count === 1 ? one : several}`;
}

// Least and greatest of the numbers of lists, or a default where there are none.
function extent(lists, otherwise) {
  let [low, high] = [Infinity, -Infinity];
  for (const list of lists) {
    for (const value of list) {
      if (value === null) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return low <= high ? [low, high] : otherwise;
}
