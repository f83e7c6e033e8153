"""Signals during standard input: they end the input, and the report covers the data read so far."""

import json
import signal
import subprocess
import sys

import pytest
from captures import clean_exchange, pcap

COMMAND = [sys.executable, "-m", "tcptrace_http", "analyze", "-"]


class Reader:
    """Command with open input; ``begun`` is set after it has read the capture."""

    def __init__(self, *options, content):
        self.process = subprocess.Popen(
            [*COMMAND, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.process.stdin.write(content)
        self.process.stdin.flush()
        self._wait_until_read()

    def _wait_until_read(self):
        """Wait until the pipe is empty: the handlers are installed before the first read."""
        import array
        import fcntl
        import termios
        import time

        unread = array.array("i", [1])
        while unread[0]:
            fcntl.ioctl(self.process.stdin.fileno(), termios.FIONREAD, unread)
            time.sleep(0.01)

    def finished(self):
        """Return the command's end with its input still open: only a signal can cause it."""
        with self.process as process:
            out, err = process.stdout.read(), process.stderr.read()
            return process.wait(60), out, err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_standard_input_and_the_read_data_is_reported(number):
    reader = Reader("--format", "json", content=pcap(clean_exchange(2)))
    reader.process.send_signal(number)
    code, out, err = reader.finished()
    assert code == 0
    assert len(json.loads(out)["transactions"]) == 2
    assert b"interrupted" in err
    assert b"Traceback" not in err


def test_pipe_data_after_the_signal_is_read():
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


def test_signal_before_any_input_ends_too():
    reader = Reader(content=b"")
    # The handler's installation is not observable; a signal before it also ends the command.
    reader.process.send_signal(signal.SIGTERM)
    code, out, err = reader.finished()
    assert (code, out) in {(2, b""), (128 + signal.SIGTERM, b""), (-signal.SIGTERM, b"")}
    assert b"Traceback" not in err


def test_followed_pipe_gives_rows_while_it_is_open():
    content = pcap(clean_exchange(4))
    reader = Reader("--follow", "--format", "ndjson", content=content)
    first = json.loads(reader.process.stdout.readline())
    assert (first["flow"], first["index"]) == (0, 0)
    reader.process.send_signal(signal.SIGINT)
    code, out, err = reader.finished()
    assert code == 0
    assert [json.loads(line)["index"] for line in out.splitlines()] == [1, 2, 3]
    assert b"interrupted" in err


def test_followed_file_is_read_while_it_grows(tmp_path):
    path = tmp_path / "growing.pcap"
    content = pcap(clean_exchange(4))
    path.write_bytes(content[:6000])
    arguments = [*COMMAND[:-1], "--follow", "--format", "csv", str(path)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        rows = [process.stdout.readline(), process.stdout.readline()]
        with path.open("ab") as file:
            file.write(content[6000:])
        rows += [process.stdout.readline()]
        process.send_signal(signal.SIGTERM)
        rows += process.stdout.readlines()
        assert process.wait(60) == 0
    assert rows[0].startswith(b"flow,index,")
    assert [row.split(b",")[:2] for row in rows[1:]] == [[b"0", b"%d" % index] for index in range(4)]


@pytest.mark.parametrize("options", [["--format", "json"], ["--format", "csv", "--table", "packets"], []])
def test_unfollowable_input_is_a_usage_error(cli, clean, options):
    result = cli("analyze", "--follow", *options, clean)
    assert result.code == 2
    assert "--follow takes one capture" in result.err
