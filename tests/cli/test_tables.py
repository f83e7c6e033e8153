"""Tables in the formats that other programs read."""

import io
import json

import polars as pl
import pytest
from captures import ACK, MILLISECOND, PSH, REQUEST, START, Connection, clean_exchange, pcap

from tcptrace_http.schema import TABLES, polars_schema


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("format_name", ["csv", "ndjson", "parquet"])
def test_every_table_is_written_in_every_format(cli, stalled, table, format_name):
    result = cli("analyze", "--format", format_name, "--table", table, stalled)
    assert result.code == 0, result.err
    read = {"csv": pl.read_csv, "ndjson": pl.read_ndjson, "parquet": pl.read_parquet}[format_name]
    if result.out:
        assert read(io.BytesIO(result.out)).width == len(TABLES[table].columns)
    else:
        assert format_name == "ndjson"


def test_parquet_keeps_the_declared_types(cli, clean, tmp_path):
    output = tmp_path / "out.parquet"
    assert cli("analyze", "--format", "parquet", "--table", "segments", "-o", output, clean).code == 0
    frame = pl.read_parquet(output)
    assert frame.height == len(clean_exchange(3))
    assert dict(frame.schema) == polars_schema(TABLES["segments"])


def test_csv_and_ndjson_have_integer_nanoseconds(cli, clean):
    lines = cli("analyze", "--format", "csv", "--table", "packets", clean).out.decode().splitlines()
    assert lines[0].startswith("frame,time_ns,")
    assert lines[1].startswith(f"1,{START},")
    (row, *_) = cli("analyze", "--format", "ndjson", "--table", "flows", clean).out.splitlines()
    assert json.loads(row)["start_ns"] == START


def test_rows_of_several_captures_say_which_one_they_are_from(cli, clean, stalled):
    result = cli("analyze", "--format", "csv", clean, stalled)
    captures = pl.read_csv(io.BytesIO(result.out))["capture"].to_list()
    assert captures == [str(clean)] * 3 + [str(stalled)]


def test_where_selects_rows_of_the_table(cli, clean):
    result = cli("analyze", "--format", "ndjson", "--table", "segments", "--where", "payload_bytes > 0", clean)
    assert all(json.loads(line)["payload_bytes"] > 0 for line in result.out.splitlines())


def test_where_that_fits_no_column_names_the_columns(cli, clean):
    for expression in ("colour = 'red'", "this is no expression ("):
        result = cli("analyze", "--where", expression, clean)
        assert result.code == 2
        assert result.err.count("\n") == 1
        assert "cannot select from transactions" in result.err
        assert "response_body_bytes" in result.err


def test_table_without_a_use_for_it_is_a_usage_error(cli, clean):
    result = cli("analyze", "--table", "flows", clean)
    assert result.code == 2
    assert "--table needs" in result.err


@pytest.mark.parametrize("form", ["{} > '{} ms'", "'{1}ms' < {0}", "{} > '0.{:03} s'", "{} >= '{}000 us'"])
@pytest.mark.parametrize(("column", "kept"), [("elapsed", 1), ("wait", 1), ("receive", 0)])
def test_durations_are_compared_with_durations(cli, tmp_path, form, column, kept):
    connection = Connection()
    connection.open()
    for think in (10, 90):
        connection.from_client(REQUEST, PSH | ACK, after=MILLISECOND)
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        connection.from_server(head, PSH | ACK, after=think * MILLISECOND)
        connection.from_client(after=20_000)
    path = tmp_path / "two.pcap"
    path.write_bytes(pcap(connection.records))
    result = cli("analyze", "--format", "ndjson", "--where", form.format(column, 40), path)
    assert (result.code, result.err) == (0, "")
    assert result.out.count(b"\n") == kept


@pytest.mark.parametrize(
    "expression", ["elapsed > 40", "40 <= wait", "receive between 1 and 2", "status = 200 and elapsed<1.5"]
)
def test_duration_compared_with_a_number_is_reported_the_right_form(cli, clean, expression):
    result = cli("analyze", "--where", expression, clean)
    assert result.code == 2
    assert "is a duration: compare it with one, as in" in result.err
    assert "> '40 ms'" in result.err
