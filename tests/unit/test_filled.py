"""Chunks of a capture: equal when read in turn and when read ahead."""

import io
import threading

import pytest

from tcptrace_http.filled import filled, filled_ahead

CONTENT = bytes(range(256)) * 40


@pytest.mark.parametrize("chunk_bytes", [1, 7, 4096, 100_000])
def test_chunks_read_ahead_are_those_read_in_turn(chunk_bytes):
    in_turn = [bytes(chunk) for chunk in filled(io.BytesIO(CONTENT).readinto, chunk_bytes=chunk_bytes)]
    ahead = [bytes(chunk) for chunk in filled_ahead(io.BytesIO(CONTENT).readinto, chunk_bytes=chunk_bytes)]
    assert in_turn == ahead
    assert b"".join(ahead) == CONTENT


def test_an_error_of_the_reader_is_raised_after_the_chunks_before_it():
    reads = iter([4, 4, OSError("disk")])

    def fill(view: memoryview) -> int:
        given = next(reads)
        if isinstance(given, OSError):
            raise given
        view[:given] = b"abcd"
        return given

    chunks = filled_ahead(fill, chunk_bytes=4)
    assert [bytes(next(chunks)), bytes(next(chunks))] == [b"abcd", b"abcd"]
    with pytest.raises(OSError, match="disk"):
        next(chunks)


def test_a_reader_that_is_not_wanted_any_more_ends():
    chunks = filled_ahead(io.BytesIO(CONTENT).readinto, chunk_bytes=16)
    next(chunks)
    chunks.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "read-ahead"]
