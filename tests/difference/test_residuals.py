"""Analytic models beside measured retrievals: close where valid, absent elsewhere."""

import polars as pl
import pytest

import tcptrace_http
from difference.laws import nanoseconds
from reference_sim import Page, retrieval
from reference_sim.page import objects_of
from tcptrace_http.difference.side import side_of

#: A document of several flights with a modern initial window, and two images.
LONG_DOCUMENT = Page(name="long", objects=objects_of(30_000, 5000, 5000))


def residuals(**choices):
    """Return the left side: a modern stack without the stalls that the models omit."""
    side = side_of(retrieval(client_stack="linux-6", **choices)).analysis
    return tcptrace_http.diff(side, side).residuals.filter(pl.col("side") == "left")


@pytest.mark.parametrize(
    ("strategy", "page", "network", "model", "within"),
    [
        ("http10-serial", "eggert-map", "wan", "Heidemann 1997, HTTP", 0.01),
        ("http10-serial", "eggert-map", "satellite", "Heidemann 1997, HTTP", 0.01),
        ("http11", "one-large", "wan", "Heidemann 1997, P-HTTP", 0.01),
        ("http11", "one-large", "satellite", "Heidemann 1997, P-HTTP", 0.01),
        ("http11", LONG_DOCUMENT, "satellite", "Heidemann 1997, P-HTTP", 0.01),
        # The model sends everything at once; this client requests images after the document.
        ("http11-pipelined", LONG_DOCUMENT, "satellite", "Kruse 2001, pipelined", 0.25),
        ("http10-keep-alive-x4", "kruse-lerc", "satellite", "Kruse 2001, parallel", 0.05),
    ],
)
def test_model_is_near_the_time_of_its_kind_of_retrieval(strategy, page, network, model, within):
    rows = residuals(strategy=strategy, page=page, network=network).filter(pl.col("model") == model)
    (row,) = rows.with_columns(pl.col("elapsed", "predicted", "residual").to_physical()).iter_rows(named=True)
    assert row["fails"] is None
    assert row["residual"] == row["elapsed"] - row["predicted"]
    assert abs(row["residual"] / row["elapsed"]) < within


def test_model_of_heidemann_leaves_out_his_stalls(sample_traces):
    """Check a LAN, outside the models' validity: the unexplained time of the broken server is its two stalls."""
    path = sample_traces / "bsd_phttp_orig.pcap"
    difference = tcptrace_http.diff(path, path)
    rows = difference.residuals.filter(pl.col("side") == "left")
    assert set(rows["model"]) == {"Heidemann 1997, P-HTTP"}
    assert rows["fails"].str.starts_with("the round trip is short").all()
    stalls = nanoseconds(difference.causes.filter(cause="stall.nagle_delayed_ack")["left"])
    assert nanoseconds(rows["residual"]) == pytest.approx(stalls, rel=0.01)


def test_model_without_a_bottleneck_fails_at_a_full_bottleneck():
    rows = residuals(strategy="http11", page="one-large", network="wan").filter(model="Cardwell 2000")
    assert "bottleneck" in rows["fails"].item()


def test_no_model_is_applied_after_losses(sample_traces):
    scenario = retrieval(strategy="http11", page="one-large", network="wan-loss", client_stack="reno", seed=7)
    difference = tcptrace_http.diff(scenario, scenario)
    assert not difference.left.analysis.recoveries.is_empty()
    assert set(difference.residuals["model"]) == {"all"}
    assert "packets were lost" in difference.text()


def test_window_that_no_response_used_up_is_not_guessed():
    rows = residuals(strategy="http11", page="eggert-map", network="satellite")
    assert rows["fails"].str.contains("window").all()
    assert rows["predicted"].null_count() == rows.height
