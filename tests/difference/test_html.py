"""HTML report of a difference: its opening, its contents, and escaped text."""

import re
from dataclasses import replace

import pytest
from captures import ACK, MILLISECOND, PSH, Connection, clean_exchange, pcap, stalled_exchange
from report.test_html import held

import tcptrace_http
from reference_sim import retrieval
from tcptrace_http.difference.html.around import rows_around


@pytest.fixture(scope="module")
def fixed():
    return retrieval(strategy="p-http-both-fixes", page="heidemann", network="lan", client_stack="sunos-4.1.3")


@pytest.fixture(scope="module")
def difference(sample_traces, fixed):
    return tcptrace_http.diff(sample_traces / "bsd_phttp_orig.pcap", fixed)


@pytest.fixture(scope="module")
def page(difference):
    return difference.html()


def shown(page):
    """Return the text before the scripts, without tags."""
    return re.sub(r"<[^>]*>", " ", page.partition("<script>")[0].partition("<body>")[2])


def test_page_opens_with_how_much_longer_which_side_takes(page):
    assert "<h1>The left side takes 589.7 ms longer</h1>" in page
    assert "587.2 ms of the 589.7 ms are stall.nagle_delayed_ack (2 short-initial-segment, 1 odd-short" in page


def test_causes_sum_to_the_elapsed_times(page, difference):
    table = page.partition('id="causes"')[2].partition("</section>")[0]
    *rows, last = re.findall(r'<th scope="row">([^<]*)</th><td class="n">([^<]*)</td>', table)
    assert rows[0] == ("stall.nagle_delayed_ack", "587.2 ms")
    assert last == ("elapsed", "601.8 ms")


def test_tables_have_both_sides_whole(page, difference):
    charts, tables = held(page)
    assert set(charts) == {"causes", "transactions", "sequence"}
    assert len(tables["transactions"]["rows"]) == difference.transactions.height == 18
    aligned = [row[tables["transactions"]["columns"].index("aligned")] for row in tables["transactions"]["rows"]]
    assert sorted(set(aligned)) == ["only left", "renamed"]
    assert len(tables["retrievals"]["rows"]) == 6


def test_divergence_of_flows_is_shown_side_by_side(difference):
    first = difference.divergences[0]
    rows = rows_around(difference, first)
    (here,) = [row for row in rows if row.is_here]
    assert (here.left.frame, here.right.frame) == (first.left_frame, first.right_frame)
    assert "226 bytes, 1 to 227" in here.left.words
    assert "1,460 bytes" in here.right.words
    for side in ("left", "right"):
        frames = [getattr(row, side).frame for row in rows if getattr(row, side) is not None]
        assert frames == sorted(frames)
        # The same segments as in the table, without omissions.
        analysis = getattr(difference, side).analysis
        flow = difference.flows[side == "right"]
        own = analysis.segments.filter(flow=flow)["frame"].to_list()
        at = own.index(frames[0])
        assert own[at : at + len(frames)] == frames


def test_side_with_nothing_more_has_an_empty_half_from_there_on(difference):
    place = replace(difference.divergences[0], right_frame=None)
    rows = rows_around(difference, place)
    at = next(number for number, row in enumerate(rows) if row.is_here)
    assert rows[at].left.frame == place.left_frame
    assert all(row.right is None for row in rows[at:])
    # The last packet of that side precedes the divergence: the response's last segment.
    last = difference.right.analysis.transactions.filter(flow=difference.flows[1], index=place.right_transaction)
    assert rows[at - 1].right.frame == last["response_last_frame"].item()


def test_strategy_states_its_models_assumptions(sample_traces):
    page = tcptrace_http.diff(sample_traces / "bsd_phttp_orig.pcap", "p-http-nagle-fix").html()
    assert "Assumptions of the model" in page
    assert "path.queue" in page.partition('id="assumptions"')[2]
    assert "The inference from the left side takes" in page


def test_page_needs_nothing_from_elsewhere(page):
    before_vega = page.partition("<script>")[0]
    assert re.findall(r"(?:src|href)=\"?([^\" >]*)", before_vega) == ["data:,"]
    assert "@import" not in before_vega
    assert len(page.encode()) < 5_000_000


def test_capture_cannot_leave_its_text(tmp_path):
    attack = b"</script><script>alert(1)</script><img/src=x/onerror=alert(2)>"
    paths = []
    for name, stall in (("<b>left.pcap", 180 * MILLISECOND), ("<b>right.pcap", MILLISECOND)):
        connection = Connection()
        connection.open()
        request = b"GET /%s HTTP/1.1\r\nHost: %s\r\n\r\n" % (attack, attack)
        connection.from_client(request, PSH | ACK, MILLISECOND)
        head = b"HTTP/1.1 200 OK\r\nServer: %s\r\nContent-Length: 2\r\n\r\n" % attack
        connection.from_server(head, PSH | ACK, MILLISECOND)
        connection.from_client(after=stall)
        connection.from_server(b"ok", PSH | ACK, MILLISECOND)
        connection.close()
        path = tmp_path / name
        path.write_bytes(pcap(connection.records))
        paths.append(path)
    page = tcptrace_http.diff(*paths).html()
    assert "alert(1)" in page
    assert "<script>alert" not in page
    assert "<img" not in page.partition("<script>")[0]
    assert "<b>left" not in page
    assert "<b>right" not in page


@pytest.mark.parametrize("silent", ["left", "right", "both"])
def test_side_without_http_is_reported(tmp_path, silent):
    paths = []
    for side in ("left", "right"):
        records = clean_exchange(2)
        path = tmp_path / f"{side}.pcap"
        path.write_bytes(pcap(records[:3] if silent in {side, "both"} else records))
        paths.append(path)
    page = tcptrace_http.diff(*paths).html()
    assert "<h1>Nothing can be compared</h1>" in page
    for side in ("left", "right"):
        assert (f"{side}: there is no HTTP in it" in page) == (silent in {side, "both"})


def test_sides_that_are_the_same_differ_in_nothing(tmp_path):
    path = tmp_path / "same.pcap"
    path.write_bytes(pcap(stalled_exchange(180 * MILLISECOND)))
    page = tcptrace_http.diff(path, path).html()
    assert "<h1>Both sides take the same time</h1>" in page
    assert "No segment differs noticeably in content or time." in shown(page)


def test_notebook_shows_how_much_and_why(difference):
    shown = difference._repr_html_()
    assert shown.startswith("<h3>The left side takes 589.7 ms longer</h3>")
    assert '<th scope="row">stall.nagle_delayed_ack</th>' in shown
    assert "<script" not in shown
    assert len(repr(difference)) < 500
