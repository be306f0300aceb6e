"""Reports opened in a real browser, from their files and without a network."""

import os
import re
import shutil
from dataclasses import dataclass, field, replace

import pandas as pd
import pytest

from mtlirt.report.render import render_report
from mtlirt.scores.leaderboard import leaderboard

pytestmark = pytest.mark.browser

FLAGS = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--no-first-run",
]
PHONE = {"width": 390, "height": 844}
SCREEN = {"width": 1280, "height": 900}


@dataclass
class Opened:
    """A page, what it asked for and what went wrong on it."""

    page: object
    requests: list = field(default_factory=list)
    errors: list = field(default_factory=list)

    def column(self, place, k):
        """The texts of a column of the table's page that is shown."""
        cells = self.page.locator(f"#{place} tbody tr > :nth-child({k})")
        return [text.strip() for text in cells.all_text_contents()]

    def head(self, place, title):
        return self.page.locator(f"#{place} thead th", has=self.page.get_by_text(title, exact=True))

    def sort(self, place, title):
        self.head(place, title).locator("button").click()
        return self.head(place, title).get_attribute("aria-sort")

    def overflow(self):
        """Pixels by which the page is wider than its window."""
        return self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")


@pytest.fixture(scope="module")
def browser():
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("Chromium is not installed")
    flags = [*FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with driver.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=program, args=flags)
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def large(make_fit, tmp_path_factory):
    """The report of 6,812 models on 14 domains, as a file, and its leaderboard."""
    fit = make_fit(6812, [f"domain {k}" for k in range(14)], items=200)
    out = tmp_path_factory.mktemp("report") / "large.html"
    out.write_text(render_report(fit), encoding="utf-8")
    return out, leaderboard(fit)


@pytest.fixture
def open_file(browser):
    contexts = []

    def open_(path, viewport=SCREEN, scheme="light"):
        context = browser.new_context(viewport=viewport, color_scheme=scheme, offline=True)
        contexts.append(context)
        opened = Opened(context.new_page())
        opened.page.on("request", lambda request: opened.requests.append(request.url))
        opened.page.on("pageerror", lambda error: opened.errors.append(str(error)))
        opened.page.on(
            "console", lambda message: opened.errors.append(f"{message.type}: {message.text}")
        )
        opened.page.goto(path.as_uri())
        opened.page.wait_for_selector("html[data-drawn]", state="attached")
        return opened

    yield open_
    for context in contexts:
        context.close()


@pytest.fixture
def open_report(open_file, tmp_path):
    def open_(fit, findings=None, **options):
        out = tmp_path / "report.html"
        out.write_text(render_report(fit, findings=findings), encoding="utf-8")
        return open_file(out, **options)

    return open_


def clean(opened):
    """Nothing went wrong, and nothing but the file was asked for."""
    assert opened.errors == []
    assert len(opened.requests) == 1
    assert opened.requests[0].startswith("file://")
    return True


@pytest.mark.parametrize(
    "estimator", ["marginal", "separate", "joint", "local", "global", "accuracy"]
)
def test_every_estimator_opens(make_fit, open_report, estimator):
    opened = open_report(make_fit(estimator=estimator))
    assert clean(opened)
    rows = opened.page.locator("#board-table tbody tr")
    assert rows.count() == 12
    assert opened.page.locator("#curves figure").count() == 3
    assert opened.page.locator("#rounds figure").count() == (0 if estimator == "accuracy" else 2)
    assert opened.page.locator("#item-map canvas").count() == (estimator != "accuracy")
    assert opened.page.locator("#correlation-map td").count() == (
        9 if estimator == "marginal" else 0
    )


@pytest.mark.parametrize(("models", "domains"), [(2, ["law"]), (3, [f"d{k}" for k in range(30)])])
def test_smallest_and_widest(make_fit, open_report, models, domains):
    opened = open_report(make_fit(models, domains), viewport=PHONE)
    assert clean(opened)
    assert opened.page.locator("#board-table tbody tr").count() == models
    assert opened.page.locator("#trait-map td").count() == models * len(domains)
    assert opened.overflow() <= 0


def test_components_stand_one_after_the_other(make_fit, open_report):
    fit = make_fit()
    apart = pd.array([1] * 6 + [2] * 5 + [None], "Int64")
    fit = replace(fit, models=fit.models.assign(component=apart))
    board = leaderboard(fit)
    opened = open_report(fit)
    assert clean(opened)
    assert opened.column("board-table", 1) == [*["1"] * 6, *["2"] * 5, "–"]
    assert opened.column("board-table", 2) == [*"123456", *"12345", "–"]
    assert opened.column("board-table", 3) == board.index.tolist()
    assert opened.sort("board-table", "component") == "descending"
    assert opened.column("board-table", 1) == [*["2"] * 5, *["1"] * 6, "–"]
    assert clean(opened)


def test_every_column_sorts_both_ways(make_fit, open_report):
    fit = make_fit(domains=("law", "reading"))
    opened = open_report(fit)
    page = opened.page
    buttons = page.locator("#board-table thead button")
    titles = [text.strip() for text in buttons.all_text_contents()]
    assert titles == [
        *("rank", "model", "overall", "95 % interval", "ranks", "tie group", "accuracy"),
        *("answered", "domains", "flags", "law", "reading"),
    ]
    board, models = leaderboard(fit), titles.index("model") + 1
    for title, column in (("overall", "overall"), ("law", "trait_law"), ("rank", "rank")):
        kept = board[board[column].notna()]
        rising = list(kept.sort_values(column, kind="stable").index)
        shown = {}
        for _ in range(2):
            direction = opened.sort("board-table", title)
            shown[direction] = opened.column("board-table", models)
        last = [model for model in board.index if model not in kept.index]
        assert shown == {"ascending": rising + last, "descending": rising[::-1] + last}
    for title in titles:
        assert {opened.sort("board-table", title) for _ in range(2)} == {"ascending", "descending"}
        assert page.locator("#board-table th[aria-sort]").count() == 1
    assert clean(opened)


def test_the_keyboard_sorts_and_steps_through_items(make_fit, open_report):
    opened = open_report(make_fit())
    page = opened.page
    page.get_by_label("Find a model").focus()
    for _ in range(3):  # the frame that scrolls, the button of the rank, that of the model
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert opened.head("board-table", "model").get_attribute("aria-sort") == "ascending"
    page.keyboard.press("Space")
    assert opened.head("board-table", "model").get_attribute("aria-sort") == "descending"
    assert opened.column("board-table", 2)[0] == "model-0011"
    canvas, told = page.locator("#item-map canvas"), page.locator("#item-map .told")
    canvas.focus()
    said = set()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
        said.add(told.text_content())
    assert len(said) == 5
    assert all("difficulty" in text for text in said)
    page.keyboard.press("Escape")
    assert told.text_content() == ""
    assert clean(opened)


def test_the_pointer_finds_items_of_the_chosen_domain(make_fit, open_report):
    opened = open_report(make_fit(items=100))
    page = opened.page
    page.locator("#item-map select").select_option(label="law")
    canvas, told = page.locator("#item-map canvas"), page.locator("#item-map .told")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    said = set()
    for step in range(40):
        page.mouse.move(box["x"] + box["width"] * step / 40, box["y"] + box["height"] * 0.6)
        said.add(told.text_content())
    assert len(said - {""}) >= 3
    assert all(re.match(r"q\d+law: difficulty", text) for text in said - {""})
    page.mouse.move(0, 0)
    assert told.text_content() == ""
    assert clean(opened)


def test_awkward_ids_are_text(make_fit, open_report):
    ids = [
        "</script><script>alert(1)</script>",
        "<img src=x onerror=alert(2)>",
        "a \"quoted\" 'id' &amp; more",
        "模型 🚀",
        "line\nbreak",
        "a\u202eevil",
        " padded ",
        "x" * 300,
    ]
    findings = pd.DataFrame(
        [["clone", "<b>law</b>", ids[1], 1.0, "<i>told</i>"]],
        columns=["kind", "domain", "id", "value", "told"],
    )
    fit = make_fit(ids, domains=("<b>law</b>", "__proto__"))
    for viewport in (SCREEN, PHONE):
        opened = open_report(fit, findings, viewport=viewport)
        shown = opened.page.locator("#board-table tbody bdi").all_text_contents()
        assert sorted(shown) == sorted([*ids[:4], "line\\nbreak", "a\\u202eevil", *ids[6:]])
        assert "<b>law</b>" in opened.page.locator("#given-table").text_content()
        assert opened.page.locator("img, b, i").count() == 0
        assert opened.overflow() <= 0
        assert clean(opened)
    box = opened.page.get_by_label("Find a model")
    for needle, count in (("🚀", 1), ("<IMG", 1), ("x" * 20, 1), ("no such", 0)):
        box.fill(needle)
        assert opened.page.locator("#board-table tbody bdi").count() == count
    assert "None matches." in opened.page.locator("#board-table tbody").text_content()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_large_leaderboard_is_sorted_searched_and_paged(large, open_file, scheme):
    out, board = large
    opened = open_file(out, scheme=scheme)
    page = opened.page
    assert opened.column("board-table", 2) == list(board.index[:50])
    assert opened.column("trait-map", 1) == list(board.index[:40])
    page.locator("#board-table").get_by_role("button", name="Next").click()
    assert opened.column("board-table", 2) == list(board.index[50:100])
    assert opened.column("trait-map", 1) == list(board.index[50:90])
    assert opened.sort("board-table", "domain 3") == "descending"
    falling = board["trait_domain 3"].sort_values(ascending=False, kind="stable").index[:50]
    assert opened.column("board-table", 2) == list(falling)
    page.get_by_label("Find a model").fill("model-12")
    assert "100 of 6,812 rows" in page.locator("#board-table .status").text_content()
    found = [model for model in falling if model.startswith("model-12")]
    assert opened.column("board-table", 2)[: len(found)] == found
    page.locator("#board-table").get_by_label("Rows a page").select_option("100")
    assert page.locator("#board-table tbody tr").count() == 100
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colour == {"light": "rgb(255, 255, 255)", "dark": "rgb(21, 24, 28)"}[scheme]
    assert opened.overflow() <= 0
    assert clean(opened)


@pytest.mark.slow
def test_a_very_large_leaderboard_stays_fluid(make_fit, open_report):
    opened = open_report(make_fit(20_000, [f"domain {k}" for k in range(14)], items=2000))
    page = opened.page
    seconds = "(performance.now() - begin) / 1000"
    sort = "document.querySelectorAll('#board-table thead button')[2].click()"
    spent = page.evaluate(f"() => {{ const begin = performance.now(); {sort}; return {seconds} }}")
    assert spent < 2.0
    page.get_by_label("Find a model").fill("model-19999")
    assert page.locator("#board-table tbody tr").count() == 1
    assert clean(opened)


def test_a_large_report_fits_a_phone_and_prints(large, open_file):
    opened = open_file(large[0], viewport=PHONE, scheme="dark")
    assert opened.overflow() <= 0
    assert opened.page.pdf().startswith(b"%PDF")
    opened.page.emulate_media(media="print")
    colour = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colour == "rgb(255, 255, 255)"
    assert clean(opened)
