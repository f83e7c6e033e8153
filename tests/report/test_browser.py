"""Report and charts in a real browser: no errors, no fetches; sorting, filtering and tooltips work."""

import time

import pytest
from captures import ACK, MILLISECOND, PSH, REQUEST, START, Connection, pcap

import tcptrace_http
from report.browser import chromium, visit
from tcptrace_http.charts import CHARTS
from tcptrace_http.report import html

pytestmark = pytest.mark.slow

_STALL_EVERY = 7
_EXCHANGES = 100


def connection_with_stalls(number: int, exchanges: int) -> list:
    """Return a connection with every seventh response held until a delayed ACK."""
    client = (f"10.0.{number // 200}.{number % 200 + 1}", 1029 + number)
    connection = Connection(client=client, time=START + number * 50 * MILLISECOND)
    connection.open()
    for exchange in range(exchanges):
        if exchange % _STALL_EVERY != 3:
            request = b"GET /page%d HTTP/1.1\r\nHost: a.example\r\n\r\n" % exchange
            connection.exchange(request=request, body=b"%04d" % exchange * 1000)
            continue
        connection.from_client(REQUEST, PSH | ACK, after=MILLISECOND)
        connection.from_server(
            b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", PSH | ACK, after=2 * MILLISECOND
        )
        connection.from_client(after=150 * MILLISECOND)
        connection.from_server(b"x" * 1000, PSH | ACK, after=MILLISECOND)
        connection.from_client(after=20_000)
    connection.close()
    return connection.records


@pytest.fixture(scope="module")
def browser():
    with chromium() as driven:
        yield driven


@pytest.fixture(scope="module", params=[10, 10_000])
def report(request, tmp_path_factory):
    """Return a report of this many transactions: its path, and their number."""
    count = request.param
    connections = max(1, count // _EXCHANGES)
    of_each = [connection_with_stalls(number, min(count, _EXCHANGES)) for number in range(connections)]
    folder = tmp_path_factory.mktemp("report")
    capture = folder / "capture.pcap"
    capture.write_bytes(pcap(sorted(record for records in of_each for record in records)))
    path = folder / "report.html"
    path.write_text(html.page(tcptrace_http.analyze(capture, tables={"segments"})), encoding="utf-8")
    assert path.stat().st_size < 5_000_000
    return path, count


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1600])
def test_report_is_silent_and_fits(browser, report, scheme, width, capsys):
    path, count = report
    started = time.monotonic()
    visited = visit(browser, path, scheme=scheme, width=width)
    with capsys.disabled():
        print(f"\n{count:,} transactions, {width} px, {scheme}: open after {time.monotonic() - started:.2f} s")
    assert visited.complaints == []
    assert visited.requests == [path.as_uri()]
    # Wide charts and tables scroll; the page itself does not.
    assert visited.page.evaluate("document.documentElement.scrollWidth") <= width
    visited.page.close()


def cells(page, table: str, column: int) -> list[str]:
    place = f"[data-table={table}] tbody tr td:nth-child({column + 1})"
    return page.eval_on_selector_all(place, "all => all.map(each => each.textContent)")


def test_table_sorts_filters_and_shows_more(browser, report):
    path, count = report
    page = visit(browser, path).page
    assert len(cells(page, "transactions", 0)) == min(count, 200)
    page.click("[data-table=transactions] th:has-text('elapsed')")
    elapsed = [float(each) for each in cells(page, "transactions", 7)]
    assert elapsed == sorted(elapsed, reverse=True)
    assert elapsed[0] > 150
    page.click("[data-table=transactions] th:has-text('elapsed')")
    assert float(cells(page, "transactions", 7)[0]) < 10
    assert page.get_attribute("[data-table=transactions] th:has-text('elapsed')", "aria-sort") == "ascending"
    page.fill("#transactions input", "/page5")
    assert {each[:6] for each in cells(page, "transactions", 3)} == {"/page5"}
    page.fill("#transactions input", "flow=0 transaction=3")
    assert [cells(page, "transactions", column) for column in (0, 1, 3)] == [["0"], ["3"], ["/page"]]
    page.fill("#transactions input", "")
    if count > 200:
        page.click("#transactions [data-shown] button")
        assert len(cells(page, "transactions", 0)) == 400
    page.close()


def test_hover_shows_and_a_click_selects(browser, report):
    page = visit(browser, report[0]).page
    bar = page.locator("[data-chart=waterfall] .mark-rect path[aria-label*='stall.']").first
    bar.scroll_into_view_if_needed()
    box = bar.bounding_box()
    # Beside the critical path, which covers the bar's middle.
    at = (box["x"] + box["width"] / 2, box["y"] + 2)
    page.mouse.move(*at)
    shown = page.wait_for_selector("#vg-tooltip-element.visible").inner_text()
    assert "stall.nagle_delayed_ack" in shown
    assert "first frame" in shown
    page.mouse.click(*at)
    assert page.input_value("#transactions input").startswith("flow=0 transaction=")
    assert len(cells(page, "transactions", 0)) == 1
    assert cells(page, "findings", 0) == ["short-initial-segment"]
    page.close()


#: Marks of a chart, with hit points near their top: the critical path covers a bar's middle.
MARKS = ".mark-rect path, .mark-symbol path, .mark-rule line"
PLACES = """all => all.map(each => each.getBoundingClientRect())
    .map(box => [box.x + box.width / 2, box.y + Math.min(2, box.height / 2)])"""
#: Fields of a tooltip.
HOVERED = {
    "time-sequence": "first frame",
    "window": "frame",
    "rtt": "greatest: frame",
    "throughput": "first frame",
    "waterfall": "first frame",
    "waits": "first frame",
    "wait-distribution": "its first frame",
    "comparison": "transactions",
}


@pytest.mark.parametrize("chart", CHARTS)
def test_chart_is_silent_and_shows_when_hovered_over(browser, sample_traces, tmp_path, chart):
    from tcptrace_http.cli.main import run

    path = tmp_path / "chart.html"
    captures = [sample_traces / "bsd_phttp_orig.pcap", sample_traces / "objects_nginx_curl.pcap"]
    names = [str(each) for each in captures[: 2 if chart == "comparison" else 1]]
    assert run(["plot", "--quiet", chart, *names, "-o", str(path)]) == 0
    visited = visit(browser, path)
    assert visited.complaints == []
    assert visited.requests == [path.as_uri()]
    page = visited.page
    places = page.eval_on_selector_all(MARKS, PLACES)
    told = set()
    for x, y in places[:: max(1, len(places) // 50)]:
        page.mouse.move(x, y)
        told |= {tooltip.inner_text() for tooltip in page.query_selector_all("#vg-tooltip-element.visible")}
    assert any(HOVERED[chart] in text for text in told), told
    page.close()
