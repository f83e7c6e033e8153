"""Segmentation of messages: changes neither their bytes nor their framing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties.flows import exchanges, render, write
from properties.tables import analysed

COLUMNS = (
    "flow index method target host version status request_header_bytes request_body_bytes response_header_bytes"
    " response_body_bytes response_wire_bytes response_framing interim_responses reused_connection missing_bytes"
    " complete"
).split()
any_sizes = st.lists(st.integers(1, 1460), max_size=4).map(lambda sizes: [max(size, 7) for size in sizes])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("segments")


@given(messages=exchanges(), sizes=any_sizes)
def test_segmentation_changes_no_transaction(folder, messages, sizes):
    whole = analysed(folder / "whole.pcap", render(write(messages, [])))
    cut = analysed(folder / "cut.pcap", render(write(messages, sizes)))
    assert cut.transactions.select(COLUMNS).rows() == whole.transactions.select(COLUMNS).rows()
    assert cut.anomalies.rows() == whole.anomalies.rows() == []
    assert whole.transactions["complete"].to_list() == [True] * len(messages)


@given(messages=exchanges(), sizes=any_sizes)
def test_transactions_have_the_bytes_that_were_sent(folder, messages, sizes):
    transactions = analysed(folder / "sent.pcap", render(write(messages, sizes))).transactions
    heads = transactions["request_header_bytes"].to_list()
    assert heads == [len(request.partition(b"\r\n\r\n")[0]) + 4 for request, _ in messages]
    interim = b"HTTP/1.1 103 Early Hints\r\n\r\n"
    sent = [len(response.removeprefix(interim)) for _, response in messages]
    assert transactions["response_wire_bytes"].to_list() == sent
