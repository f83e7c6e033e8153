"""All charts: valid Vega-Lite, units on axes, frames in tooltips, colours for every kind of colour vision."""

import re

import pytest

import tcptrace_http
from charts.specifications import layers, rows, tooltips
from charts.specifications import titles as axis_titles
from tcptrace_http.charts import CHARTS, window
from tcptrace_http.charts._theme import DIRECTION_COLOURS, GROUP_COLOURS
from tcptrace_http.cli.plot import CHART_NAMES
from tcptrace_http.errors import NothingToDraw

#: Title of a quantity's axis: its unit, or a share.
UNIT = re.compile(r"\((s|ms|bytes|Mb/s)\)|^bytes$|^share of transactions")
#: Okabe and Ito (2008), and greys.
COLOUR_BLIND_SAFE = {
    *("#000000", "#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7"),
    *("#555555", "#999999"),
}
SAMPLES = ["heidemann_1996_figure2.pcap", "objects_nginx_curl.pcap", "rtt20_hdrsep.pcap", "fmt_pcapng.pcapng"]
#: Tooltips of these layers need no frame: sums over transactions, a path of several, a shade's label.
WITHOUT_FRAMES = {("comparison", 0), ("waterfall", 1), ("waterfall", 2)}


@pytest.fixture(scope="module")
def samples(sample_traces):
    return {name: tcptrace_http.analyze(sample_traces / name, tables={"segments"}) for name in SAMPLES}


def drawn(analysis, chart):
    return analysis.plot.comparison(other=analysis) if chart == "comparison" else analysis.plot.chart(chart)


@pytest.mark.parametrize("chart", CHARTS)
@pytest.mark.parametrize("sample", SAMPLES)
def test_chart_is_valid_with_units_and_frames(samples, sample, chart):
    made = layers(drawn(samples[sample], chart))
    quantities = [title for layer in made for title in axis_titles(layer)]
    # A label or the other end of a rule shares the axis of the layer that names it.
    named = [title for title in quantities if title not in {"time", "start", "low", "sequence", "greatest"}]
    assert named
    assert [title for title in named if not UNIT.search(title)] == []
    for number, layer in enumerate(made):
        if (chart, number) not in WITHOUT_FRAMES:
            assert any("frame" in field for field in tooltips(layer)), layer["mark"]


@pytest.mark.parametrize("chart", CHARTS)
def test_colours_can_be_distinguished_by_everyone(samples, chart):
    shown = {
        colour
        for layer in layers(drawn(samples["objects_nginx_curl.pcap"], chart))
        for colour in layer["encoding"].get("color", {}).get("scale", {}).get("range", [])
    }
    assert shown <= COLOUR_BLIND_SAFE
    assert {*GROUP_COLOURS.values(), *DIRECTION_COLOURS.values()} <= COLOUR_BLIND_SAFE
    assert len(set(GROUP_COLOURS.values())) == len(GROUP_COLOURS)


@pytest.mark.parametrize("chart", CHARTS)
def test_every_chart_has_rows(samples, chart):
    assert all(rows(drawn(samples["heidemann_1996_figure2.pcap"], chart)))


def test_command_knows_every_chart():
    assert set(CHART_NAMES) == set(CHARTS)


@pytest.mark.parametrize("chart", ["time_sequence", "window", "rtt", "throughput"])
def test_flow_that_is_not_there_is_named(samples, chart):
    with pytest.raises(NothingToDraw, match="flow 77"):
        getattr(samples["fmt_pcapng.pcapng"].plot, chart)(flow=77)


def test_segments_of_one_direction_whose_flight_is_not_known_make_no_window_chart(samples):
    analysis = samples["fmt_pcapng.pcapng"]
    segments = analysis.segments.filter(flow=0, direction="server_to_client").with_columns(flight_bytes=None)
    with pytest.raises(NothingToDraw, match="neither"):
        window.draw(segments, flow=0)


def test_retrieval_that_is_not_there_is_named(samples):
    with pytest.raises(NothingToDraw, match="there is no retrieval 77"):
        samples["fmt_pcapng.pcapng"].plot.waterfall(retrieval=77)


def test_comparison_of_one_capture_is_none(samples):
    with pytest.raises(NothingToDraw, match="two to four"):
        samples["fmt_pcapng.pcapng"].plot.comparison()


@pytest.mark.parametrize(
    ("sample", "label"),
    [
        ("heidemann_1996_figure2.pcap", "short-initial-segment: 186 ms"),
        ("heidemann_1996_figure4.pcap", "odd-short-final-segment: 167 ms"),
    ],
)
def test_stalls_of_1996_are_shaded_and_labelled(sample_traces, sample, label):
    """Check Heidemann's Figures 1 and 3: one named stall takes most of the time."""
    analysis = tcptrace_http.analyze(sample_traces / sample, tables={"segments"})
    shades, _, marks, labels = rows(analysis.plot.time_sequence())
    stall = max(shades, key=lambda row: row["milliseconds"])
    assert (stall["group"], stall["cause"]) == ("stall", "stall.nagle_delayed_ack")
    end = max(row["end"] for row in shades)
    assert stall["end"] - stall["start"] > 0.8 * end
    (named,) = labels
    assert named["label"] == label
    assert stall["start"] < named["time"] < stall["end"]
    assert not [row for row in marks if stall["start"] < row["time"] < stall["end"] - 0.005]
