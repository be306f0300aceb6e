// Line charts: information by trait over the models' traits, and the rounds of the fit.

const PANEL = { width: 320, height: 180, left: 54, right: 10, top: 10, bottom: 34 };

// A chart with ticks: x and y are scales, their ticks and a title.
function panel(title, { x, y, xTicks, yTicks, xTitle, label }) {
  const { width, height, left, right, top, bottom } = PANEL;
  const picture = drawn("svg", { class: "panel", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  for (const value of yTicks) {
    picture.append(
      drawn("line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }),
      drawn("text", { x: left - 5, y: y(value) + 4, "text-anchor": "end" }, tickText(value)));
  }
  for (const value of xTicks) {
    picture.append(drawn("text", { x: x(value), y: height - bottom + 15, "text-anchor": "middle" }, tickText(value)));
  }
  picture.append(
    drawn("line", { class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }),
    drawn("text", { x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, xTitle));
  return { picture, figure: element("figure", {}, element("figcaption", {}, title), picture) };
}

function path(points) {
  return points.map(([x, y], k) => `${k ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
}

function informationCurves(curves, domains) {
  const { width, height, left, right, top, bottom } = PANEL;
  const place = document.getElementById("curves");
  const x = scale(-curves.reach, curves.reach, left, width - right);
  domains.forEach((name, t) => {
    const counts = curves.models[t];
    const values = curves.information ? curves.information[t] : [];
    const [, most] = extent([counts], [0, 1]);
    const [, highest] = extent([values], [0, 1]);
    const y = scale(0, highest || 1, height - bottom, top);
    const bar = scale(0, most || 1, 0, 0.9 * (height - bottom - top));
    const { picture, figure } = panel(idElement(name), {
      x, y, xTicks: ticks(-curves.reach, curves.reach, 4), xTitle: "trait",
      yTicks: curves.information ? ticks(0, highest || 1, 4) : [],
      label: curves.information
        ? `Information of ${shownId(name)}, at most ${tickText(highest)}, over the models' traits`
        : `Models by trait in ${shownId(name)}`,
    });
    const bin = 2 * curves.reach / counts.length;
    counts.forEach((count, k) => {
      if (!count) return;
      const [from, to] = [x(-curves.reach + k * bin), x(-curves.reach + (k + 1) * bin)];
      const box = { class: "count", x: from + 0.4, y: height - bottom - bar(count), width: to - from - 0.8, height: bar(count) };
      picture.append(drawn("rect", box, drawn("title", {}, plural(count, "model", "models"))));
    });
    const step = 2 * curves.reach / (values.length - 1);
    picture.append(drawn("path", { class: "curve",
      d: path(values.map((value, k) => [x(-curves.reach + k * step), y(value || 0)])) }));
    place.append(figure);
  });
}

function roundCharts(history) {
  if (!history) return;
  const place = document.getElementById("rounds");
  place.append(
    roundChart("objective", history.round, history.objective, false),
    roundChart("change (logarithmic)", history.round, history.change, true));
}

function roundChart(title, rounds, values, logarithmic) {
  const { width, height, left, right, top, bottom } = PANEL;
  const place = logarithmic ? (value) => (value > 0 ? Math.log10(value) : null) : (value) => value;
  const points = values.map(place);
  const [least, greatest] = extent([points], [0, 1]);
  const margin = 0.06 * (greatest - least) || 0.5;
  const [low, high] = [least - margin, greatest + margin];
  const x = scale(rounds[0], rounds[rounds.length - 1], left + 10, width - right - 10);
  const y = scale(low, high, height - bottom, top);
  const yTicks = logarithmic ? powers(10 ** low, 10 ** high, 5) : ticks(low, high, 4);
  const { picture, figure } = panel(title, {
    x,
    y: (value) => y(place(value)),
    xTicks: ticks(rounds[0], rounds[rounds.length - 1], 6).filter(Number.isInteger),
    yTicks,
    xTitle: "round",
    label: `${title}, by round`,
  });
  const spots = points.flatMap((value, k) => (value === null ? [] : [[x(rounds[k]), y(value), k]]));
  picture.append(drawn("path", { class: "curve", d: path(spots) }));
  for (const [left, top, k] of spots) {
    picture.append(drawn("circle", { class: "dot", cx: left, cy: top, r: 3 },
      drawn("title", {}, `round ${rounds[k]}: ${values[k]}`)));
  }
  return figure;
}
