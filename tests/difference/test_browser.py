"""Difference report in a real browser: no errors, no fetches, no overflow, and cooperating parts."""

import pytest
from report.browser import chromium, visit

import tcptrace_http
from reference_sim import retrieval

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser():
    with chromium() as driven:
        yield driven


@pytest.fixture(scope="module")
def report(sample_traces, tmp_path_factory):
    """Return six measured retrievals and one modelled retrieval."""
    fixed = retrieval(strategy="p-http-both-fixes", page="heidemann", network="lan", client_stack="sunos-4.1.3")
    path = tmp_path_factory.mktemp("report") / "report.html"
    difference = tcptrace_http.diff(sample_traces / "bsd_phttp_orig.pcap", fixed)
    path.write_text(difference.html(), encoding="utf-8")
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1600])
def test_report_is_silent_and_fits(browser, report, scheme, width):
    visited = visit(browser, report, scheme=scheme, width=width)
    assert visited.complaints == []
    assert visited.requests == [report.as_uri()]
    assert visited.page.evaluate("document.documentElement.scrollWidth") <= width
    room = visited.page.evaluate("document.querySelector('main').clientWidth")
    drawn = visited.page.eval_on_selector_all("[data-chart] svg", "all => all.map(each => each.clientWidth)")
    assert len(drawn) == 3
    assert min(drawn) > 0.9 * room
    visited.page.close()


def test_both_sides_are_distinguished_and_joined(browser, report):
    page = visit(browser, report).page
    # Bars in proportion to the times of both sides.
    widths = page.eval_on_selector_all(".share", "all => all.map(each => each.clientWidth)")
    assert widths[1] / widths[0] == pytest.approx(12.2 / 601.8, abs=0.01)
    here = page.query_selector("tr.here")
    assert "226 bytes" in here.inner_text()
    assert "1,460 bytes" in here.inner_text()
    page.close()


def test_click_on_a_transaction_selects_its_pair(browser, report):
    page = visit(browser, report).page
    bar = page.locator("[data-chart=transactions] .mark-rect path[aria-label*='stall.']").first
    bar.scroll_into_view_if_needed()
    box = bar.bounding_box()
    at = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.move(*at)
    told = page.wait_for_selector("#vg-tooltip-element.visible").inner_text()
    assert "stall.nagle_delayed_ack" in told
    assert "first frame" in told
    page.mouse.click(*at)
    assert page.input_value("#transactions input").startswith("pair=")
    assert len(page.query_selector_all("[data-table=transactions] tbody tr")) == 1
    page.fill("#transactions input", "only left")
    assert len(page.query_selector_all("[data-table=transactions] tbody tr")) == 15
    page.close()
