"""Progress line: rate and remaining time if known; no line without a terminal."""

from dataclasses import dataclass

from tcptrace_http.cli.progress import Progress, Working, progress_line

SECOND = 1_000_000_000


@dataclass
class Stream:
    path: str = "slow.pcap"
    position: int = 250_000_000
    total: int | None = 1_000_000_000


def test_line_has_rate_share_and_time_left():
    line = progress_line(Stream(), 2 * SECOND)
    assert line == "slow.pcap  250 MB  125 MB/s  25 %  0:06 left"


def test_pipe_has_no_time_left():
    assert progress_line(Stream(path="-", total=None), SECOND) == "-  250 MB  250 MB/s"


def test_long_name_is_cut_at_its_start():
    assert "…" in progress_line(Stream(path="/very/long" * 20), SECOND)
    assert len(progress_line(Stream(path="/very/long" * 20), SECOND)) < 78


def test_nothing_is_shown_before_a_second_or_without_a_terminal(capsys, monkeypatch):
    with Progress(quiet=False) as progress:
        progress(Stream())
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    times = iter([0, SECOND // 2, 2 * SECOND])
    monkeypatch.setattr("time.monotonic_ns", lambda: next(times))
    with Progress(quiet=False) as progress:
        progress(Stream())
        assert capsys.readouterr().err == ""
        progress(Stream())
        assert "125 MB/s" in capsys.readouterr().err
    assert capsys.readouterr().err.endswith("\r")


def test_progress_is_shown_on_a_terminal_and_removed(capsys, monkeypatch):
    with Working("drawing", quiet=False):
        pass
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with Working("drawing", quiet=True):
        pass
    assert capsys.readouterr().err == ""
    with Working("drawing", quiet=False):
        assert capsys.readouterr().err == "drawing …"
    assert capsys.readouterr().err.strip() == ""
