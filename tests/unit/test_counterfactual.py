"""Duration of a transaction without each of its findings."""

import polars as pl

from tcptrace_http.counterfactual import with_counterfactual
from tcptrace_http.schema import TABLES, polars_schema

SLOW_START = "send_limited.slow_start"


def frame(table, *rows):
    declared = polars_schema(TABLES[table])
    return pl.DataFrame(list(rows), schema=declared, orient="row") if rows else pl.DataFrame(schema=declared)


def some(table, **columns):
    """Return one row of a table; columns not given are null, even if the schema says otherwise."""
    declared = polars_schema(TABLES[table])
    return pl.DataFrame([{name: columns.get(name) for name in declared}], schema=declared)


def finding(detector, lost, *, transaction=0, cause=SLOW_START):
    flow = None if transaction is None else 0
    return some("findings", detector=detector, flow=flow, transaction=transaction, lost=lost, cause=cause)


WAITS = pl.concat(
    [
        some("waits", flow=0, transaction=0, cause="network.propagation", start=0, end=100),
        some("waits", flow=0, transaction=0, cause=SLOW_START, start=100, end=300),
    ]
)
TRANSACTIONS = some("transactions", flow=0, index=0, start_time=0, end_time=300, response_last_time=290)


def judged(*findings):
    shown = with_counterfactual(pl.concat(findings), WAITS, TRANSACTIONS)
    physical = pl.col("lost", "elapsed_without", "shared").to_physical()
    return shown.select("detector", physical).rows()


def test_without_a_finding_the_transaction_is_shorter_by_the_lost_time():
    assert judged(finding("a", 120)) == [("a", 120, 180, 0)]


def test_no_transaction_loses_more_than_it_took():
    assert judged(finding("a", 1000)) == [("a", 300, 0, 0)]


def test_two_findings_that_have_room_in_the_waits_of_their_cause_share_nothing():
    assert judged(finding("a", 120), finding("b", 80)) == [("a", 120, 180, 0), ("b", 80, 220, 0)]


def test_time_claimed_by_two_findings_beyond_their_waits_is_saved_once():
    assert judged(finding("a", 150), finding("b", 130)) == [("a", 150, 150, 80), ("b", 130, 170, 80)]


def test_findings_of_different_causes_never_claim_the_same_time():
    other = finding("b", 100, cause="network.propagation")
    assert [row[3] for row in judged(finding("a", 200), other)] == [0, 0]


def test_a_finding_about_several_transactions_has_no_time_of_its_own():
    assert judged(finding("a", 5000, transaction=None)) == [("a", 5000, None, 0)]


def test_no_findings_stay_none():
    assert with_counterfactual(frame("findings"), WAITS, TRANSACTIONS).is_empty()
