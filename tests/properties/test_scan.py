"""Scans: equal to the eager table for any predicate, projection, number of rows and batch size."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import polars as pl
import pytest
from captures import Connection, clean_exchange, pcap, pcapng, stalled_exchange
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import tcptrace_http
from tcptrace_http import lazy_scan
from tcptrace_http.schema import TABLES, polars_schema
from tcptrace_http.trace import frame_of, native

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
SCANNED = ("packets", "segments", "flows", "transactions")
# `make fuzz` uses more examples.
PREDICATES_OF_A_TABLE = max(150, settings().max_examples)
NUMBERS = (pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64, pl.Int64)


def many_flows() -> list:
    """Return flows that overlap in time; unacknowledged flows settle their rows late."""
    records = []
    for port in range(40):
        connection = Connection(client=("10.0.0.1", 2000 + port), time=1_700_000_000_000_000_000 + port * 700_000)
        connection.open()
        connection.exchange(body=b"y" * (port * 400))
        if port % 3 == 0:
            connection.from_server(b"z" * 500)
        else:
            connection.close()
        records += connection.records
    return sorted(records, key=lambda record: record[0])


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scanned")
    made = {"clean.pcap": pcap(clean_exchange(200)), "stalled.pcapng": pcapng(stalled_exchange())}
    made |= {"flows.pcap": pcap(many_flows()), "cut.pcapng": pcapng(clean_exchange(2))[:-9]}
    for name, content in made.items():
        (folder / name).write_bytes(content)
    samples = ["lan_4k_chunks.pcap", "fmt_any_sll2.pcap", "fmt_pcapng.pcapng", "heidemann_1996_figure2.pcap"]
    return [*(folder / name for name in made), *(SAMPLES / name for name in samples)]


@cache
def eager(path: Path, table: str) -> pl.DataFrame:
    return tcptrace_http.analyze(path, tables=[table]).table(table)


def values(draw, frame: pl.DataFrame, name: str):
    """Return a value of the column, so that the predicate splits the rows; or None."""
    found = frame[name].drop_nulls()
    if found.is_empty():
        return None
    return found[draw(st.integers(0, len(found) - 1))]


@st.composite
def comparisons(draw, frame: pl.DataFrame) -> pl.Expr:
    """Return a predicate on one column that fits its type."""
    name = draw(st.sampled_from(frame.columns))
    column, dtype = pl.col(name), frame.schema[name]
    kinds = ["is_null", "is_not_null", "literal"]
    value = values(draw, frame, name)
    if isinstance(dtype, pl.List):
        kinds += ["list_length"]
    elif value is not None:
        kinds += ["equal", "unequal", "missing", "is_in"]
        if isinstance(dtype, pl.Boolean):
            kinds += ["itself"]
        elif isinstance(dtype, pl.String):
            kinds += ["starts_with", "contains", "less", "length"]
        elif not isinstance(dtype, pl.Enum):
            kinds += ["less", "at_least", "between"]
        if dtype in NUMBERS:
            kinds += ["remainder", "sum"]
    other = values(draw, frame, name)
    lit, other_lit = pl.lit(value, dtype=dtype), pl.lit(other, dtype=dtype)
    number = draw(st.integers(0, 9))
    return {
        "is_null": column.is_null,
        "is_not_null": column.is_not_null,
        "literal": lambda: pl.lit(draw(st.booleans())),
        "list_length": lambda: column.list.len() > number,
        "equal": lambda: column == lit,
        "unequal": lambda: column != lit,
        "missing": lambda: column.ne_missing(lit),
        "is_in": lambda: column.is_in(pl.Series([value, other], dtype=dtype).implode()),
        "itself": lambda: column,
        "starts_with": lambda: column.str.starts_with(value[: number % (len(value) + 1)]),
        "contains": lambda: column.str.contains(value[-1:] or ".", literal=True),
        "length": lambda: column.str.len_bytes() > number,
        "less": lambda: column < lit,
        "at_least": lambda: column >= lit,
        "between": lambda: column.is_between(lit, other_lit),
        "remainder": lambda: column % (number + 2) == 1,
        "sum": lambda: column.cast(pl.Int64) + number > pl.lit(value).cast(pl.Int64),
    }[draw(st.sampled_from(kinds))]()


def predicates(frame: pl.DataFrame) -> st.SearchStrategy[pl.Expr]:
    """Return comparisons joined by boolean algebra."""
    return st.recursive(
        comparisons(frame),
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(lambda pair: pair[0] & pair[1]),
            st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1]),
            st.tuples(inner, inner).map(lambda pair: pair[0] ^ pair[1]),
            inner.map(lambda one: ~one),
        ),
        max_leaves=4,
    )


def drawn(data: st.DataObject, paths: list[Path], table: str):
    path = data.draw(st.sampled_from(paths), label="capture")
    frame = eager(path, table)
    predicate = data.draw(predicates(frame), label="predicate")
    columns = data.draw(st.lists(st.sampled_from(frame.columns), min_size=1, unique=True), label="columns")
    n_rows = data.draw(st.one_of(st.none(), st.integers(0, frame.height + 2)), label="rows")
    return path, frame, predicate, columns, n_rows


def head(frame, n_rows):
    return frame if n_rows is None else frame.head(n_rows)


@pytest.mark.slow
@pytest.mark.parametrize("table", SCANNED)
@settings(max_examples=PREDICATES_OF_A_TABLE)
@given(data=st.data())
def test_any_query_has_the_rows_of_the_eager_table(paths, table, data):
    path, frame, predicate, columns, n_rows = drawn(data, paths, table)
    engine = data.draw(st.sampled_from(["streaming", "in-memory"]), label="engine")
    scanned = tcptrace_http.scan(path, table)
    query = head(scanned.filter(predicate).select(columns), n_rows)
    assert_frame_equal(query.collect(engine=engine), head(frame.filter(predicate).select(columns), n_rows))
    query = head(scanned, n_rows).filter(predicate).select(columns)
    assert_frame_equal(query.collect(engine=engine), head(frame, n_rows).filter(predicate).select(columns))


@pytest.mark.parametrize("table", SCANNED)
@given(data=st.data())
def test_all_four_arguments_of_the_source_are_honoured(paths, table, data):
    path, frame, predicate, columns, n_rows = drawn(data, paths, table)
    with_columns = data.draw(st.sampled_from([None, columns]))
    given_predicate = data.draw(st.sampled_from([None, predicate]))
    batch_size = data.draw(st.one_of(st.none(), st.integers(1, 300)), label="batch size")
    source = lazy_scan._Source.of(path, TABLES[table])
    batches = list(source.batches(with_columns, given_predicate, n_rows, batch_size))
    expected = head(frame, n_rows)
    expected = expected if given_predicate is None else expected.filter(given_predicate)
    expected = expected if with_columns is None else expected.select(with_columns)
    assert_frame_equal(pl.concat([expected.clear(), *batches]), expected)
    assert all(0 < batch.height <= (batch_size or frame.height) for batch in batches)


@pytest.mark.parametrize("table", ["packets", "segments"])
@given(data=st.data())
def test_blocks_do_not_depend_on_chunks_or_their_length(paths, table, data):
    path = data.draw(st.sampled_from(paths), label="capture")
    content, names = path.read_bytes(), list(polars_schema(TABLES[table]))
    chunk = data.draw(st.sampled_from([97, 1000, 4096, 65536, len(content)]), label="chunk")
    block_rows = data.draw(st.integers(1, 300), label="block")
    wanted = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True), label="columns")
    core = native.Analyzer(**{table: wanted}, others=False, block_rows=block_rows)
    taken = []
    for start in range(0, len(content), chunk):
        core.feed(content[start : start + chunk])
        while (block := core.take_block(table)) is not None:
            taken.append(frame_of(block, TABLES[table], only=wanted))
            assert taken[-1].height == block_rows
    core.finish()
    while (block := core.take_block(table)) is not None:
        taken.append(frame_of(block, TABLES[table], only=wanted))
    assert_frame_equal(pl.concat(taken), eager(path, table).select(name for name in names if name in wanted))
