"""FTP files, reproduced by a scenario inferred from their capture."""

from dataclasses import replace

import pytest

import tcptrace_http
from reference_sim import retrieval, simulate
from reference_sim.page import expected
from reference_sim.pages import page
from reference_sim.scenario_file import parse
from reference_sim.topology import PacketLoss
from tcptrace_http.errors import ScenarioError
from tcptrace_http.inference import NEEDED_TABLES, infer_files
from tcptrace_http.inference.report import as_toml

#: Maximum error of the nearest run's data times, relative to the duration of all files: rounding of path and
#: rate, and timers.
NEAR = 0.006


def captured(path, *, stack="reno", at="client", waits=False, name="heidemann", network="wan", loss=0.0):
    made = retrieval(strategy="ftp", page=name, network=network, client_stack=stack, at=at)
    (transfer,) = made.transfers
    if loss:
        back = made.network.links[1].title
        made = replace(made, network=made.network.with_link(back, loss=(PacketLoss(rate=loss),)))
    simulate(replace(made, transfers=(replace(transfer, waits_for_replies=waits),))).write_pcap(path, at=at)
    return path


def inferred(path):
    return infer_files(tcptrace_http.analyze(path, tables=NEEDED_TABLES))


def told(figure):
    return {figure.value, *figure.alternatives}


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("at", ["client", "server"])
@pytest.mark.parametrize(
    ("stack", "name", "network"),
    [
        ("reno", "heidemann", "wan"),
        ("linux-6", "eggert-map", "wan"),
        ("netbsd-1.2.1", "heidemann", "wan"),
        ("bsd-4.4", "kruse-acts", "satellite"),
    ],
)
def test_the_scenario_retells_the_files(tmp_path, stack, name, network, at, waits):
    found = inferred(captured(tmp_path / "a.pcap", stack=stack, at=at, waits=waits, name=name, network=network))
    assert found.figure("transfer.waits_for_replies").value is waits
    off = float(found.figure("transfer.waits_for_replies").how.split("data ")[1].split(" %")[0]) / 100
    assert off < NEAR
    for side in ("client", "server"):
        assert stack in told(found.figure(f"{side}.stack"))
    (transfer,) = found.scenario.transfers
    assert transfer.files == tuple(round(expected(part.size)) for part in page(name).objects)


def test_path_and_first_window_are_those_of_the_capture(tmp_path):
    found = inferred(captured(tmp_path / "a.pcap", stack="linux-6", name="kruse-acts", network="satellite"))
    assert found.figure("server.initial_window").value == 10
    assert found.figure("path.rate").value == pytest.approx(1_536_000, rel=1e-3)
    assert found.figure("path.propagation").value == pytest.approx(560_000_000, rel=2e-3)


def test_a_retransmission_is_a_chance_of_loss(tmp_path):
    found = inferred(captured(tmp_path / "a.pcap", at="server", name="eggert-map", loss=0.05))
    assert 0 < found.chance_of_loss < 0.2
    assert found.scenario.network.links[1].loss == (PacketLoss(rate=found.chance_of_loss),)


def test_the_scenario_file_runs_and_transfers_the_same_files(tmp_path):
    path = captured(tmp_path / "a.pcap")
    again = parse(as_toml(inferred(path), str(path)))
    simulate(again).write_pcap(tmp_path / "b.pcap", at="client")
    files = [tcptrace_http.analyze(each).transfers["bytes"].to_list() for each in (path, tmp_path / "b.pcap")]
    assert files[0] == files[1]


def test_without_files_nothing_is_inferred(sample_traces):
    with pytest.raises(ScenarioError, match="no file by FTP"):
        inferred(sample_traces / "lan_hdrsep_small.pcap")
