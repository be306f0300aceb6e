// The tables of domains and of findings.

function domainTable(domains) {
  const flags = Object.entries(domains.flags).map(([name, rows]) => [name, new Set(rows)]);
  const told = (row) => flags.filter(([, rows]) => rows.has(row)).map(([name]) => name).join(", ");
  const counted = (title, hint) => ({
    title, hint, value: (row) => domains[title][row], cell: (row) => grouped(domains[title][row]) });
  const measured = (name, title, hint) => domains[name]
    ? [{ title, hint, value: (row) => domains[name][row], cell: (row) => fixed(domains[name][row]) }] : [];
  pagedTable({
    place: document.getElementById("domain-table"),
    caption: "Domains",
    count: domains.name.length,
    columns: [
      { title: "domain", text: true, head: true, classes: "model", value: (row) => domains.name[row],
        cell: (row) => idElement(domains.name[row]) },
      counted("items"),
      counted("models", "models that answered any of them"),
      { title: "pooling", text: true, hint: "joint: borrows from other domains; own: by its own responses alone",
        classes: "words", value: (row) => domains.pooling[row], cell: (row) => domains.pooling[row] },
      ...measured("uniqueness", "uniqueness", "share of its trait's variance that no other domain has"),
      ...measured("slope_mean", "mean slope", "of the prior of its slopes"),
      ...measured("slope_sd", "sd of slopes", "of the prior of its slopes"),
      ...measured("cosine", "with general", "cosine of the angle between its trait and the general one"),
      { title: "flags", text: true, classes: "words", value: told, cell: told },
    ],
  });
}

function findingTable(place, caption, findings) {
  if (!findings) return;
  const coded = (column) => (row) => findings[column].names[findings[column].codes[row]];
  const worded = (title, value) => ({
    title, text: true, classes: "words", value, cell: (row) => shownId(value(row)) });
  const amount = (row) => typeof findings.value[row] === "number" ? findings.value[row] : null;
  pagedTable({
    place,
    caption,
    count: findings.id.length,
    columns: [
      worded("kind", coded("kind")),
      worded("domain", coded("domain")),
      { title: "id", text: true, classes: "model", value: (row) => findings.id[row],
        cell: (row) => findings.id[row] ? idElement(findings.id[row]) : "" },
      { title: "value", value: amount,
        cell: (row) => findings.value[row] === null ? "–" : String(findings.value[row]) },
      { ...worded("told", coded("told")), classes: "words long" },
    ],
    search: { label: "Find in kind, domain and id",
      texts: findings.id.map((id, row) => [coded("kind")(row), coded("domain")(row), id].join("\n")) },
  });
}
