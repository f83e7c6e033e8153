"""Detectors: one module per pathology, and the list of all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors import (
    capture_gap,
    competing_bundle,
    connection_per_request,
    cork_timeout,
    delayed_ack_first_segment,
    delta_eligible_repeat,
    duplicate_object,
    expect_continue_wait,
    h2_connection_churn,
    h2_connection_window,
    h2_send_buffer_inversion,
    h2_settings_wait,
    h2_stream_window,
    h2_tcp_head_of_line,
    h2_window_update_late,
    head_of_line_blocking,
    idle_timeout_race,
    initial_window,
    keep_alive_refused,
    local_acks,
    lost_pipelined_requests,
    mid_stream_start,
    nagle_delayed_ack,
    nagle_hold,
    no_pure_acks,
    odd_short_final_segment,
    one_sided_capture,
    parallel_connection_burst,
    queueing_delay,
    receive_window_limit,
    redirect_chain,
    refused_connection,
    reordering,
    repeated_slow_start,
    request_lull,
    reset_in_response,
    retransmission_timeout,
    segmentation_offload,
    short_initial_segment,
    slow_handshake_server,
    slow_server,
    slow_start_restart,
    small_send_buffer,
    split_request,
    spurious_retransmission,
    stretch_ack,
    syn_retransmission,
    tail_loss,
    tls_client_hello_split,
    tls_flight_exceeds_window,
    tls_handshake_nagle,
    tls_hello_retry,
    tls_no_resumption,
    tls_record_exceeds_window,
    tls_ticket_nagle,
    truncated_payload,
    truncated_response,
    unanswered_connection,
    unanswered_request,
    uncompressed_text,
    unconditional_repeat,
    undelivered_data,
    unfilled_segments,
    zero_window,
)
from tcptrace_http.detectors._capture import grouped
from tcptrace_http.detectors._detector import NEEDS, Detector, as_findings, detector
from tcptrace_http.detectors._inconclusive import inconclusive
from tcptrace_http.detectors._objects import OBJECTS
from tcptrace_http.detectors._software import SOFTWARE, with_software
from tcptrace_http.schema import TABLES, polars_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl

__all__ = [
    "DETECTORS",
    "NEEDS",
    "Detector",
    "Gathered",
    "findings_of_capture",
    "findings_of_flows",
    "findings_of_pages",
    "findings_over_flows",
    "grouped",
    "in_order",
    "inconclusive",
    "together",
]

DETECTORS: Final = {
    found.name: found
    for found in map(
        detector,
        (
            short_initial_segment,
            odd_short_final_segment,
            nagle_delayed_ack,
            nagle_hold,
            delayed_ack_first_segment,
            slow_start_restart,
            small_send_buffer,
            stretch_ack,
            cork_timeout,
            split_request,
            unfilled_segments,
            unconditional_repeat,
            duplicate_object,
            delta_eligible_repeat,
            uncompressed_text,
            redirect_chain,
            expect_continue_wait,
            # Detectors that compare several flows.
            connection_per_request,
            keep_alive_refused,
            parallel_connection_burst,
            competing_bundle,
            repeated_slow_start,
            tls_no_resumption,
            initial_window,
            idle_timeout_race,
            lost_pipelined_requests,
            refused_connection,
            unanswered_connection,
            reset_in_response,
            truncated_response,
            # Detectors of pages and their objects.
            request_lull,
            head_of_line_blocking,
            # Detectors of capture flaws.
            one_sided_capture,
            mid_stream_start,
            capture_gap,
            truncated_payload,
            segmentation_offload,
            no_pure_acks,
            local_acks,
            tail_loss,
            retransmission_timeout,
            spurious_retransmission,
            reordering,
            syn_retransmission,
            zero_window,
            unanswered_request,
            undelivered_data,
            receive_window_limit,
            queueing_delay,
            slow_server,
            # Detectors of TLS.
            tls_ticket_nagle,
            tls_handshake_nagle,
            tls_client_hello_split,
            tls_flight_exceeds_window,
            tls_hello_retry,
            slow_handshake_server,
            tls_record_exceeds_window,
            # Detectors of HTTP/2.
            h2_stream_window,
            h2_connection_window,
            h2_window_update_late,
            h2_tcp_head_of_line,
            h2_send_buffer_inversion,
            h2_settings_wait,
            h2_connection_churn,
        ),
    )
}

#: Rows that the capture-wide detectors gather. Two detectors may gather the same rows.
_GATHERS: Final = tuple(
    {
        it.name: it for it in (SOFTWARE, *(gather for each in DETECTORS.values() for gather in each.gathers))
    }.values()
)


#: Summary of a finding whose compared rows were cut by a limit.
_AT_LEAST: Final = "{} (at least: not all {} were compared)"


def findings_of_flows(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the findings of the detectors that judge each flow by itself.

    ``tables`` holds ``flows``, ``transactions``, ``flaws`` and the tables that the detectors read. A detector
    does not run if its tables are empty or no wait has one of its causes. The result has the columns of
    ``schema.TABLES["findings"]``.
    """
    chosen = (it for it in DETECTORS.values() if not (it.spans_flows or it.reads_pages or it.reads_flaws))
    return _findings(tables, chosen)


def findings_over_flows(gathered: Gathered) -> pl.DataFrame:
    """Return the findings of the detectors that compare flows; the rest is as in :func:`findings_of_flows`."""
    spanning = [each for each in DETECTORS.values() if each.spans_flows]
    cut = [it for it in spanning if gathered.cut.intersection(gather.name for gather in it.gathers)]
    return _at_least(_findings(gathered.tables, spanning), cut)


def _at_least(found: pl.DataFrame, cut: Sequence[Detector]) -> pl.DataFrame:
    """Return the findings, with "at least" in the summaries of the detectors in ``cut``."""
    import polars as pl

    if not cut:
        return found
    what = {it.name: "objects" if set(OBJECTS).intersection(it.reads) else "flows" for it in cut}
    told = pl.format(
        _AT_LEAST, "summary", pl.col("detector").replace_strict(what, default="flows", return_dtype=pl.String)
    )
    return found.with_columns(
        summary=pl.when(pl.col("detector").is_in(list(what))).then(told).otherwise("summary")
    )


def findings_of_pages(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the findings of the detectors that read page tables; the rest is as in :func:`findings_of_flows`."""
    return _findings(tables, (each for each in DETECTORS.values() if each.reads_pages))


class Gathered:
    """Rows kept from the parts of a capture for the capture-wide detectors.

    :attr:`Gather.merged` bounds the memory, so memory does not grow with the capture.
    """

    def __init__(self) -> None:
        self.tables: dict[str, pl.DataFrame] = {}
        #: Names of the gathered rows that a limit cut.
        self.cut: set[str] = set()

    def add(self, tables: Mapping[str, pl.DataFrame], cut: Iterable[str]) -> None:
        """Add the next part of the capture.

        ``tables`` is as in :func:`findings_of_flows`. ``cut`` names the tables whose rows the core cut at a limit.
        """
        import polars as pl

        self.cut.update(each.name for each in _GATHERS if each.table in cut)

        parts = pl.collect_all([each.rows(tables) for each in _GATHERS])
        for each, part in zip(_GATHERS, parts, strict=True):
            known = self.tables.get(each.name)
            rows = part if known is None else pl.concat([known, part])
            kept = each.merged(rows.lazy()).collect()
            if kept.height < rows.height and not each.adds_up:
                self.cut.add(each.name)
            self.tables[each.name] = kept


def findings_of_capture(flaws: pl.DataFrame, *, is_cut: bool) -> pl.DataFrame:
    """Return the findings about the capture itself: at most one row per detector.

    ``flaws`` is the table of that name or the result of :func:`grouped`. For a capture in parts, ``flaws``
    holds the groups of all parts. ``is_cut`` is true if the core cut rows of that table.
    """
    import polars as pl

    none = pl.DataFrame(schema=polars_schema(TABLES["transactions"]))
    chosen = [each for each in DETECTORS.values() if each.reads_flaws]
    return _at_least(_findings({"flaws": flaws, "transactions": none}, chosen), chosen if is_cut else ())


def _findings(tables: Mapping[str, pl.DataFrame], detectors: Iterable[Detector]) -> pl.DataFrame:
    import polars as pl

    has_rows = {name for name, frame in tables.items() if not frame.is_empty()}
    causes = set(tables["waits"]["cause"].unique()) if "waits" in has_rows else set()
    running = [
        each
        for each in detectors
        if has_rows.intersection(_judged(each)) and (not each.causes or causes.intersection(each.causes))
    ]
    frames = zip(running, pl.collect_all([each.find(tables) for each in running]), strict=True)
    # Most detectors find nothing. Empty results need no texts.
    found = [as_findings(each, frame, tables) for each, frame in frames if not frame.is_empty()]
    if not found:
        return pl.DataFrame(schema=polars_schema(TABLES["findings"]))
    return in_order(pl.collect_all(found))


def _judged(detector: Detector) -> Iterable[str]:
    """Return the tables whose rows may become findings of the detector.

    Every capture has waits. If a detector reads ``waits`` and another table, ``waits`` decides only whether
    the detector runs.
    """
    return [name for name in detector.reads if name != "waits"] or detector.reads


def together(found: Iterable[pl.DataFrame], gathered: Gathered | None) -> pl.DataFrame:
    """Return all findings of a capture in order, with the server software of the flows that they are about.

    ``gathered`` is None for a capture without candidates.
    """
    findings = in_order(found)
    return findings if gathered is None else with_software(findings, gathered.tables[SOFTWARE.name])


def in_order(found: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Return all findings, sorted by loss, largest first."""
    import polars as pl

    order = ["lost", "flow", "transaction", "first_frame", "detector"]
    descending = [True, False, False, False, False]
    return pl.concat(found).sort(order, descending=descending, nulls_last=True, maintain_order=True)
