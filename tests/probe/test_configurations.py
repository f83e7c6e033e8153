"""Real servers on loopback with good and bad configurations: the probe always distinguishes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tcptrace_http import analyze
from tcptrace_http.probe.recording import Recording

from .configurations import CONFIGURATIONS, Configuration
from .servers import LARGE

if TYPE_CHECKING:
    from .conftest import Probed

#: Number of probes per server: random delays of a busy machine must never appear as the server's habit.
RUNS = 20
EVERY_DAY = (
    ("nginx as it comes", ()),
    ("nginx without keep-alive", ("--no-capture",)),
    ("Apache as it comes", ("--no-capture",)),
    ("lighttpd as it comes", ("--no-capture",)),
    ("pieces of 4 kB, with Nagle", ()),
    ("pieces of 4 kB, with Nagle", ("--no-capture",)),
)
BOTH_WAYS = pytest.mark.parametrize("ways", [(), ("--no-capture",)], ids=["packets", "sockets"])


def named(name: str) -> Configuration:
    return next(each for each in CONFIGURATIONS if each.name == name)


def assert_told(configuration: Configuration, probed: Probed) -> None:
    told = f"{configuration.name}: {probed.error} {probed.report}"
    if configuration.is_good:
        assert probed.code == 0, told
        assert not probed.failing, told
        return
    assert probed.code == 1, told
    assert probed.failing, told
    assert probed.failing <= set(configuration.pathologies), told
    assert configuration.setting in probed.settings, told


@pytest.mark.parametrize(("name", "ways"), EVERY_DAY)
def test_common_configuration_is_reported(tmp_path, probed, name, ways):
    configuration = named(name)
    with configuration.start(tmp_path, **configuration.options) as url:
        assert_told(configuration, probed(url + LARGE, *ways))


@pytest.mark.slow
@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=lambda each: each.name)
def test_every_configuration_is_reported_every_time(tmp_path, tmp_path_factory, probed, configuration):
    captures = tmp_path_factory.mktemp("captures")
    for number in range(RUNS):
        save = captures / f"{number}.pcap"
        with configuration.start(tmp_path, **configuration.options) as url:
            assert_told(configuration, probed(url + LARGE, "--save", save))
        # pytest keeps a wrongly judged capture.
        save.unlink()


@pytest.mark.slow
@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=lambda each: each.name)
def test_every_configuration_is_reported_without_packets(tmp_path, probed, configuration):
    with configuration.start(tmp_path, **configuration.options) as url:
        assert_told(configuration, probed(url + LARGE, "--no-capture"))


def test_at_least_twelve_configurations_good_and_bad_of_four_servers():
    assert len(CONFIGURATIONS) >= 12
    assert len({each.start for each in CONFIGURATIONS}) == 4
    assert {each.is_good for each in CONFIGURATIONS} == {True, False}


def test_keep_alive_and_delayed_acks_are_shown_to_have_been_in_play(tmp_path, probed):
    configuration = named("nginx as it comes")
    with configuration.start(tmp_path, **configuration.options) as url:
        for ways in ((), ("--no-capture",)):
            shown = probed(url + LARGE, *ways)
            controls = {
                each["name"]: each["status"] for each in shown.report["outcomes"] if each["subject"] == "control"
            }
            assert controls == dict.fromkeys(
                ("all was asked", "the document was there", "connections were reused", "ACKs were delayed"),
                "passed",
            )


@BOTH_WAYS
def test_body_that_waits_for_a_100_in_vain_is_reported(tmp_path, probed, ways):
    configuration = named("in one write, with Nagle")
    with configuration.start(tmp_path, **configuration.options, ignores_expect=1) as url:
        shown = probed(url + LARGE, *ways, "--fail-on", "warning", "--select", "expect-continue-wait")
    assert shown.code == 1
    (outcome,) = [each for each in shown.report["outcomes"] if each["name"] == "expect-continue-wait"]
    (violation,) = outcome["violations"]
    assert 900e6 < violation["lost_ns"] < 5e9


def test_without_packets_the_report_states_its_limits(tmp_path, probed):
    configuration = named("in one write, with Nagle")
    with configuration.start(tmp_path, **configuration.options) as url:
        shown = probed(url + LARGE, "--no-capture")
    assert "not judged without packets: " in shown.notes
    assert "nagle-hold" in shown.notes
    assert "short-initial-segment" not in shown.notes


def test_threshold_without_packets_is_inconclusive(tmp_path, probed):
    policy = tmp_path / "policy.toml"
    policy.write_text('[thresholds]\nttfb = ["p(95)<2s"]\n')
    configuration = named("in one write, with Nagle")
    with configuration.start(tmp_path, **configuration.options) as url:
        shown = probed(url + LARGE, "--no-capture", "--policy", policy)
    assert shown.code == 3
    assert shown.inconclusive == {"ttfb p(95)<2s"}


def test_capture_that_lacks_packets_is_not_judged(tmp_path, probed, monkeypatch):
    ended = Recording.end

    def lossy(self: Recording) -> None:
        ended(self)
        self.dropped = 3

    monkeypatch.setattr(Recording, "end", lossy)
    configuration = named("pieces of 4 kB, with Nagle")
    with configuration.start(tmp_path, **configuration.options) as url:
        shown = probed(url + LARGE)
    assert "the capture lacks 3 packets" in shown.notes
    assert_told(configuration, shown)


def test_kept_capture_is_named_and_has_only_this_probe(tmp_path, probed):
    save = tmp_path / "kept.pcap"
    configuration = named("pieces of 4 kB, with Nagle")
    with configuration.start(tmp_path, **configuration.options) as url:
        shown = probed(url + LARGE, "--save", save)
        violations = [one for outcome in shown.report["outcomes"] for one in outcome["violations"]]
        assert {one["capture"] for one in violations if one["flow"] is not None} == {str(save)}
        flows = analyze(save).flows
        assert set(flows["server_port"]) == {int(url.rpartition(":")[2])}
        assert set(flows["server"]) == {"127.0.0.1"}


def test_folder_that_is_not_there_is_reported_before_anything_is_asked(tmp_path, probed):
    configuration = named("in one write, with Nagle")
    with configuration.start(tmp_path, **configuration.options) as url:
        shown = probed(url + LARGE, "--save", tmp_path / "none" / "kept.pcap")
    assert shown.code == 2
    assert "kept.pcap: No such file or directory" in shown.error


def test_without_tcpdump_the_sockets_are_judged(tmp_path, probed, monkeypatch):
    monkeypatch.setattr("tcptrace_http.probe.recording.shutil.which", lambda *_, **__: None)
    configuration = named("pieces of 4 kB, with Nagle")
    with configuration.start(tmp_path, **configuration.options) as url:
        shown = probed(url + LARGE)
    assert "no packets were captured (tcpdump is not installed)" in shown.notes
    assert_told(configuration, shown)


def test_interface_that_is_not_there_is_reported_and_the_sockets_are_judged(tmp_path, probed):
    configuration = named("nginx as it comes")
    with configuration.start(tmp_path, **configuration.options) as url:
        shown = probed(url + LARGE, "--interface", "nowhere0")
    assert "no packets were captured (" in shown.notes
    assert_told(configuration, shown)
