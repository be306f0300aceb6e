// Tables whose cells are coloured by their values: traits by model and domain, and correlations.

const SHADES = 11;
const DENSE = 20;
const MAPPED = 40;

// The class of a value's colour, from -reach to reach.
function shade(value, reach) {
  if (value === null) return "none";
  const place = Math.floor((value / reach + 1) / 2 * SHADES);
  return `s${Math.min(Math.max(place, 0), SHADES - 1)}`;
}

function shadeLegend(place, reach) {
  const boxes = Array.from({ length: SHADES }, (_, k) => element("span", { class: `box s${k}` }));
  place.append(element("span", { class: "legend" }, `${-reach} `, ...boxes, ` ${reach}`));
}

// rows and columns are names; cell(row, column) gives {value, mark}. Many columns are narrow: their
// cells tell their values by title alone.
function colouredTable({ place, corner, rows, columns, reach, decimals, cell }) {
  const dense = columns.length > DENSE;
  const head = element("tr", {}, element("th", { scope: "col" }, corner),
    ...columns.map((name) => element("th", { scope: "col", class: "upright" }, idElement(name))));
  const tops = columns.map(shownId);
  const body = rows.map((name, i) => {
    const side = shownId(name);
    return element("tr", {}, element("th", { scope: "row" }, idElement(name)), ...tops.map((top, t) => {
      const { value, mark } = cell(i, t);
      const text = `${fixed(value, decimals)}${mark}`;
      return element("td", { class: shade(value, reach), title: `${side}, ${top}: ${text}` }, dense ? "" : text);
    }));
  });
  place.replaceChildren(element("table", { class: dense ? "matrix dense" : "matrix" },
    element("thead", {}, head), element("tbody", {}, ...body)));
}

function traitMap(board, domains, rows) {
  const borrowed = board.borrowed.map((places) => new Set(places));
  const shown = rows.slice(0, MAPPED);
  colouredTable({
    place: document.getElementById("trait-map"),
    corner: "model",
    rows: shown.map((row) => board.model[row]),
    columns: domains,
    reach: 2.75,
    decimals: 1,
    cell: (i, t) => ({
      value: board.traits[t][shown[i]],
      mark: borrowed[t].has(shown[i]) ? "*" : "",
    }),
  });
}

function correlationMap(correlations, domains) {
  if (!correlations) return;
  shadeLegend(document.getElementById("correlation-legend"), 1);
  colouredTable({
    place: document.getElementById("correlation-map"),
    corner: "",
    rows: domains,
    columns: domains,
    reach: 1,
    decimals: 2,
    cell: (i, t) => ({ value: correlations[i][t], mark: "" }),
  });
}
