// The leaderboard.

const WHISKER = { width: 150, height: 16 };

function leaderboard(board, domains, onShow) {
  const borrowed = board.borrowed.map((rows) => new Set(rows));
  const flags = Object.entries(board.flags).map(([name, rows]) => [name, new Set(rows)]);
  const counts = board.model.map((_, row) => borrowed.reduce((sum, rows) => sum + rows.has(row), 0));

  function flagged(row) {
    const told = flags.filter(([, rows]) => rows.has(row)).map(([name]) => shownId(name));
    if (counts[row]) told.unshift(`${counts[row]} borrowed`);
    if (board.score[row] === null) told.unshift("no score");
    return told;
  }

  const columns = [
    ...(board.component ? [
      { title: "component", hint: "models of different components share no item and are not ranked against each other",
        falling: false, value: (row) => board.component[row], cell: (row) => grouped(board.component[row]) },
    ] : []),
    { title: "rank", falling: false, value: (row) => board.rank[row], cell: (row) => grouped(board.rank[row]) },
    { title: "model", text: true, head: true, classes: "model", value: (row) => board.model[row],
      cell: (row) => idElement(board.model[row]) },
    { title: "overall", value: (row) => board.score[row], cell: (row) => fixed(board.score[row]) },
    ...(board.lower ? [
      intervalColumn(board),
      { title: "ranks", hint: "95 % interval of the rank", falling: false, value: (row) => board.rank_lower[row],
        cell: (row) => board.rank_lower[row] === null ? "–" : `${board.rank_lower[row]}–${board.rank_upper[row]}` },
      { title: "tie group", hint: "models of one number cannot be told from its best", falling: false,
        value: (row) => board.tie_group[row], cell: (row) => grouped(board.tie_group[row]) },
    ] : []),
    ...(board.accuracy ? [accuracyColumn(board.accuracy)] : []),
    { title: "answered", hint: "items answered, of all items of the fit", value: (row) => board.answered[row],
      cell: (row) => `${grouped(board.answered[row])} / ${grouped(board.known)}` },
    { title: "domains", hint: "domains with any answer", value: (row) => board.taken[row],
      cell: (row) => `${board.taken[row]} / ${domains.length}` },
    { title: "flags", classes: "words", value: (row) => flagged(row).length + counts[row],
      cell: (row) => flagged(row).join(", ") },
    ...domains.map((name, t) => ({
      title: name,
      hint: `trait in ${shownId(name)}`,
      classes: "trait",
      value: (row) => board.traits[t][row],
      cell: (row) => `${fixed(board.traits[t][row])}${borrowed[t].has(row) ? "*" : ""}`,
    })),
  ];
  pagedTable({
    place: document.getElementById("board-table"),
    caption: "Leaderboard",
    columns,
    count: board.model.length,
    size: 50,
    first: 0,
    search: { label: "Find a model", texts: board.model },
    onShow,
  });
}

function intervalColumn(board) {
  const [low, high] = extent([board.lower, board.upper], [-1, 1]);
  const reach = high - low || 1;
  const at = (value) => (4 + (WHISKER.width - 8) * (value - low) / reach).toFixed(1);
  const middle = WHISKER.height / 2;

  function whisker(row) {
    if (board.lower[row] === null) return "–";
    const picture = drawn("svg", { class: "whisker", width: WHISKER.width, height: WHISKER.height, "aria-hidden": "true" });
    if (low < 0 && high > 0) {
      picture.append(drawn("line", { class: "zero", x1: at(0), x2: at(0), y1: 0, y2: WHISKER.height }));
    }
    picture.append(
      drawn("line", { class: "bar", x1: at(board.lower[row]), x2: at(board.upper[row]), y1: middle, y2: middle }),
      drawn("line", { class: "score", x1: at(board.score[row]), x2: at(board.score[row]), y1: 2, y2: WHISKER.height - 2 }));
    const text = `[${fixed(board.lower[row])}, ${fixed(board.upper[row])}]`;
    return element("span", { class: "interval" }, picture, element("span", {}, text));
  }

  return { title: "95 % interval", hint: "sorted by its lower end", classes: "interval-column",
    value: (row) => board.lower[row], cell: whisker };
}

function accuracyColumn(accuracy) {
  return {
    title: "accuracy",
    hint: "share of all items that the model is expected to pass",
    value: (row) => accuracy.mean[row],
    cell: (row) => element("span", {
      title: accuracy.mean[row] === null ? null
        : `95 % interval: ${share(accuracy.lower[row])} to ${share(accuracy.upper[row])}`,
    }, share(accuracy.mean[row])),
  };
}
