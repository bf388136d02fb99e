"""The HTML report in a real browser: it sorts, searches and zooms, and nothing in a model or policy becomes markup."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from scripts.models import cases
from tests.e2e.programs import CPU, constpolicy

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on PATH")
QUIET = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
ATTACK = "</script><img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of a real compile, with several candidates and a verification."""
    folder = tmp_path_factory.mktemp("report")
    (program,) = cases.write(folder, ["many_tables"])
    file = folder / "report.json"
    policy = folder / "some.yaml"
    policy.write_text("schema: 1\nname: some\nbudgets: {file_growth: 3MiB}\n")
    arguments = ("-o", folder / "out.vmfb", "--policy", policy, "--policy-report", file, "--policy-verify", *CPU)
    ended = constpolicy("compile", program, *arguments)
    assert ended.returncode == 0, ended.stderr.decode()
    return file


def opened(browser: Browser, report: Path, **options: object) -> Page:
    """The page of the report; whatever it asks the network for, or complains about, fails the test."""
    ended = constpolicy("report", "html", report)
    assert ended.returncode == 0, ended.stderr.decode()
    page = browser.new_page(**options)  # type: ignore[arg-type]  # what Playwright takes
    told: list[str] = []
    page.on("request", lambda request: told.append(request.url))
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.goto(report.with_suffix(".html").as_uri())
    assert told == [report.with_suffix(".html").as_uri()]
    return page


def column(page: Page, title: str) -> list[str]:
    return page.locator(f"section:has(#search) td[data-label='{title}']").all_inner_texts()


def test_the_candidates_are_sorted_by_a_click_or_a_key_on_a_heading(browser: Browser, report: Path) -> None:
    page = opened(browser, report)
    heading = page.locator("section:has(#search) th", has_text="candidate")
    assert heading.get_attribute("aria-sort") == "none"
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    ids = column(page, "candidate")
    assert ids == sorted(ids)
    assert len(ids) == len(json.loads(report.read_text())["candidates"])
    heading.locator("button").focus()
    page.keyboard.press("Enter")
    assert heading.get_attribute("aria-sort") == "descending"
    assert column(page, "candidate") == ids[::-1]


def test_the_search_and_the_choice_of_an_action_leave_the_candidates_that_match(browser: Browser, report: Path) -> None:
    page = opened(browser, report)
    candidates = json.loads(report.read_text())["candidates"]
    wanted = candidates[2]["id"]
    page.get_by_label("Search").fill(f"  {wanted[:10].upper()} ")
    assert column(page, "candidate") == [wanted]
    page.get_by_label("Search").fill("nothing like this")
    assert column(page, "candidate") == []
    page.get_by_label("Search").fill("")
    page.get_by_label("Action").select_option("evaluated")
    evaluated = sorted(c["id"] for c in candidates if c["outcome"] == "evaluated")
    assert 0 < len(evaluated) < len(candidates)
    assert sorted(column(page, "candidate")) == evaluated


def test_a_candidate_opens_to_show_all_that_is_known_of_it(browser: Browser, report: Path) -> None:
    page = opened(browser, report)
    candidate = max(json.loads(report.read_text())["candidates"], key=lambda c: c["result_bytes"])
    page.locator("summary", has_text=candidate["id"]).click()
    shown = page.locator("details[open]").inner_text()
    assert candidate["symbol"] in shown
    assert candidate["type"] in shown


@pytest.mark.parametrize("way", ["mouse", "keyboard"])
def test_the_treemap_shows_a_group_alone_and_goes_back_to_the_whole_file(
    browser: Browser, report: Path, way: str
) -> None:
    page = opened(browser, report)
    areas, back = page.locator(".map button"), page.get_by_role("button", name="Whole file")
    whole = areas.all_inner_texts()
    assert back.is_hidden()
    if way == "mouse":
        page.locator(".map .result").first.click()
    else:
        page.locator(".map .result").first.focus()
        page.keyboard.press("Space")
    assert set(areas.evaluate_all("all => all.map((one) => one.className)")) == {"result"}
    assert back.evaluate("button => button === document.activeElement")
    page.keyboard.press("Enter")
    assert areas.all_inner_texts() == whole


def test_the_areas_of_the_treemap_are_as_large_as_the_bytes(browser: Browser, report: Path) -> None:
    page = opened(browser, report)
    page.get_by_text("The same as a table").click()
    rows = page.locator("section:has(.map) tbody tr")
    assert rows.count() > 3
    total = page.locator(".map").evaluate("map => map.clientWidth * map.clientHeight")
    areas = page.locator(".map button").evaluate_all("all => all.map((one) => one.offsetWidth * one.offsetHeight)")
    assert sum(areas) == pytest.approx(total, rel=0.1)


def test_the_page_says_what_was_verified(browser: Browser, report: Path) -> None:
    page = opened(browser, report)
    assert "The numbers agree" in page.locator("section", has=page.locator("h2", has_text="Verification")).inner_text()


def test_a_phone_needs_no_scrolling_sideways(browser: Browser, report: Path) -> None:
    page = opened(browser, report, viewport={"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_dark_and_light_follow_the_reader(browser: Browser, report: Path) -> None:
    colours = {
        scheme: opened(browser, report, color_scheme=scheme).evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    }
    assert colours["light"] == "rgb(255, 255, 255)"
    assert colours["dark"] != colours["light"]


def test_nothing_in_a_model_or_policy_becomes_markup(browser: Browser, report: Path, tmp_path: Path) -> None:
    data = json.loads(report.read_text())
    data["input"] = data["policy"]["origin"] = data["policy"]["content"]["description"] = ATTACK
    data["warnings"] = data["flags"] = data["budgets"] = [ATTACK, "\u2028", "${ATTACK}", "$data"]
    for candidate in data["candidates"]:
        for key in ("symbol", "kind", "reason", "location", "decided_by"):
            candidate[key] = ATTACK
        candidate["functions"] = candidate["warnings"] = [ATTACK]
        for source in candidate["sources"]:
            source["name"] = ATTACK
    attacked = tmp_path / "attacked.json"
    attacked.write_text(json.dumps(data))
    page = opened(browser, attacked)
    page.locator("summary", has_text=data["candidates"][0]["id"]).click()
    assert page.title() != "owned"
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    assert "onerror" in page.locator("section:has(#search)").inner_text()


def test_a_report_with_ten_thousand_candidates_stays_quick_to_search(
    browser: Browser, report: Path, tmp_path: Path
) -> None:
    data = json.loads(report.read_text())
    one = data["candidates"][0]
    data["candidates"] = [{**one, "id": f"{number:012x}", "result_bytes": number} for number in range(10_000)]
    large = tmp_path / "large.json"
    large.write_text(json.dumps(data))
    page = opened(browser, large)
    assert len(column(page, "candidate")) == 200
    page.get_by_role("button", name="Show more (9800 left)").click()
    assert len(column(page, "candidate")) == 400
    page.get_by_label("Search").fill(f"{7654:012x}")
    assert column(page, "candidate") == [f"{7654:012x}"]


def test_a_difference_is_shown_with_the_largest_change_first(browser: Browser, report: Path, tmp_path: Path) -> None:
    data = json.loads(report.read_text())
    for candidate in data["candidates"][:2]:
        candidate["action"], candidate["growth_bytes"] = "initialize", 0
    after = tmp_path / "after.json"
    after.write_text(json.dumps(data))
    ended = constpolicy("diff", report, after, "--format", "html")
    assert ended.returncode == 0, ended.stderr.decode()
    file = tmp_path / "difference.html"
    file.write_bytes(ended.stdout)
    page = browser.new_page()
    page.goto(file.as_uri())
    assert page.locator("h1").inner_text() == "What changed"
    changed = page.locator("td[data-label='candidate']").all_inner_texts()
    actions = {c["id"]: c["action"] for c in json.loads(report.read_text())["candidates"]}
    assert sorted(changed) == sorted(c["id"] for c in data["candidates"] if actions[c["id"]] != c["action"])
