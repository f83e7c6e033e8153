"""Capture of TLS with its key log, shared by several modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from probe.servers import readable_folder

from .recorded_tls import Recorded, record

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def recorded() -> Iterator[Recorded]:
    with readable_folder() as folder:
        yield record(folder)
