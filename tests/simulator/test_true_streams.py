"""True waits of streams: each nanosecond once, in agreement with the analysis of the capture."""

from collections import Counter
from dataclasses import replace

import pytest

from reference_sim.http2 import FIRST_WINDOW, Http2, WriteOrder
from reference_sim.scenario import Record
from reference_sim.simulation import simulate
from reference_sim.true_waits import true_transactions
from reference_sim.workloads import tap_at
from tests.inference.stream_scenarios import random_streams
from tests.simulator.comparison import compared
from tests.simulator.runs import run_of
from tests.simulator.test_http2 import QUIET, by_streams, distant, page

ENDS = ("client", "server")
LARGE = (20_000, 150_000, 90_000, 120_000)
WIDE = 1 << 24
CHOICES = {
    "sequential": Http2(stream_window=WIDE, connection_window=WIDE),
    "in turn": Http2(stream_window=WIDE, connection_window=WIDE, order=WriteOrder.ROUND_ROBIN),
    "narrow streams": Http2(stream_window=20_000, connection_window=WIDE),
    "a narrow connection": Http2(stream_window=WIDE, connection_window=FIRST_WINDOW),
    "late requests": Http2(stream_window=WIDE, connection_window=WIDE, waits_for_settings=True),
}
#: Required share of time with the true cause. A congestion window and a slightly larger send buffer look
#: alike. In random scenarios, an unready response and a response queued after others look alike, too.
SHARE = 0.94
SHARE_OF_RANDOM = 0.85
EVERYDAY = range(4)
THOROUGH = range(2000, 2040)


def scenario(name):
    # The order of frames in a buffer is fixed.
    stack = replace(QUIET, send_buffer=1 << 16) if name == "in turn" else QUIET
    made = distant(by_streams(CHOICES[name], page=page(LARGE), server_stack=stack))
    return replace(made, taps=tuple(tap_at(made.network, end) for end in ENDS))


def share_of(scenarios, at):
    """Return the share of agreement between truth and analysis, and whether their transactions are equal."""
    total = Counter()
    for made in scenarios:
        found = compared(run_of(made, at=at))
        assert not [what for what in found.unequal.values() if "is not in the analysis" in what]
        total += Counter(found.confusion)
    return sum(time for (true, told), time in total.items() if true == told) / sum(total.values())


def random_ones(seeds):
    """Return the cleartext scenarios: otherwise no analysis sees the streams."""
    cases = [case for case in map(random_streams, seeds) if case.strategy == "http2"]
    return [replace(case.scenario, record=Record.everything()) for case in cases]


def causes(name, at="client"):
    simulation = simulate(scenario(name))
    found = Counter()
    for true in true_transactions(vars(simulation.truth), scenario(name).document(), at=at):
        for wait in true.waits:
            found[wait.cause] += wait.end - wait.start
    return found


@pytest.mark.parametrize("at", ENDS)
@pytest.mark.parametrize("name", CHOICES)
def test_waits_of_a_stream_are_each_nanosecond_of_it_once(name, at):
    simulation = simulate(scenario(name))
    found = list(true_transactions(vars(simulation.truth), scenario(name).document(), at=at))
    assert len(found) == len(LARGE)
    for true in found:
        ends = [true.times.start, *(wait.end for wait in true.waits)]
        assert [wait.start for wait in true.waits] == ends[:-1]
        assert ends[-1] == true.times.end


@pytest.mark.parametrize("at", ENDS)
@pytest.mark.parametrize("name", CHOICES)
def test_the_analysis_has_the_true_causes(name, at):
    assert share_of([scenario(name)], at) >= SHARE


def test_a_window_is_the_cause_of_its_blocked_frames_and_other_streams_of_queued_frames():
    assert causes("narrow streams")["send_limited.h2_stream_window"] > 500_000_000
    assert causes("a narrow connection")["send_limited.h2_connection_window"] > 200_000_000
    assert causes("in turn")["send_limited.multiplexed_behind"] > 50_000_000
    assert not [cause for cause in causes("sequential") if cause.endswith("_window") and "h2" in cause]
    assert causes("late requests")["setup.h2_settings"] == pytest.approx(100_000_000, rel=0.05)


@pytest.mark.parametrize("at", ENDS)
def test_the_analysis_has_the_true_causes_of_random_streams(at):
    assert share_of(random_ones(EVERYDAY), at) >= SHARE_OF_RANDOM


@pytest.mark.slow
@pytest.mark.parametrize("at", ENDS)
def test_the_analysis_has_the_true_causes_of_many_random_streams(at):
    assert share_of(random_ones(THOROUGH), at) >= SHARE_OF_RANDOM
