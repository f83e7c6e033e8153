"""TLS handshakes against tshark: names, versions, ciphers, and resumption."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import pytest

import tcptrace_http
from differential.tshark_handshakes import cipher_names, handshakes
from tcptrace_http.errors import CaptureError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

#: Bytes in every file with a hello: type and version of a record.
_RECORD: Final = b"\x16\x03"
_VERSIONS: Final = {"SSL 3.0": 0x0300, "TLS 1.0": 0x0301, "TLS 1.1": 0x0302, "TLS 1.2": 0x0303, "TLS 1.3": 0x0304}
_TLS13: Final = 0x0304
#: Maximum share of handshakes that tshark loses at a gap, or takes for a retransmission.
_OURS_ALONE_MAX: Final = 0.03
#: Minimum number of handshakes for a valid test.
_HANDSHAKES_MIN: Final = 500


@pytest.fixture(scope="module")
def compared(captures: Path) -> tuple[Counter[str], list[str]]:
    """Numbers of compared hellos, and of hellos on one side only."""
    totals: Counter[str] = Counter()
    missed: list[str] = []
    for path in sorted((captures / "public").rglob("*")):
        if not path.is_file() or _RECORD not in path.read_bytes():
            continue
        try:
            analysis = tcptrace_http.analyze(path)
        except CaptureError:
            continue
        ours = list(analysis.tls_handshakes.iter_rows(named=True))
        theirs = list(handshakes(path).values())
        hellos = {
            "client": (
                Counter(_asked(row) for row in ours),
                Counter((it.server_name, it.alpn_offered) for it in theirs),
            ),
            "server": (
                Counter(_answered(row) for row in ours if row["version"] is not None),
                Counter(
                    (it.version, it.cipher, it.is_resumed and it.version != _TLS13)
                    for it in theirs
                    if it.version is not None
                ),
            ),
        }
        for side, (of_us, of_them) in hellos.items():
            totals[side] += of_us.total()
            totals[f"{side} alone"] += (of_us - of_them).total()
            missed += [f"{path.name}: {side} {hello}" for hello in (of_them - of_us).elements()]
    return totals, missed


def _asked(row: dict[str, Any]) -> tuple[str | None, str | None]:
    return row["server_name"], row["alpn_offered"]


def _answered(row: dict[str, Any]) -> tuple[int, str | None, bool]:
    """Return version, cipher (if OpenSSL knows its name), and resumption (tshark does not tell for TLS 1.3)."""
    version = _VERSIONS[row["version"]]
    cipher = row["cipher"] if row["cipher"] in cipher_names().values() else None
    return version, cipher, row["resumed"] is True and version != _TLS13


@pytest.mark.slow
def test_every_handshake_that_tshark_reads_is_read(compared: tuple[Counter[str], list[str]]) -> None:
    totals, missed = compared
    assert missed == []
    assert totals["client"] >= _HANDSHAKES_MIN


@pytest.mark.slow
@pytest.mark.parametrize("side", ["client", "server"])
def test_few_handshakes_are_read_that_tshark_does_not_read(
    compared: tuple[Counter[str], list[str]], side: str
) -> None:
    totals, _ = compared
    assert totals[f"{side} alone"] <= _OURS_ALONE_MAX * totals[side]
