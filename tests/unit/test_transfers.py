"""FTP files, identified by their flows."""

import polars as pl
import pytest

import tcptrace_http
import tcptrace_http.transfers
from reference_sim import retrieval, simulate
from reference_sim.page import expected
from reference_sim.pages import page
from tcptrace_http.errors import ScenarioError
from tcptrace_http.inference import infer
from tcptrace_http.what_if import whatif


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    """Return Heidemann's page as files by FTP."""
    path = tmp_path_factory.mktemp("ftp") / "ftp.pcap"
    simulate(retrieval(strategy="ftp", page="heidemann", network="wan")).write_pcap(path, at="client")
    return path


def test_each_file_has_its_bytes_and_its_time(captured):
    found = tcptrace_http.analyze(captured).transfers
    assert found["bytes"].to_list() == [round(expected(part.size)) for part in page("heidemann").objects]
    assert set(found["mode"]) == {"active"}
    assert found["to_client"].all()
    assert found["control_flow"].unique().to_list() == [0]
    assert (found["elapsed"].to_physical() > 0).all()


def test_passive_files_are_those_to_other_ports_of_the_same_server(captured):
    flows = tcptrace_http.analyze(captured).flows
    ends = ["client", "client_port", "client_bytes"], ["server", "server_port", "server_bytes"]
    swapped = {**dict(zip(*ends, strict=True)), **dict(zip(*reversed(ends), strict=True))}
    is_data = pl.col("server_port") != 21
    passive = flows.with_columns(
        pl.when(is_data).then(pl.col(other)).otherwise(pl.col(name)).alias(name) for name, other in swapped.items()
    )
    found = tcptrace_http.transfers.find_transfers(passive)
    assert set(found["mode"]) == {"passive"}
    assert found["to_client"].all()


def test_http_has_no_files_by_ftp(sample_traces):
    assert tcptrace_http.analyze(sample_traces / "lan_hdrsep_small.pcap").transfers.is_empty()


def test_a_difference_shows_files_beside_pages(captured, sample_traces):
    difference = tcptrace_http.diff(captured, sample_traces / "lan_hdrsep_small.pcap")
    assert "FTP is compared as a whole: 3 files of" in " ".join(difference.text().split())


def test_no_scenario_is_inferred_from_files_and_that_is_reported(captured):
    with pytest.raises(ScenarioError, match="3 files by FTP"):
        infer(tcptrace_http.analyze(captured))


def test_a_prediction_from_files_is_refused_with_the_commands_that_give_it(captured):
    with pytest.raises(ScenarioError, match=r"3 files by FTP: tcptrace-http infer -o .* simulate"):
        whatif(tcptrace_http.analyze(captured))
