"""Capture flaws of kernel captures: only offload captures have any."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import tcptrace_http

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
def test_the_only_flaw_of_the_kernel_captures_is_offload_on_a_veth_device(captures: Path) -> None:
    flawed = {
        (path.name.partition(".")[0], flaw)
        for path in sorted((captures / "kernel").rglob("*.pcap*"))
        for flaw in tcptrace_http.analyze(path, statistics=False).flaws["flaw"]
    }
    assert flawed == {
        ("nginx_veth_offload", "segmentation_offload"),
        ("veth_offload_4k_chunks", "segmentation_offload"),
    }
