// What is drawn where.

const report = JSON.parse(document.getElementById("report-data").textContent);
const names = report.domains.name;

shadeLegend(document.getElementById("trait-legend"), 2.75);
leaderboard(report.board, names, (rows) => traitMap(report.board, names, rows));
domainTable(report.domains);
correlationMap(report.correlations, names);
itemMap(report.items, names);
informationCurves(report.curves, names);
roundCharts(report.history);
findingTable(document.getElementById("given-table"), "Findings", report.given);
findingTable(document.getElementById("seen-table"), "What the fit itself shows", report.seen);
document.documentElement.dataset.drawn = "yes";
