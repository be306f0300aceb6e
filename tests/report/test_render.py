"""What a report says, read from its HTML."""

import base64
import re
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from html.parser import HTMLParser
from uuid import UUID

import numpy as np
import pandas as pd
import pytest

from mtlirt.errors import InputError
from mtlirt.report.findings import counts_of, finding_data
from mtlirt.report.render import render_report
from mtlirt.scores.leaderboard import leaderboard
from mtlirt.snapshots.history import Details, Summary

AWKWARD = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "a \"quoted\" 'id' & more",
    "模型 🚀",
    "line\nbreak\u2028\x00",
    "{{ 7 * 7 }}{% raw %}",
    " padded ",
]


class Elements(HTMLParser):
    """The elements of a page, with their attributes and the text that follows each."""

    def __init__(self, html):
        super().__init__()
        self.found, self.texts = [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        self.texts.append("")

    def handle_endtag(self, tag):
        self.handle_starttag(f"/{tag}", ())

    def handle_data(self, data):
        if self.texts:
            self.texts[-1] += data

    def within(self, tag):
        """The texts of all elements of a kind."""
        return [
            text for (found, _), text in zip(self.found, self.texts, strict=True) if found == tag
        ]


def details(**changes):
    summary = Summary(
        version=3,
        created=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        models=12,
        items=24,
        domains=3,
        estimator="marginal",
        rank=1,
        rounds=6,
        converged=True,
        log_likelihood=-1.0,
        responses="/home/someone/private/<store>@7",
        bytes=1,
    )
    summary = replace(summary, **changes)
    return Details(summary, None, UUID(int=5), {}, {}, {"mtlirt": "0.1.0"}, 1.0, ())


def test_ids_cannot_leave_their_place(make_fit, data_of):
    fit = make_fit(AWKWARD, domains=("<b>law</b>", "</style>"), items=4)
    findings = pd.DataFrame([["</script>", "<i>", "</script>", 1.0, "<script>alert(2)</script>"]])
    findings.columns = ["kind", "domain", "id", "value", "told"]
    html = render_report(fit, details=details(), findings=findings)
    page = Elements(html)
    tags = [tag for tag, _ in page.found]
    assert (tags.count("script"), tags.count("style")) == (2, 1)
    assert not {"b", "i"} & set(tags)
    data = data_of(html)
    assert sorted(data["board"]["model"]) == sorted(AWKWARD)
    assert data["domains"]["name"] == ["<b>law</b>", "</style>"]
    assert data["given"]["told"]["names"] == ["<script>alert(2)</script>"]
    assert "{{ 7 * 7 }}" in html


def test_nothing_is_fetched_and_the_policy_allows_the_scripts_of_the_page_alone(make_fit):
    page = Elements(render_report(make_fit()))
    for tag, attributes in page.found:
        assert tag not in {"link", "img", "iframe", "object", "base"}
        for name in ("src", "href", "action"):
            assert attributes.get(name, "#").startswith("#")
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
    (policy,) = [a["content"] for _, a in page.found if "Content-Security-Policy" in a.values()]
    assert policy.startswith("default-src 'none';")
    for text in (page.within("script")[1], page.within("style")[0]):
        digest = base64.b64encode(sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|url\(|@import", text)


def test_equal_fits_give_equal_bytes(make_fit):
    one, other, another = (
        render_report(make_fit(seed=seed), details=details()) for seed in (1, 1, 2)
    )
    assert one == other
    assert one != another


@pytest.mark.parametrize("domains", [("law",), ("algebra", "law", "reading")])
@pytest.mark.parametrize("models", [2, 12])
@pytest.mark.parametrize(
    "estimator", ["marginal", "separate", "joint", "local", "global", "accuracy"]
)
def test_every_estimator_has_its_report(make_fit, data_of, estimator, models, domains):
    fit = make_fit(models, domains, estimator=estimator)
    html = render_report(fit)
    data, posterior = data_of(html), estimator in ("marginal", "separate")
    board = leaderboard(fit)
    assert data["board"]["model"] == list(board.index)
    known = board["overall"].notna().to_numpy()
    assert np.array([value is not None for value in data["board"]["score"]]).tolist() == list(known)
    assert np.allclose(
        np.array(data["board"]["score"], dtype=float)[known], board["overall"][known], atol=5.1e-4
    )
    assert (data["board"]["lower"] is not None) == posterior
    assert (data["board"]["accuracy"] is not None) == posterior
    assert ("gives no standard deviations" in html) != posterior
    tied = estimator == "marginal" and len(domains) > 1
    assert (data["correlations"] is not None) == tied
    assert (data["items"] is None) == (estimator == "accuracy")
    assert (data["curves"]["information"] is None) == (estimator == "accuracy")
    assert (data["history"] is None) == (estimator == "accuracy")
    if estimator == "separate":
        told = "one domain only" if len(domains) == 1 else "fitted apart from each other"
        assert told in html.lower()


def test_the_head_tells_what_was_fitted(make_fit):
    fit = make_fit()
    html = render_report(fit, details=details())
    for said in (
        "12 (1 without a score)",
        "24 (3 constant)",
        "2026-01-02 03:04:05 UTC",
        "mtlirt 0.1.0",
        "&lt;store&gt;@7",
    ):
        assert said in html
    assert "private" not in html
    assert "did not converge" not in html
    worse = replace(fit, info=dict(fit.info) | {"converged": False, "settled": False})
    html = render_report(worse)
    assert "did not converge" in html
    assert "did not settle" in html
    assert "Published" not in html


def test_borrowed_traits_and_flags_are_marked(make_fit, data_of):
    fit = make_fit()
    flagged = fit.models.assign(disconnected=fit.models.index == "model-0003")
    data = data_of(render_report(replace(fit, models=flagged)))
    board = data["board"]
    assert [board["model"][row] for row in board["borrowed"][0]] == ["model-0010"]
    assert board["borrowed"][1:] == [[], []]
    (row,) = board["flags"]["disconnected"]
    assert board["model"][row] == "model-0003"
    assert board["model"][-1] == "model-0011"
    assert (board["rank"][-1], board["score"][-1], board["tie_group"][-1]) == (None, None, None)


def test_components_are_told_and_kept_apart(make_fit, data_of):
    fit = make_fit()
    html = render_report(fit)
    assert data_of(html)["board"]["component"] is None
    assert "components of models" not in html
    apart = pd.array([1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, None], "Int64")
    html = render_report(replace(fit, models=fit.models.assign(component=apart)))
    board = data_of(html)["board"]
    assert board["component"] == [1] * 6 + [2] * 5 + [None]
    assert board["rank"] == [*range(1, 7), *range(1, 6), None]
    assert "There are 2 components of models that share no item" in html


def test_what_the_fit_itself_shows(make_fit, data_of):
    fit = make_fit()
    law = fit.domains.index == "law"
    marked = fit.domains.assign(flat=law, pooling=np.where(law, "own", "joint"), weak=law)
    html = render_report(replace(fit, domains=marked))
    seen = data_of(html)["seen"]
    kinds = [seen["kind"]["names"][code] for code in seen["kind"]["codes"]]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "negative slope": 3,
        "constant item": 3,
        "item at limit": 3,
        "borrowed traits": 1,
        "own pooling": 1,
        "flat domain": 1,
        "weak domain": 1,
        "model without score": 1,
    }
    assert seen["value"][kinds.index("borrowed traits")] == 1
    assert seen["id"][kinds.index("model without score")] == "model-0011"
    assert "negative slope: 3" in html


def test_findings_of_the_caller_are_shown_and_checked(make_fit, data_of):
    columns = ["kind", "domain", "id", "value", "told"]
    rows = [
        ["clone", None, "m1", 0.123456, "as m2"],
        ["clone", "law", "m2", float("nan"), None],
        ["drift", "law", "q1", "up", "since 3"],
    ]
    findings = pd.DataFrame(rows, columns=columns)
    html = render_report(make_fit(), findings=findings)
    given = data_of(html)["given"]
    assert given["value"] == [0.1235, None, "up"]
    assert given["domain"]["names"] == ["", "law"]
    assert "clone: 2" in html
    assert data_of(render_report(make_fit()))["given"] is None
    empty = render_report(make_fit(), findings=findings.iloc[:0])
    assert "Nothing to report." in empty
    with pytest.raises(InputError, match="lacks the columns id, told"):
        render_report(make_fit(), findings=findings.drop(columns=["id", "told"]))
    with pytest.raises(InputError, match="expected a table, not list"):
        render_report(make_fit(), findings=rows)


def test_long_lists_of_findings_are_cut_and_said_to_be():
    columns = ["kind", "domain", "id", "value", "told"]
    findings = pd.DataFrame([["k", "d", str(k), k, ""] for k in range(9)], columns=columns)
    assert finding_data(findings, listed=4)["id"] == ["0", "1", "2", "3"]
    (count,) = counts_of(findings, listed=4)
    assert (count.count, count.listed) == (9, 4)
