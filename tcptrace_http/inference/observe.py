"""Reading of the inference input from an analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tcptrace_http.errors import ScenarioError
from tcptrace_http.inference.observed import Exchange, Observed, Visited
from tcptrace_http.inference.packets import Packet
from tcptrace_http.inference.part import first_packets, up_to

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from tcptrace_http.analysis import Analysis

__all__ = ["NEEDED_TABLES", "captured_packets", "observe", "physical", "visits_of_session"]

#: Tables with one row per packet that the analysis must have.
NEEDED_TABLES: Final = ("packets", "segments", "h2_windows")
#: Content types of a page's first document.
_DOCUMENT: Final = ("text/html", "application/xhtml")
#: Assumed version of encrypted exchanges other than HTTP/2.
_VERSION_IN_TLS: Final = "HTTP/1.1"


def observe(analysis: Analysis, *, retrieval: int | None = None, session: bool = False) -> Observed:
    """Return the retrieval with this number, by default the one with most transactions.

    With ``session``, the result covers all visits of its client to its server.

    :raises ScenarioError: the capture has no retrieval, or none with this number.
    """
    import polars as pl

    retrievals = analysis.retrievals
    if retrievals.is_empty():
        files = analysis.transfers.height
        told = (
            f"; it has {files} files by FTP: tcptrace-http infer -o FILE writes their scenario (infer_files in"
            " Python), and tcptrace-http simulate --scenario FILE gives their time with other settings"
            if files
            else ""
        )
        raise ScenarioError(f"no page was retrieved in this capture: no HTTP request with its response{told}")
    if retrieval is None:
        ranked = retrievals.sort("transactions", "retrieval", descending=[True, False])
        retrieval = int(ranked["retrieval"][0])
    chosen = retrievals.filter(pl.col("retrieval") == retrieval)
    if chosen.is_empty():
        raise ScenarioError(f"there are {retrievals.height} retrievals, and none has the number {retrieval}")
    pages = _pages(analysis, retrieval, session=session)
    visit_of = {part: number for number, page in enumerate(pages) for part in page}
    members = analysis.retrieval_transactions.filter(pl.col("retrieval").is_in(list(visit_of))).with_columns(
        visit=pl.col("retrieval").replace_strict(visit_of, return_dtype=pl.Int64)
    )
    server, port = (
        analysis.flows.filter(pl.col("flow") == chosen["flow"][0]).select("server", "server_port").row(0)
    )
    flows = analysis.flows.filter(
        pl.col("flow").is_in(members["flow"].unique().to_list()),
        pl.col("server") == server,
        pl.col("server_port") == port,
    )
    first = flows["start"].to_physical().min()
    origin = int(first) if isinstance(first, int) else 0
    answered = _answered(analysis, members, flows["flow"].to_list())
    captured = captured_packets(analysis, flows["flow"].to_list(), origin)
    modelled = first_packets(captured, min(answered["request_frame"].to_list()))
    last_frame = int(modelled["frame"][-1])
    is_whole = modelled.height == captured.height
    what = Observed(
        packets=tuple(Packet(*(*row, place)) for place, row in enumerate(modelled.iter_rows())),
        visits=tuple(_visits(answered if is_whole else _begun(answered, last_frame), members, origin)),
        flows={row["flow"]: row for row in physical(flows).to_dicts()},
        profiles=_profiles(analysis, flows),
        server_software=_software(analysis, flows["flow"].to_list()),
        handshakes=_of_flows(analysis.tls_handshakes, flows),
        h2_connections=_of_flows(analysis.h2_connections, flows),
        h2_windows=_h2_windows(analysis, flows, last_frame),
    )
    if is_whole:
        return what
    return up_to(what, last_frame, of_packets=captured.height, of_transactions=answered.height)


def _profiles(analysis: Analysis, flows: pl.DataFrame) -> dict[int, dict[str, Any]]:
    """Return the inferred profile of the server's data on each flow."""
    import polars as pl

    is_of_server = pl.col("direction").cast(pl.String) == "server_to_client"
    rows = analysis.profiles.filter(is_of_server).join(flows, on="flow", how="semi", maintain_order="left")
    return {row["flow"]: row for row in physical(rows).to_dicts()}


def _of_flows(table: pl.DataFrame, flows: pl.DataFrame) -> dict[int, dict[str, Any]]:
    rows = table.join(flows, on="flow", how="semi", maintain_order="left")
    return {row["flow"]: row for row in physical(rows).to_dicts()}


def _h2_windows(analysis: Analysis, flows: pl.DataFrame, last_frame: int) -> tuple[dict[str, Any], ...]:
    """Return the use and the updates of the response windows, up to this frame."""
    import polars as pl

    if analysis.h2_connections.is_empty():
        return ()
    is_of_server = pl.col("direction").cast(pl.String) == "server_to_client"
    rows = analysis.h2_windows.filter(is_of_server, pl.col("frame") <= last_frame)
    return tuple(physical(rows.join(flows, on="flow", how="semi", maintain_order="left")).to_dicts())


def _pages(analysis: Analysis, retrieval: int, *, session: bool) -> list[list[int]]:
    """Return the retrievals that form a page: the one with this number, or all of its client and server.

    Over a slow path a page has silences, and without a Referer nothing connects its parts. A part that begins
    with another content type than a document continues the page before it. Within a session, a repeated
    request begins another visit: a page requests each object once.
    """
    import polars as pl

    types = analysis.transactions.select("flow", pl.col("index").alias("transaction"), "content_type")
    rows = (
        analysis.retrievals.join(types, on=["flow", "transaction"], how="left")
        .join(analysis.flows.select("flow", "server", "server_port"), on="flow", how="left")
        .sort("retrieval")
        .select("retrieval", "client", "server", "server_port", "content_type")
        .rows()
    )
    of = {number: (client, (server, port)) for number, client, server, port, _ in rows}
    targets = _targets(analysis)
    pages: list[list[int]] = []
    requested: set[str] = set()
    for number, client, *server, kind in rows:
        if client != of[retrieval][0] or (session and tuple(server) != of[retrieval][1]):
            continue
        is_again = session and not requested.isdisjoint(targets[number])
        if not pages or kind is None or kind.startswith(_DOCUMENT) or is_again:
            pages.append([])
            requested = set()
        pages[-1].append(number)
        requested |= targets[number]
    return pages if session else [next(page for page in pages if retrieval in page)]


def visits_of_session(analysis: Analysis, retrieval: int) -> list[list[int]]:
    """Return the visits of this retrieval's client to its server, each as a list of retrievals."""
    return _pages(analysis, retrieval, session=True)


def _targets(analysis: Analysis) -> dict[int, set[str]]:
    """Return the requested targets of each retrieval."""
    import polars as pl

    named = analysis.transactions.select("flow", pl.col("index").alias("transaction"), "host", "target")
    rows = analysis.retrieval_transactions.join(named, on=["flow", "transaction"]).select(
        "retrieval", pl.concat_str("host", "target", separator=" ", ignore_nulls=True)
    )
    found: dict[int, set[str]] = {number: set() for number in analysis.retrievals["retrieval"]}
    for number, target in rows.rows():
        found[number].add(target)
    return found


def physical(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with times and durations as integer nanoseconds, and enumerations as text."""
    import polars as pl
    import polars.selectors as cs

    return frame.with_columns(cs.temporal().to_physical(), cs.by_dtype(pl.Enum).cast(pl.String))


def captured_packets(analysis: Analysis, flows: list[int], origin: int) -> pl.DataFrame:
    """Return the packets of these flows with the columns of :class:`Packet` except its place."""
    import polars as pl

    headers = analysis.packets.select("frame", "header_bytes", "source", "timestamp_value")
    return (
        analysis.segments.filter(pl.col("flow").is_in(flows))
        .join(headers, on="frame", how="left")
        .sort("frame")
        .select(
            "frame",
            pl.col("time").to_physical() - origin,
            "flow",
            pl.col("direction").cast(pl.String) == "server_to_client",
            "seq",
            pl.col("ack").fill_null(0),
            "payload_bytes",
            # IPv4 header without options, or IPv6 header without extension headers, before the TCP header.
            (
                pl.col("payload_bytes")
                + pl.col("header_bytes").fill_null(20).cast(pl.UInt32)
                + pl.when(pl.col("source").str.contains(":", literal=True)).then(40).otherwise(20)
            ).alias("ip_bytes"),
            "flags",
            "window_bytes",
            pl.col("is_retransmission"),
            "timestamp_value",
        )
    )


def _answered(analysis: Analysis, members: pl.DataFrame, flows: list[int]) -> pl.DataFrame:
    """Return the completely answered transactions in order.

    :raises ScenarioError: no transaction was answered.
    """
    import polars as pl

    # A model of a mostly uncaptured response would have no basis and unbounded size.
    response = pl.sum_horizontal("response_header_bytes", "response_body_bytes")
    is_captured = pl.col("missing_bytes") <= response / 2
    answered = members.join(
        analysis.transactions, left_on=["flow", "transaction"], right_on=["flow", "index"], suffix="_of"
    ).filter(pl.col("flow").is_in(flows), pl.col("response_first_time").is_not_null(), pl.col("complete"))
    if answered.is_empty():
        raise ScenarioError("no request of the retrieval was answered whole: nothing to infer from")
    answered = answered.filter(is_captured)
    if answered.is_empty():
        raise ScenarioError(
            "more than half of each response of the retrieval was not captured: nothing to infer from"
        )
    return answered.sort("visit", "start", "request_time", "flow", "transaction")


def _begun(answered: pl.DataFrame, last_frame: int) -> pl.DataFrame:
    """Return the transactions that began up to this frame, and the last of each of their visits."""
    import polars as pl

    of_visit = pl.int_range(pl.len()).over("visit")
    is_last = of_visit == of_visit.max().over("visit")
    is_asked = pl.col("request_frame") <= last_frame
    return answered.filter(is_asked.any().over("visit") & (is_asked | is_last))


def _visits(answered: pl.DataFrame, members: pl.DataFrame, origin: int) -> Iterator[Visited]:
    """Return the visits with at least one answered transaction."""
    import polars as pl

    spans = physical(members.group_by("visit").agg(pl.col("start").min(), pl.col("end").max()))
    span_of = {visit: (start - origin, end - origin) for visit, start, end in spans.rows()}
    for number, (_, page) in enumerate(physical(answered).group_by("visit", maintain_order=True)):
        rows = page.to_dicts()
        numbers = {(row["flow"], row["transaction"]): place for place, row in enumerate(rows)}
        start, end = span_of[rows[0]["visit"]]
        _note_concurrent(rows)
        exchanges = (_exchange(row, numbers, origin, number) for row in rows)
        yield Visited(start=start, end=end, exchanges=tuple(exchanges))


def _note_concurrent(rows: list[dict[str, Any]]) -> None:
    """Mark streams as pipelined if their request preceded the end of an earlier response."""
    open_until: dict[int, int] = {}
    for row in rows:
        until = open_until.get(row["flow"], 0)
        if row["stream"] is not None:
            row["pipelined"] = row["request_time"] < until
        open_until[row["flow"]] = max(until, row["response_last_time"])


def _exchange(row: dict[str, Any], numbers: dict[tuple[int, int], int], origin: int, visit: int) -> Exchange:
    initiator = (row["initiator_flow"], row["initiator_transaction"])
    return Exchange(
        visit=visit,
        flow=row["flow"],
        index=row["transaction"],
        target=row["target"] or "/",
        host=row["host"] or "",
        version=row["version"] or _VERSION_IN_TLS,
        status=row["status"] or 200,
        content_type=(row["content_type"] or "application/octet-stream").partition(";")[0].strip(),
        start=row["start"] - origin,
        request_time=row["request_time"] - origin,
        request_end=row["request_last_time"] - origin,
        response_start=row["response_first_time"] - origin,
        response_end=row["response_last_time"] - origin,
        request_bytes=(row["request_header_bytes"] or 0) + (row["request_body_bytes"] or 0),
        head_bytes=row["response_header_bytes"] or 0,
        body_bytes=row["response_body_bytes"] or 0,
        request_frame=row["request_frame"],
        request_last_frame=row["request_last_frame"],
        response_frame=row["response_first_frame"],
        response_last_frame=row["response_last_frame"],
        is_pipelined=bool(row["pipelined"]),
        stream=row["stream"],
        urgency=row["urgency"],
        wire_bytes=row["response_wire_bytes"] or 0,
        asks_to_close=bool(row["request_close"]),
        asks_to_keep=bool(row["request_keep_alive"]),
        server_closes=bool(row["response_close"]),
        is_opaque=row["protocol"] == "tls",
        initiator=numbers.get(initiator),
    )


def _software(analysis: Analysis, flows: list[int]) -> str:
    import polars as pl

    named = analysis.transactions.filter(pl.col("flow").is_in(flows))["server_software"].drop_nulls()
    return str(named[0]) if len(named) else ""
