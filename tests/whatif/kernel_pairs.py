"""Predicted and measured savings, over captures of one workload at a broken and at a fixed server.

The prediction reads only the broken capture. Captures and sidecars come from a real kernel's stack (and from
a BSD-like stack) over an emulated path. Each pair has the same workload: the same requests, equally often, on
the same path. The pairs were chosen by their sidecars before any prediction.

>>> python -m tests.whatif.kernel_pairs /path/to/captures/kernel
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import tcptrace_http
from tcptrace_http.inference import NEEDED_TABLES
from tcptrace_http.inference.observe import observe
from tcptrace_http.what_if import whatif

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tcptrace_http.analysis import Analysis
    from tcptrace_http.what_if import Row, WhatIf

#: Broken capture, fixed capture, and the change in terms of fixes.
PAIRS: Final = (
    ("bsd_phttp_orig", "bsd_phttp_fix1", "head-with-body"),
    ("bsd_phttp_orig", "bsd_phttp_fix2", "head-with-body+no-nagle"),
    ("bsd_phttp_fix1", "bsd_phttp_fix2", "no-nagle"),
    ("bsd_http", "bsd_phttp_fix1", "keep-alive"),
    ("bsd_http", "bsd_phttp_fix2", "keep-alive+no-nagle"),
    ("lan_4k_chunks", "lan_4k_chunks_nodelay", "no-nagle"),
    ("lan_4k_chunks", "lan_one_write", "one-write"),
    ("lan_hdrsep_small", "lan_hdrsep_small_nodelay", "no-nagle"),
    ("lan_hdrsep_small", "lan_hdrsep_small_cork", "one-write"),
    ("lan_hdrsep_small", "lan_hdrsep_small_msgmore", "head-with-body"),
    ("lan_hdrsep_small", "mask_client_quickack_route", "no-delayed-acks"),
    ("lan_hdrsep_docs", "lan_hdrsep_docs_nodelay", "no-nagle"),
    ("lan_hdrsep_docs", "lan_one_write", "one-write"),
    ("lan_chunked_naive", "lan_chunked_naive_nodelay", "no-nagle"),
    ("pos_gap_hdr_body_15ms_nagle", "neg_gap_hdr_body_15ms", "no-nagle"),
    ("rtt1_hdrsep", "rtt1_hdrsep_nodelay", "no-nagle"),
    ("rtt1_hdrsep", "rtt1_one", "one-write"),
    ("rtt20_hdrsep", "rtt20_hdrsep_nodelay", "no-nagle"),
    ("rtt100_hdrsep", "rtt100_hdrsep_nodelay", "no-nagle"),
    ("rtt100_hdrsep", "rtt100_one", "one-write"),
    ("rtt1_4k", "rtt1_one", "one-write"),
    ("rtt100_4k", "rtt100_one", "one-write"),
    ("rtt560_4k", "rtt560_one", "one-write"),
    ("ssr_cubic_on", "ssr_cubic_off", "no-idle-restart"),
    ("ssr_bbr_on", "ssr_bbr_off", "no-idle-restart"),
    ("nginx_lan_sendfile_nodelayoff", "nginx_lan_sendfile", "no-nagle"),
    ("nginx_lan_sendfile_nodelayoff", "nginx_lan_sendfile_nopush", "one-write+no-nagle"),
    ("nginx_lan_sendfile_nodelayoff", "nginx_lan_sendfile_nopush_nodelayoff", "one-write"),
    ("python_httpserver_lan", "python_httpserver_nodelay_lan", "no-nagle"),
    ("python_httpserver_lan", "python_httpserver_wbuf_lan", "one-write"),
    ("nginx_loopback", "nginx_loopback_ok", "one-write+no-nagle"),
    ("nginx_rtt100_postpone0_nodelayoff", "nginx_rtt100_default", "one-write+no-nagle"),
    ("nginx_rtt100_postpone0_nodelayoff", "nginx_rtt100_nodelayoff", "one-write"),
    ("fw_java_httpserver_loopback", "fw_java_httpserver_nodelay_loopback", "no-nagle"),
    ("probe_qa0_nginx_bad_loopback", "probe_qa0_nginx_good_loopback", "one-write+no-nagle"),
    ("req_split_nagle_rtt100", "req_split_nodelay_rtt100", "no-client-nagle"),
    ("req_split_nagle_lan", "req_split_nodelay_lan", "no-client-nagle"),
    ("page_rtt100_conn_per_req_serial", "page_rtt100_keepalive_serial", "keep-alive"),
    ("page_rtt100_conn_per_req_serial", "page_rtt100_pipelined", "pipelining"),
    ("page_rtt100_conn_per_req_serial", "page_rtt100_conn_per_req_par4", "parallel-4"),
    ("page_rtt100_conn_per_req_serial", "page_rtt100_keepalive_par4", "keep-alive+parallel-4"),
    ("page_rtt100_conn_per_req_par4", "page_rtt100_keepalive_par4", "keep-alive"),
    ("page_rtt100_keepalive_serial", "page_rtt100_pipelined", "pipelining"),
    ("page_rtt100_keepalive_serial", "page_rtt100_keepalive_par4", "parallel-4"),
    ("page_rtt20_conn_per_req_serial", "page_rtt20_keepalive_par4", "keep-alive+parallel-4"),
)
#: Relative tolerance of a good prediction.
WITHIN: Final = 0.15
#: Noise per retrieval: the capturing machines were busy, by their README.
NOISE_NS: Final = 2_000_000


@dataclass(frozen=True)
class Result:
    """Pair of captures: nanoseconds of all retrievals together, without the pauses between them."""

    broken: str
    fixed: str
    fix: str
    retrievals: int
    measured_broken: int
    measured_fixed: int
    modelled_broken: int
    modelled_fixed: int

    @property
    def measured(self) -> int:
        """Measured saving of the fix."""
        return self.measured_broken - self.measured_fixed

    @property
    def predicted(self) -> int:
        """Predicted saving of the fix."""
        return self.modelled_broken - self.modelled_fixed

    @property
    def is_above_noise(self) -> bool:
        """Whether the retrievals' noise is below the prediction's tolerance."""
        return abs(self.measured) * WITHIN >= NOISE_NS * self.retrievals

    @property
    def is_good(self) -> bool:
        """Whether the prediction is within the tolerance; for a small saving, within the noise."""
        allowed = max(abs(self.measured) * WITHIN, NOISE_NS * self.retrievals)
        return abs(self.predicted - self.measured) <= allowed


def workload(folder: Path, name: str) -> tuple[Any, ...]:
    """Return the workload and path in the sidecar."""
    told = json.loads((folder / f"{name}.json").read_text())
    requested = sorted((each["rep"], each["path"], each["body"]) for each in told["workload"]["requests"])
    return requested, told["link"]


def results(folder: Path, pairs: Iterable[tuple[str, str, str]] = PAIRS) -> Iterator[Result]:
    """Yield the pairs of these captures; the prediction reads the broken capture alone."""
    for broken, fixed, fix in pairs:
        prediction, row = _predicted(folder / f"{broken}.pcap", fix)
        yield Result(
            broken=broken,
            fixed=fixed,
            fix=fix,
            retrievals=prediction.retrievals,
            measured_broken=prediction.measured_ns,
            measured_fixed=_elapsed(folder / f"{fixed}.pcap"),
            modelled_broken=prediction.modelled_ns,
            modelled_fixed=prediction.modelled_ns - row.saved_ns,
        )


@cache
def _analysis(capture: Path) -> Analysis:
    return tcptrace_http.analyze(capture, tables=NEEDED_TABLES)


@cache
def _predicted(capture: Path, fix: str) -> tuple[WhatIf, Row]:
    prediction = whatif(_analysis(capture), fixes=[fix], session=True, draws=0)
    return prediction, prediction.row(fix)


@cache
def _elapsed(capture: Path) -> int:
    """Return nanoseconds of all retrievals."""
    return observe(_analysis(capture), session=True).elapsed


def table(found: Iterable[Result]) -> str:
    """Return one line per pair, in milliseconds."""
    head = (
        f"{'broken -> fixed':<66} {'fix':<24} {'n':>3} {'measured':>19} {'modelled':>19} {'saved':>9} {'told':>9}"
    )
    lines = [head]
    for each in found:
        ratio = f"{each.predicted / each.measured:6.2f}" if each.measured else "     -"
        verdict = ("" if each.is_good else "MISS") + ("" if each.is_above_noise else " (below noise)")
        lines.append(
            f"{each.broken + ' -> ' + each.fixed:<66} {each.fix:<24} {each.retrievals:>3}"
            f" {_ms(each.measured_broken)} {_ms(each.measured_fixed)} {_ms(each.modelled_broken)}"
            f" {_ms(each.modelled_fixed)} {_ms(each.measured)} {_ms(each.predicted)} {ratio} {verdict}"
        )
    return "\n".join(lines)


def _ms(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e6:9.1f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("captures", type=Path)
    parser.add_argument("--only", default="", help="Part of the broken capture's name.")
    options = parser.parse_args()
    found = list(results(options.captures, [pair for pair in PAIRS if options.only in pair[0]]))
    print(table(found))
    loud = [each for each in found if each.is_above_noise]
    print(f"{sum(each.is_good for each in loud)} of {len(loud)} within 15 %, above the noise")
    quiet = [each for each in found if not each.is_above_noise]
    print(f"{sum(each.is_good for each in quiet)} of {len(quiet)} whose saving is below it, within it")


if __name__ == "__main__":
    main()
