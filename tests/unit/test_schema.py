"""Declared tables: complete, typed, explained, with all fields of the JSON contract."""

import polars as pl
import pytest

from tcptrace_http import schema

CONTRACT = {
    "flows": (
        "flow client client_port server server_port packets client_bytes server_bytes client_retransmissions"
        " server_retransmissions initial_rtt_ns mss_server observation_point closed_by"
    ),
    "transactions": (
        "flow index method target host status request_frame response_first_frame response_last_frame"
        " request_time_ns response_first_time_ns response_last_time_ns response_header_bytes"
        " response_body_bytes complete"
    ),
    "findings": (
        "detector severity flow transaction first_frame last_frame lost_ns confidence summary remedy reference"
    ),
}


@pytest.mark.parametrize("table", schema.TABLES.values(), ids=lambda table: table.name)
def test_table_and_columns_are_explained_and_have_known_types(table):
    assert table.doc.endswith(".")
    names = [column.name for column in table.columns]
    assert len(set(names)) == len(names)
    assert all(column.doc and not column.doc.endswith(".") for column in table.columns)
    assert list(pl.DataFrame(schema=schema.polars_schema(table)).columns) == names


@pytest.mark.parametrize("name", CONTRACT)
def test_contract_fields_are_declared_for_json(name):
    shown = {schema.json_name(column) for column in schema.TABLES[name].columns if column.in_json}
    assert set(CONTRACT[name].split()) <= shown


def test_times_are_integer_nanoseconds_in_utc():
    types = schema.polars_schema(schema.TABLES["transactions"])
    assert types["request_time"] == pl.Datetime("ns", "UTC")
    assert schema.polars_schema(schema.TABLES["findings"])["lost"] == pl.Duration("ns")


def test_causes_and_anomalies_have_meanings():
    assert all(schema.CAUSES.values())
    assert all(schema.ANOMALY_KINDS.values())
