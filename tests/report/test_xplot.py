"""xplot graphs: the program opens them without errors, and their content matches tcptrace's."""

import os
import re
import signal
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from captures import pcap
from charts.flows import flow_with_sack

import tcptrace_http
from tcptrace_http.report import xplot

#: A line begins with an xplot command; text follows a title, a label or a text command.
WORDED = {"title", "xlabel", "ylabel", "atext", "rtext", "ltext", "btext", "ctext"}
COLOURS = {"white", "green", "red", "blue", "yellow", "purple", "orange", "magenta", "pink"}
#: Each check takes a few milliseconds; a busy machine may need many.
_LOOKS = 2000
SAMPLES = ["objects_nginx_curl.pcap", "bsd_phttp_orig.pcap", "heidemann_1996_figure2.pcap", "ssr_cubic_on.pcap"]


def commands(path: Path) -> list[tuple[str, str, list[str]]]:
    """Return colour, command and arguments (or text) of each line."""
    lines = iter(path.read_text().splitlines()[1:])
    colour, found = "", []
    for line in lines:
        name, *arguments = line.split(" ")
        if name in COLOURS:
            colour = name
        elif name in WORDED:
            found.append((colour, name, [*arguments, next(lines)]))
        else:
            found.append((colour, name, arguments))
    return found


def shapes(path: Path) -> Counter[str]:
    """Return the graph's elements that both programs draw."""
    seen: Counter[str] = Counter()
    for colour, name, arguments in commands(path):
        if name == "line":
            x, y, x_end, y_end = (float(each) for each in arguments)
            if colour == "green" and y != y_end:
                seen["ACK steps"] += 1
            elif colour in {"white", "red", "magenta"} and x == x_end and y != y_end:
                seen["segments"] += 1
            elif colour == "purple":
                seen["SACK blocks"] += 1
        elif name == "atext" and arguments[-1] in {"R", "S", "SYN", "FIN", "O"}:
            seen[arguments[-1]] += 1
    return seen


@pytest.fixture
def graphs(tmp_path):
    """Return the graphs of a capture, ours and tcptrace's, by the ends in their titles."""

    def of(capture: Path):
        ours = xplot.write(tcptrace_http.analyze(capture, tables={"segments"}), tmp_path / "ours")
        folder = tmp_path / "theirs"
        folder.mkdir()
        subprocess.run(["tcptrace", "-S", "-n", capture.resolve()], cwd=folder, check=True, capture_output=True)
        return by_title(ours), by_title(folder.glob("*_tsg.xpl"))

    return of


def by_title(paths) -> dict[str, Path]:
    return {title_of(path): path for path in paths}


def title_of(path: Path) -> str:
    return next(arguments[-1] for _, name, arguments in commands(path) if name == "title")


@pytest.mark.parametrize("sample", SAMPLES)
def test_graphs_equal_those_of_tcptrace(graphs, sample_traces, sample):
    ours, theirs = graphs(sample_traces / sample)
    assert ours
    for title, path in ours.items():
        assert shapes(path) == shapes(theirs[title]), title


def test_sack_blocks_and_retransmissions_are_those_of_tcptrace(graphs, tmp_path):
    capture = tmp_path / "sack.pcap"
    capture.write_bytes(pcap(flow_with_sack()))
    ours, theirs = graphs(capture)
    title = "10.0.0.2:8080_==>_10.0.0.1:1029 (time sequence graph)"
    assert shapes(ours[title])["SACK blocks"] == shapes(ours[title])["S"] == 7
    # The lost segment was not captured: for tcptrace, the data that fills the hole is always out of order.
    # For us, as for Wireshark, later data than possible by reordering is a retransmission.
    assert shapes(ours[title]) - shapes(theirs[title]) == Counter(R=1)
    assert shapes(theirs[title]) - shapes(ours[title]) == Counter(O=1)


def test_only_commands_of_tcptrace_are_used(graphs, sample_traces):
    ours, theirs = graphs(sample_traces / "bsd_phttp_orig.pcap")
    used = {name for path in ours.values() for _, name, _ in commands(path)}
    known = {name for path in theirs.values() for _, name, _ in commands(path)}
    # Findings have labels to the right of their begin, which tcptrace lacks.
    assert used - known <= {"rtext"}


def test_finding_is_labelled(tmp_path, sample_traces):
    analysis = tcptrace_http.analyze(sample_traces / "heidemann_1996_figure2.pcap", tables={"segments"})
    paths = xplot.write(analysis, tmp_path)
    texts = [arguments[-1] for path in paths for _, name, arguments in commands(path) if name == "rtext"]
    assert texts == ["short-initial-segment"]


@pytest.fixture(scope="module")
def display():
    """Yield a separate screen: Xvfb takes the first free number and reports it."""
    reading, writing = os.pipe()
    arguments = ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1000x800x24", "-nolisten", "tcp"]
    server = subprocess.Popen(arguments, pass_fds=[writing], stderr=subprocess.DEVNULL)
    os.close(writing)
    with os.fdopen(reading) as told:
        number = told.readline().strip()
    yield f":{number}"
    server.terminate()
    server.wait()


def test_xplot_opens_them_without_a_complaint(tmp_path, sample_traces, display):
    analysis = tcptrace_http.analyze(sample_traces / "bsd_phttp_orig.pcap", tables={"segments"})
    path = max(xplot.write(analysis, tmp_path), key=lambda path: path.stat().st_size)
    before = picture(display)
    program = subprocess.Popen(["xplot.org", path], env=os.environ | {"DISPLAY": display}, stderr=subprocess.PIPE)
    try:
        # xplot draws once its window exists; until then the screen is black.
        for _ in range(_LOOKS):
            shown = picture(display)
            if shown != before and is_drawn(shown):
                break
            assert program.poll() is None, program.stderr.read()
        else:
            pytest.fail("xplot shows no ACK line")
    finally:
        program.send_signal(signal.SIGTERM)
        _, errors = program.communicate()
    assert errors == b""


def test_xplot_reports_unreadable_lines(tmp_path, display):
    """Check that a broken graph is reported, so that silence is meaningful."""
    path = tmp_path / "broken.xpl"
    path.write_text("timeval unsigned\nnonsense 1 2\ngo\n")
    environment = os.environ | {"DISPLAY": display}
    finished = subprocess.run(["xplot.org", path], env=environment, capture_output=True, timeout=60, check=False)
    assert finished.returncode != 0
    assert re.search(rb"nonsense|parse|error", finished.stderr)


def picture(display: str) -> bytes:
    arguments = ["xwd", "-root", "-silent", "-display", display]
    return subprocess.run(arguments, check=True, capture_output=True).stdout


def is_drawn(image: bytes) -> bool:
    """Return whether the green of an ACK line is visible, in rows of 32-bit BGR."""
    return b"\x00\xff\x00" in image
