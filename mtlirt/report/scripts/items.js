// The item map: a canvas, since it holds thousands of points.

const COLOURS = 7;
const MARGIN = { left: 52, right: 14, top: 12, bottom: 42 };
const NEAR = 12;

// The value that a share of the sorted numbers is below.
function quantile(sorted, part) {
  return sorted[Math.round(part * (sorted.length - 1))];
}

function itemMap(items, domains) {
  if (!items) return;
  const place = document.getElementById("item-map");
  const count = items.item.length;
  const limits = new Set(items.at_limit);
  const slopes = [...items.slope].sort((a, b) => a - b);
  const sizes = items.difficulty.map(Math.abs).sort((a, b) => a - b);
  const reach = Math.min(Math.max(quantile(sizes, 0.98), 3), 8);
  const [low, high] = [Math.min(quantile(slopes, 0.002), 0), Math.max(quantile(slopes, 0.998), 0.1) * 1.05];
  const outside = items.slope.filter((slope, j) =>
    slope < low || slope > high || Math.abs(items.difficulty[j]) > reach).length;

  const canvas = element("canvas", { tabindex: "0", role: "img",
    "aria-label": `Map of ${plural(count, "item", "items")}: difficulty by slope. Arrow keys step through them.` });
  const told = element("div", { class: "told", role: "status" });
  const chosen = element("select", {}, element("option", { value: "" }, "all"),
    ...domains.map((name, t) => element("option", { value: t }, shownId(name))));
  const coloured = domains.length <= COLOURS;
  const legend = coloured ? element("ul", { class: "keys" }, ...domains.map((name, t) =>
    element("li", {}, element("span", { class: `key c${t}` }), idElement(name)))) : null;
  place.append(
    element("div", { class: "controls" }, element("label", {}, "Domain ", chosen), legend),
    element("div", { class: "chart" }, canvas, told),
    element("p", { class: "note" }, notes()));

  let spots = [];
  let current = -1;

  function notes() {
    const said = [];
    if (count < items.drawable) {
      said.push(`A random sample of ${grouped(count)} of ${grouped(items.drawable)} items, each domain by its share.`);
    }
    if (items.drawable < items.total) {
      said.push(`${plural(items.total - items.drawable, "item has", "items have")} no difficulty (a slope near 0) and no point.`);
    }
    if (outside) {
      said.push(`${plural(outside, "point lies", "points lie")} beyond the axes and ${outside === 1 ? "is" : "are"} drawn at their ends.`);
    }
    return said.join(" ");
  }

  function order() {
    const domain = chosen.value;
    return spots.filter((spot) => domain === "" || items.domain[spot.j] === Number(domain));
  }

  function draw() {
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (!width) return;
    const dots = window.devicePixelRatio || 1;
    [canvas.width, canvas.height] = [Math.round(width * dots), Math.round(height * dots)];
    const pen = canvas.getContext("2d");
    pen.scale(dots, dots);
    const styles = getComputedStyle(document.documentElement);
    const colour = (name) => styles.getPropertyValue(name).trim();
    const x = scale(-reach, reach, MARGIN.left, width - MARGIN.right);
    const y = scale(low, high, height - MARGIN.bottom, MARGIN.top);
    drawAxes(pen, { x, y, width, height, colour });
    spots = items.item.map((_, j) => ({ j, x: x(items.difficulty[j]), y: y(items.slope[j]) }));
    const crowd = count / (width * height);
    const size = crowd > 0.02 ? 1.6 : crowd > 0.002 ? 2.4 : 3.6;
    const domain = chosen.value;
    const dot = (spot, fill, radius) => {
      pen.fillStyle = fill;
      pen.beginPath();
      pen.arc(spot.x, spot.y, radius, 0, 2 * Math.PI);
      pen.fill();
    };
    pen.globalAlpha = crowd > 0.02 ? 0.35 : 0.65;
    if (domain !== "") {
      for (const spot of spots) if (items.domain[spot.j] !== Number(domain)) dot(spot, colour("--line"), size);
    }
    for (const spot of order()) {
      const own = items.domain[spot.j];
      dot(spot, coloured ? colour(`--c${own}`) : colour("--accent"), domain === "" ? size : size + 0.6);
    }
    pen.globalAlpha = 1;
    if (current >= 0) {
      pen.strokeStyle = colour("--ink");
      pen.lineWidth = 2;
      pen.beginPath();
      pen.arc(spots[current].x, spots[current].y, size + 3, 0, 2 * Math.PI);
      pen.stroke();
    }
  }

  function drawAxes(pen, { x, y, width, height, colour }) {
    pen.font = `12px ${getComputedStyle(canvas).fontFamily}`;
    pen.lineWidth = 1;
    pen.fillStyle = colour("--soft");
    pen.textAlign = "center";
    for (const value of ticks(-reach, reach, width < 500 ? 6 : 10)) {
      pen.strokeStyle = colour(value === 0 ? "--soft" : "--grid");
      pen.beginPath();
      pen.moveTo(x(value), MARGIN.top);
      pen.lineTo(x(value), height - MARGIN.bottom);
      pen.stroke();
      pen.fillText(tickText(value), x(value), height - MARGIN.bottom + 16);
    }
    pen.fillText("difficulty −d/a", (MARGIN.left + width - MARGIN.right) / 2, height - 6);
    pen.textAlign = "right";
    for (const value of ticks(low, high, 6)) {
      pen.strokeStyle = colour(value === 0 ? "--soft" : "--grid");
      pen.beginPath();
      pen.moveTo(MARGIN.left, y(value));
      pen.lineTo(width - MARGIN.right, y(value));
      pen.stroke();
      pen.fillText(tickText(value), MARGIN.left - 6, y(value) + 4);
    }
    pen.save();
    pen.translate(14, (MARGIN.top + height - MARGIN.bottom) / 2);
    pen.rotate(-Math.PI / 2);
    pen.textAlign = "center";
    pen.fillText("slope a", 0, 0);
    pen.restore();
  }

  function tell(j) {
    if (j === current) return;
    current = j;
    if (j < 0) {
      told.textContent = "";
    } else {
      const limit = limits.has(j) ? ", at a limit" : "";
      told.replaceChildren(idElement(items.item[j]), element("span", {}, idElement(domains[items.domain[j]]),
        `: difficulty ${fixed(items.difficulty[j])}, slope ${fixed(items.slope[j])}, right ${share(items.right[j])}${limit}`));
      const spot = spots[j];
      told.style.left = `${Math.min(spot.x + 10, Math.max(canvas.clientWidth - told.offsetWidth - 4, 0))}px`;
      const below = spot.y + 12;
      told.style.top = `${below + told.offsetHeight > canvas.clientHeight ? spot.y - told.offsetHeight - 10 : below}px`;
    }
    draw();
  }

  function nearest(event) {
    const box = canvas.getBoundingClientRect();
    const [left, top] = [event.clientX - box.left, event.clientY - box.top];
    let [best, least] = [-1, NEAR ** 2];
    for (const spot of order()) {
      const distance = (spot.x - left) ** 2 + (spot.y - top) ** 2;
      if (distance < least) [best, least] = [spot.j, distance];
    }
    return best;
  }

  function step(event) {
    if (event.key === "Escape") tell(-1);
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const line = order().sort((a, b) => items.difficulty[a.j] - items.difficulty[b.j] || a.j - b.j);
    const at = line.findIndex((spot) => spot.j === current);
    const next = at < 0 ? (by > 0 ? 0 : line.length - 1) : Math.min(Math.max(at + by, 0), line.length - 1);
    if (line.length) tell(line[next].j);
  }

  canvas.addEventListener("pointermove", (event) => tell(nearest(event)));
  canvas.addEventListener("pointerleave", () => tell(-1));
  canvas.addEventListener("keydown", step);
  canvas.addEventListener("blur", () => tell(-1));
  chosen.addEventListener("change", () => {
    tell(-1);
    draw();
  });
  new ResizeObserver(draw).observe(canvas);
  whenColoursChange(draw);
}

// Canvases do not follow the style sheet by themselves; paper is always light.
function whenColoursChange(draw) {
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  const printing = (on) => () => {
    document.documentElement.classList.toggle("printing", on);
    draw();
  };
  window.addEventListener("beforeprint", printing(true));
  window.addEventListener("afterprint", printing(false));
}
