"""Charts of a difference: bars with exact sums, both sides of each transaction, points of divergence."""

import pytest
from captures import clean_exchange, pcap
from charts.specifications import layers, rows, subtitle, titles, tooltips
from charts.test_charts import COLOUR_BLIND_SAFE, UNIT

import tcptrace_http
from reference_sim import PAGES, retrieval
from tcptrace_http.difference.plots import CHARTS
from tcptrace_http.errors import NothingToDraw


@pytest.fixture(scope="module")
def difference(sample_traces):
    fixed = retrieval(strategy="p-http-both-fixes", page="heidemann", network="lan", client_stack="sunos-4.1.3")
    return tcptrace_http.diff(sample_traces / "bsd_phttp_orig.pcap", fixed)


@pytest.mark.parametrize("chart", CHARTS)
def test_chart_has_units_and_colours_that_everyone_can_show_apart(difference, chart):
    made = layers(difference.plot.chart(chart))
    named = [
        title for layer in made for title in titles(layer) if title not in {"low", "high", "time", "sequence"}
    ]
    assert named
    assert [title for title in named if not UNIT.search(title)] == []
    shown = {
        colour for layer in made for colour in layer["encoding"].get("color", {}).get("scale", {}).get("range", [])
    }
    assert shown
    assert shown <= COLOUR_BLIND_SAFE


def test_bars_of_causes_lead_from_the_left_time_to_the_right_one(difference):
    _, bars, labels = rows(difference.plot.causes())
    whole, *steps, last = bars
    assert (whole["high"], last["high"]) == (difference.left_ns / 1e6, difference.right_ns / 1e6)
    at = difference.left_ns
    for step in steps:
        assert {round(1e6 * step["low"]), round(1e6 * step["high"])} >= {at}
        at += round(1e6 * step["change"])
        assert round(1e6 * step["joint"]) == at
    assert at == difference.right_ns
    assert steps[0]["name"] == "stall.nagle_delayed_ack"
    assert steps[0]["change"] < 0
    assert [float(row["label"].removesuffix(" ms")) for row in labels] == pytest.approx(
        [whole["high"], *(step["change"] for step in steps), last["high"]], abs=0.05
    )


def test_axis_begins_near_causes_that_are_invisible_from_zero(difference, sample_traces):
    def axis(plots):
        return layers(plots.causes())[1]["encoding"]["x"]["scale"]["domain"]

    assert axis(difference.plot)[0] == 0
    path = sample_traces / "bsd_phttp_orig.pcap"
    near = tcptrace_http.diff(path, path, retrieval=(0, 1)).plot
    _, bars, _ = rows(near.causes())
    scale = layers(near.causes())[1]["encoding"]["x"]["scale"]
    assert scale["zero"] is False
    assert 0 < axis(near)[0] < min(row["low"] for row in bars[1:-1])
    assert "does not begin at zero" in subtitle(near.causes())
    assert axis(tcptrace_http.diff(path, path).plot)[0] == 0


def test_transactions_stand_beside_each_other_with_all_their_time(difference):
    spans, labels = rows(difference.plot.transactions())
    assert {(row["side"], row["name"].split()[0]) for row in labels} == {
        (side, f"{pair}") for side in ("left", "right") for pair in (0, 1, 2)
    }
    for side in ("left", "right"):
        elapsed = difference.transactions.filter(pair=0)[f"{side}_elapsed"].to_physical().item()
        mine = [row["milliseconds"] for row in spans if row["side"] == side and row["pair"] == 0]
        assert sum(mine) == pytest.approx(elapsed / 1e6)
    assert "first_frame" in tooltips(layers(difference.plot.transactions())[0])


def test_transaction_of_one_side_has_one_bar():
    whole = PAGES["heidemann"]
    choices = {"strategy": "http10-serial", "network": "wan", "client_stack": "reno"}
    part = whole.with_objects(whole.objects[:2])
    difference = tcptrace_http.diff(retrieval(page=whole, **choices), retrieval(page=part, **choices))
    _, labels = rows(difference.plot.transactions())
    (alone,) = [row for row in labels if "(only left)" in row["name"]]
    assert alone["side"] == "left"


def test_flows_diverge_at_their_frames(difference):
    drawn = difference.plot.sequence()
    marks = rows(drawn)[1]
    assert {row["kind"] for row in marks} == {"left", "right"}
    places = rows(drawn)[3]
    assert {(row["place"], row["frame"]) for row in places} == {
        (f"{number} {it.kind}", frame)
        for number, it in enumerate(difference.divergences, start=1)
        for frame in (it.left_frame, it.right_frame)
    }
    sent = {row["frame"] for row in marks}
    assert {row["frame"] for row in places} <= sent


def test_flows_that_do_not_part_ways_have_no_marks(sample_traces):
    path = sample_traces / "lan_hdrsep_small.pcap"
    assert len(layers(tcptrace_http.diff(path, path).plot.sequence())) == 2


def test_retrieval_is_drawn_that_is_asked_for(sample_traces):
    path = sample_traces / "bsd_phttp_orig.pcap"
    plots = tcptrace_http.diff(path, path).plot
    frames = [{row["first_frame"] for row in rows(plots.transactions(pair=pair))[0]} for pair in (0, 5)]
    assert max(frames[0]) < min(frames[1])
    with pytest.raises(NothingToDraw, match="no such retrieval"):
        plots.transactions(pair=77)


@pytest.mark.parametrize("chart", CHARTS)
def test_capture_without_http_has_nothing_to_draw(tmp_path, chart):
    path = tmp_path / "handshake.pcap"
    path.write_bytes(pcap(clean_exchange(1)[:3]))
    with pytest.raises(NothingToDraw):
        tcptrace_http.diff(path, path).plot.chart(chart)
