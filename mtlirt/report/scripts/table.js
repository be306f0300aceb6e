// A table that is sorted by the buttons of its head, searched, and shown a page at a time.

const SIZES = [25, 50, 100, 500];
const COLLATOR = new Intl.Collator("en", { numeric: true });

// columns: {title, hint, text, value(row), cell(row), classes}; `value` is what a column is sorted by,
// null last; `text` columns begin with the first letter, others with the greatest number.
// first: the column by which rows are in order already.
// search: {label, texts: a text each row}. onShow(rows) hears which rows the page holds.
function pagedTable({ place, caption, columns, count, size = 25, first = null, search = null, onShow = () => {} }) {
  const needles = search ? search.texts.map((text) => text.toLowerCase()) : null;
  let rows = Array.from({ length: count }, (_, row) => row);
  let sorted = { column: first, falling: false };
  let page = 0;

  const heads = columns.map((column, k) => {
    const button = element("button", { type: "button", title: column.hint || null },
      element("span", {}, shownId(column.title)));
    button.addEventListener("click", () => sortBy(k));
    return element("th", { scope: "col", class: column.classes || null }, button);
  });
  const body = element("tbody");
  const status = element("p", { role: "status", class: "status" });
  const back = element("button", { type: "button" }, "Previous");
  const on = element("button", { type: "button" }, "Next");
  const number = element("span", { class: "page" });
  const sizes = element("select", {},
    ...SIZES.map((n) => element("option", { value: n, selected: n === size }, String(n))));
  const box = search ? element("input", { type: "search", autocomplete: "off", spellcheck: "false" }) : null;
  const table = element("table", { class: "data" },
    element("caption", { class: "quiet" }, caption), element("thead", {}, element("tr", {}, ...heads)), body);
  const frame = element("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": caption }, table);
  const turn = element("div", { class: "turn" }, back, number, on,
    element("label", {}, "Rows a page ", sizes));
  place.append(
    element("div", { class: "controls" }, box && element("label", {}, search.label, " ", box), status), frame, turn);

  function pages() {
    return Math.max(1, Math.ceil(rows.length / size));
  }

  function order(all) {
    const column = columns[sorted.column];
    if (!column) return all;
    const keys = new Map(all.map((row) => [row, column.value(row)]));
    const compare = column.text ? COLLATOR.compare : (one, other) => one - other;
    const sign = sorted.falling ? -1 : 1;
    return all.sort((one, other) => {
      const [a, b] = [keys.get(one), keys.get(other)];
      if (a === null || b === null) return (a === null) - (b === null) || one - other;
      return sign * compare(a, b) || one - other;
    });
  }

  function choose() {
    const needle = box ? box.value.trim().toLowerCase() : "";
    const all = [];
    for (let row = 0; row < count; row += 1) {
      if (!needle || needles[row].includes(needle)) all.push(row);
    }
    rows = order(all);
    page = 0;
    show();
  }

  function sortBy(k) {
    const falling = columns[k].falling !== undefined ? columns[k].falling : !columns[k].text;
    sorted = { column: k, falling: sorted.column === k ? !sorted.falling : falling };
    markHeads();
    choose();
  }

  function markHeads() {
    heads.forEach((head, k) => {
      if (k === sorted.column) head.setAttribute("aria-sort", sorted.falling ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
  }

  function show() {
    const shown = rows.slice(page * size, (page + 1) * size);
    body.replaceChildren(...shown.map((row) => element("tr", {},
      ...columns.map((column) => element(column.head ? "th" : "td",
        { class: column.classes || null, scope: column.head ? "row" : null }, column.cell(row))))));
    if (!shown.length) {
      body.append(element("tr", {}, element("td", { colspan: columns.length }, "None matches.")));
    }
    status.textContent = rows.length === count
      ? plural(count, "row", "rows") : `${grouped(rows.length)} of ${plural(count, "row", "rows")}`;
    number.textContent = `page ${grouped(page + 1)} of ${grouped(pages())}`;
    back.disabled = page === 0;
    on.disabled = page + 1 >= pages();
    turn.hidden = count <= SIZES[0];
    frame.scrollTop = 0;
    onShow(shown);
  }

  function go(step) {
    page = Math.min(Math.max(page + step, 0), pages() - 1);
    show();
  }

  back.addEventListener("click", () => go(-1));
  on.addEventListener("click", () => go(1));
  sizes.addEventListener("change", () => {
    size = Number(sizes.value);
    page = 0;
    show();
  });
  if (box) box.addEventListener("input", choose);
  markHeads();
  show();
}
