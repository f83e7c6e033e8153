"""Members of a page, from handmade rows: evidence, and lack of evidence."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import polars as pl
import pytest

from tcptrace_http.pages import Pages
from tcptrace_http.trace import native

START = datetime(2026, 1, 1, tzinfo=UTC)
HTML = {"content_type": "text/html; charset=utf-8"}


def at(ms: float) -> datetime:
    return START + timedelta(milliseconds=ms)


def rows_of(**tables: list[dict[str, Any]]) -> native.Rows:
    """Return the rows of these tables in the core's form; columns not given are null."""
    names = {name: {column for row in rows for column in row} for name, rows in tables.items()}
    return native.Rows.by_hand(
        {
            name: {column: [_plain(row.get(column)) for row in rows] for column in names[name]}
            for name, rows in tables.items()
        }
    )


def _plain(value: object) -> object:
    """Return times and durations in nanoseconds."""
    if isinstance(value, datetime):
        value -= datetime(1970, 1, 1, tzinfo=UTC)
    return value // timedelta(microseconds=1) * 1000 if isinstance(value, timedelta) else value


class Retrievals(NamedTuple):
    """Return the tables ``retrievals`` and ``retrieval_transactions``."""

    retrievals: pl.DataFrame
    transactions: pl.DataFrame


def retrievals(**tables: list[dict[str, Any]]) -> Retrievals:
    pages = Pages()
    pages.add(rows_of(**tables), ())
    return Retrievals(pages.table("retrievals"), pages.table("retrieval_transactions"))


def got(flow: int, index: int, target: str, begin: float, end: float, **more: Any) -> dict[str, Any]:
    """Return a transaction with a request at ``begin`` and its response complete at ``end``, in milliseconds."""
    times = {
        "request_time": at(begin),
        "response_first_time": at((begin + end) / 2),
        "response_last_time": at(end),
    }
    fixed = {"flow": flow, "index": index, "target": target, "method": "GET", "host": "h", "status": 200}
    return fixed | times | {"response_wire_bytes": 1000} | more


def pages(
    rows: list[dict[str, Any]],
    links: list[dict[str, Any]] = (),  # type: ignore[assignment]
    clients: tuple[str, ...] = (),
) -> Retrievals:
    flows = sorted({row["flow"] for row in rows})
    of_flows = [
        {
            "flow": flow,
            "client": clients[flow] if clients else "10.0.0.1",
            "server": "10.0.0.2",
            "server_port": 80,
            "has_syn": True,
            "initial_rtt": timedelta(milliseconds=10),
            "start": min(row["request_time"] for row in rows if row["flow"] == flow) - timedelta(milliseconds=10),
        }
        for flow in flows
    ]
    return retrievals(transactions=rows, flows=of_flows, links=list(links))


def grouping(found: Retrievals) -> list[list[str]]:
    """Return each retrieval's transactions as ``flow.number how``."""
    named = found.transactions.select(
        "retrieval", name=pl.format("{}.{} {}", "flow", "transaction", pl.col("how").cast(pl.String))
    )
    return named.group_by("retrieval", maintain_order=True).agg("name")["name"].to_list()


def link(flow: int, transaction: int, url: str, ms: float, base: str | None = None) -> dict[str, Any]:
    return {"flow": flow, "transaction": transaction, "frame": 1, "time": at(ms), "url": url, "base": base}


def test_a_referer_binds_an_object_to_its_page_while_another_page_runs():
    rows = [
        got(0, 0, "/a", 0, 100, **HTML),
        got(1, 0, "/b", 50, 120, **HTML),
        got(0, 1, "/1.png", 130, 200, referer="http://h/a#top"),
        got(1, 1, "/2.png", 130, 220, referer="http://H:80/b"),
    ]
    assert grouping(pages(rows)) == [["0.0 base", "0.1 referer"], ["1.0 base", "1.1 referer"]]


def test_objects_of_a_style_sheet_belong_to_the_page():
    rows = [
        got(0, 0, "/", 0, 100, **HTML),
        got(0, 1, "/s.css", 101, 150, referer="http://h/", content_type="text/css"),
        got(0, 2, "/bg.png", 151, 200, referer="http://h/s.css"),
    ]
    found = pages(rows)
    assert grouping(found) == [["0.0 base", "0.1 referer", "0.2 referer"]]
    assert found.transactions["initiator_transaction"].to_list() == [None, 0, 1]


def test_a_link_of_a_document_binds_and_says_when_it_was_known():
    rows = [got(0, 0, "/d/", 0, 100, **HTML), got(1, 0, "/d/x.png", 60, 300), got(2, 0, "/b/y.png", 60, 200)]
    links = [link(0, 0, "x.png", 55), link(0, 0, "y.png", 58, base="/b/"), link(0, 0, "later.png", 99)]
    found = pages(rows, links)
    assert grouping(found) == [["0.0 base", "1.0 link", "2.0 link"]]
    assert found.transactions["known"].to_list() == [None, at(55), at(58)]


def test_a_redirect_leads_from_the_base_to_the_document():
    rows = [
        got(0, 0, "/old", 0, 50, status=302, location="../new?x#y", **HTML),
        got(0, 1, "/new?x", 51, 100, **HTML),
        got(0, 2, "/i.png", 101, 150, referer="http://h/new?x"),
    ]
    found = pages(rows)
    assert grouping(found) == [["0.0 base", "0.1 redirect", "0.2 referer"]]
    assert found.retrievals["url"].to_list() == ["http://h/old"]


def test_without_other_evidence_a_second_of_silence_divides_pages():
    rows = [got(0, n, f"/{n}", begin, begin + 50) for n, begin in enumerate((0, 1049, 2100, 2200))]
    found = pages(rows)
    assert grouping(found) == [["0.0 base", "0.1 time"], ["0.2 base", "0.3 time"]]
    assert found.retrievals["how_grouped"].to_list() == ["time", "time"]
    assert found.retrievals["confidence"].to_list() == pytest.approx([0.8, 0.8])


def test_a_page_that_asks_for_its_own_document_again_is_another_one():
    rows = [got(0, n, target, n * 60, n * 60 + 50) for n, target in enumerate(("/", "/x", "/", "/x"))]
    assert grouping(pages(rows)) == [["0.0 base", "0.1 time"], ["0.2 base", "0.3 time"]]


def test_a_click_after_a_silence_begins_a_page_although_it_has_a_referer():
    rows = [
        got(0, 0, "/", 0, 100, **HTML),
        got(0, 1, "/next", 2000, 2100, referer="http://h/", **HTML),
        got(0, 2, "/frame", 2110, 2200, referer="http://h/next", **HTML),
        got(0, 3, "/late.json", 3900, 4000, referer="http://h/next"),
    ]
    assert grouping(pages(rows)) == [["0.0 base"], ["0.1 base", "0.2 referer", "0.3 referer"]]


def test_requests_five_seconds_after_a_page_are_outside_its_retrieval():
    rows = [got(0, 0, "/", 0, 100, **HTML), got(0, 1, "/poll", 5101, 5200, referer="http://h/")]
    assert grouping(pages(rows)) == [["0.0 base"], ["0.1 base"]]


def test_a_document_without_referer_begins_a_page_if_the_client_sends_referers():
    rows = [
        got(0, 0, "/a", 0, 100, **HTML),
        got(0, 1, "/a.png", 101, 200, referer="http://h/a"),
        got(1, 0, "/b", 150, 250, **HTML),
    ]
    assert grouping(pages(rows)) == [["0.0 base", "0.1 referer"], ["1.0 base"]]


def test_a_kept_style_sheet_of_an_earlier_page_gives_its_images_to_the_newer_page():
    rows = [
        got(0, 0, "/", 0, 100, **HTML),
        got(0, 1, "/s.css", 101, 150, referer="http://h/", content_type="text/css"),
        got(0, 2, "/next", 3000, 3100, referer="http://h/", **HTML),
        got(0, 3, "/bg.png", 3110, 3200, referer="http://h/s.css"),
    ]
    assert grouping(pages(rows)) == [["0.0 base", "0.1 referer"], ["0.2 base", "0.3 time"]]


def test_clients_do_not_share_pages():
    rows = [got(0, 0, "/", 0, 100, **HTML), got(1, 0, "/x.png", 110, 200, referer="http://h/")]
    assert grouping(pages(rows, clients=("10.0.0.1", "10.0.0.9"))) == [["0.0 base"], ["1.0 base"]]


def test_a_retrieval_lasts_from_the_handshake_to_the_last_byte_of_any_response():
    rows = [got(0, 0, "/", 0, 100, **HTML), got(1, 0, "/x", 90, 300), got(0, 1, "/y", 101, 200)]
    (page,) = pages(rows).retrievals.iter_rows(named=True)
    assert (page["start"], page["end"]) == (at(-10), at(300))
    assert page["elapsed"] == timedelta(milliseconds=310)
    assert (page["transactions"], page["flows"], page["bytes"]) == (3, 2, 3000)


def test_a_connection_kept_ready_before_the_page_is_no_part_of_it():
    spare = got(0, 0, "/", 0, 100, **HTML)
    flow = {
        "flow": 0,
        "client": "c",
        "server": "s",
        "server_port": 80,
        "has_syn": True,
        "initial_rtt": timedelta(milliseconds=10),
        "start": at(-1011),
    }
    found = retrievals(transactions=[spare], flows=[flow])
    assert found.retrievals["start"].to_list() == [at(0)]


def test_tunnels_and_responses_alone_belong_to_no_page():
    rows = [got(0, 0, "x:443", 0, 10, method="CONNECT"), got(1, 0, "/", 0, 10)]
    lost = {"flow": 2, "index": 0, "status": 200, "response_first_time": at(0), "response_last_time": at(5)}
    flows = [{"flow": n, "client": "c", "server": "s", "server_port": 80} for n in range(3)]
    found = retrievals(transactions=[*rows, lost], flows=flows)
    assert grouping(found) == [["1.0 base"]]


def test_no_transactions_make_no_retrievals():
    found = retrievals(transactions=[], flows=[])
    assert found.retrievals.is_empty()
    assert found.transactions.is_empty()


def sources(rows: list[dict[str, Any]]) -> native.Rows:
    """Return the rows that pages are made from, of one client."""
    flows = [{"flow": n, "client": "c", "server": "s", "server_port": 80} for n in {row["flow"] for row in rows}]
    return rows_of(transactions=rows, flows=flows)


def test_a_page_whose_transactions_come_in_two_batches_is_one():
    pages = Pages()
    pages.add(sources([got(0, 0, "/", 0, 100, **HTML)]), ())
    pages.add(sources([got(1, 0, "/x.png", 110, 200, referer="http://h/")]), ())
    assert pages.table("retrievals")["transactions"].to_list() == [2]
    assert pages.table("critical_path")["end"].to_list()[-1] == at(200)
    assert pages.complaint is None


def test_pages_that_would_take_too_much_are_left_out_all_together_and_that_is_reported():
    pages = Pages(bytes_max=400)
    for number in range(4):
        pages.add(sources([got(number, 0, "/", number * 2000, number * 2000 + 100, **HTML)]), ())
    assert pages.rows.count("retrievals") == 0
    assert pages.findings.is_empty()
    assert "no pages were made: the rows of 4 transactions" in str(pages.complaint)


def exchange(flow: int, index: int, begin: float, end: float) -> dict[str, Any]:
    """Return an exchange in TLS without keys."""
    hidden = dict.fromkeys(("target", "method", "host", "status"))
    return got(flow, index, "", begin, end, protocol="tls") | hidden


def test_exchanges_of_tls_without_keys_are_retrievals_by_time_alone():
    rows = [exchange(0, 0, 0, 100), exchange(0, 1, 900, 950), exchange(1, 0, 960, 990), exchange(0, 2, 2000, 2100)]
    found = pages(rows)
    assert grouping(found) == [["0.0 base", "0.1 time", "1.0 time"], ["0.2 base"]]
    assert found.retrievals["url"].to_list() == [None, None]
    assert found.retrievals["bytes"].to_list() == [3000, 1000]


def test_tls_exchanges_belong_to_no_page_of_cleartext_http():
    assert grouping(pages([exchange(0, 0, 0, 100), got(1, 0, "/", 50, 120, **HTML)])) == [["1.0 base"]]


def test_a_tls_handshake_is_no_silence_and_no_spare_connection():
    """Check a connection set up in 1.5 s, then idle for 1.2 s before its request."""
    times = {"has_syn": True, "initial_rtt": timedelta(milliseconds=500), "client": "c"}
    found = retrievals(
        transactions=[exchange(0, 0, 2000, 2100), exchange(1, 0, 4600, 4700), exchange(2, 0, 8000, 8100)],
        flows=[{"flow": flow, "start": at(begin), **times} for flow, begin in enumerate((0, 2600, 4700))],
        tls_handshakes=[{"flow": flow, "done_time": at(end)} for flow, end in enumerate((2000, 4600, 6800))],
    )
    assert grouping(found) == [["0.0 base", "1.0 time"], ["2.0 base"]]
    assert found.retrievals["start"].to_list() == [at(0), at(8000)]
