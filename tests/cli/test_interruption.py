"""Signals while standard input is read: they end the input, and what was read is told."""

import json
import signal
import subprocess
import sys

import pytest
from captures import clean_exchange, pcap

COMMAND = [sys.executable, "-m", "tcptrace_http", "analyze", "-"]


class Reader:
    """The command, with its input left open; ``begun`` is set once it has read the capture."""

    def __init__(self, *options, content):
        self.process = subprocess.Popen(
            [*COMMAND, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.process.stdin.write(content)
        self.process.stdin.flush()
        self._wait_until_read()

    def _wait_until_read(self):
        """The pipe is empty when all of it was read: the handlers are there before the first read."""
        import array
        import fcntl
        import termios
        import time

        unread = array.array("i", [1])
        while unread[0]:
            fcntl.ioctl(self.process.stdin.fileno(), termios.FIONREAD, unread)
            time.sleep(0.01)

    def finished(self):
        """Its end, with the input open all the while: only a signal, or nothing, can end that."""
        with self.process as process:
            out, err = process.stdout.read(), process.stderr.read()
            return process.wait(60), out, err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_standard_input_and_what_was_read_is_reported(number):
    reader = Reader("--format", "json", content=pcap(clean_exchange(2)))
    reader.process.send_signal(number)
    code, out, err = reader.finished()
    assert code == 0
    assert len(json.loads(out)["transactions"]) == 2
    assert b"interrupted" in err
    assert b"Traceback" not in err


def test_what_the_writer_of_the_pipe_still_has_after_the_signal_is_read():
    content = pcap(clean_exchange(3))
    reader = Reader("--format", "json", content=content[:500])
    reader.process.send_signal(signal.SIGINT)
    reader.process.stdin.write(content[500:])
    reader.process.stdin.flush()
    code, out, _ = reader.finished()
    assert code == 0
    assert len(json.loads(out)["transactions"]) == 3


def test_packet_that_was_not_read_whole_is_left_out():
    reader = Reader("--format", "json", content=pcap(clean_exchange(2))[:-5])
    reader.process.send_signal(signal.SIGTERM)
    code, out, _ = reader.finished()
    assert code == 0
    assert json.loads(out)["capture"]["truncated"]
