"""Maps to the peers' fields: all peer fields exist, and all columns are ours."""

import csv
import subprocess

import pytest

from tcptrace_http.peers import PEERS, names_for, peer
from tcptrace_http.schema import TABLES

OURS = {f"{table.name}.{column.name}" for table in TABLES.values() for column in table.columns}


def fields_of(name):
    return [field.name for field in peer(name).fields]


@pytest.mark.parametrize("name", PEERS)
def test_fields_are_named_once_and_held_by_columns_that_exist(name):
    fields = peer(name).fields
    assert len({field.name for field in fields}) == len(fields)
    assert {column for field in fields for column in field.columns} <= OURS


@pytest.mark.parametrize("name", PEERS)
def test_field_without_a_column_says_why(name):
    assert all(field.columns or field.note for field in peer(name).fields)


def test_all_columns_of_tcptrace_are_mapped(sample_traces):
    command = ["tcptrace", "-n", "-l", "-r", "-W", "--csv", str(sample_traces / "bsd_phttp_orig.pcap")]
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    header = next(csv.reader(line for line in lines if line.startswith("conn_#")))
    assert sorted(fields_of("tcptrace")) == sorted(filter(None, header))
    assert len(fields_of("tcptrace")) == 147


def test_all_analysis_fields_of_tshark_are_mapped():
    listing = subprocess.run(["tshark", "-G", "fields"], capture_output=True, text=True, check=True).stdout
    rows = [line.split("\t") for line in listing.splitlines() if line.startswith("F\t")]
    analysed = {row[2] for row in rows if row[2].startswith(("tcp.analysis", "tcp.completeness"))}
    # The bits of tcp.completeness have fields of their own.
    bits = {name for name in analysed if name.startswith("tcp.completeness.")}
    assert set(fields_of("tshark")) == analysed - bits


def test_column_knows_the_names_its_peers_have_for_it():
    found = {(tool.name, field.name) for tool, field in names_for("flows.client_rtt_mean")}
    assert found == {("tcptrace", "RTT_avg_a2b"), ("tstat", "c_rtt_avg")}
