"""Tables of one capture that the core makes, in one pass over the capture."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tcptrace_http.capture import anomalies_of, decode
from tcptrace_http.schema import ON_REQUEST, TABLES
from tcptrace_http.trace import frame_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from collections.abc import Set as AbstractSet

    import polars as pl

    from tcptrace_http.capture import Decoded
    from tcptrace_http.trace import Provenance

__all__ = ["NativeTables"]


class NativeTables:
    """Tables of the core as polars frames, made on demand."""

    def __init__(self, decoded: Decoded, selected: Mapping[str, pl.DataFrame] | None = None) -> None:
        """Make the tables. ``selected`` holds tables after a selection of rows."""
        self._decoded = decoded
        self._selected = selected

    @property
    def capture(self) -> Provenance:
        """Return the origin of the rows."""
        return self._decoded.provenance

    @property
    def decoded(self) -> Decoded | None:
        """Return the core with all rows; None after a selection of rows."""
        return None if self._selected is not None else self._decoded

    @property
    def is_last(self) -> bool:
        """Return whether these rows are the last of the capture, or all."""
        return self._decoded.is_last

    @property
    def cut(self) -> list[str]:
        """Return the tables of the capture that a limit has cut so far."""
        return self._decoded.rows.cut()

    @cached_property
    def packets(self) -> pl.DataFrame:
        """Return one row per record. Unless ``analyze`` made these rows, the capture is read again."""
        return self._native("packets")

    @cached_property
    def segments(self) -> pl.DataFrame:
        """Return one row per TCP segment. Unless ``analyze`` made these rows, the capture is read again."""
        return self._native("segments")

    @cached_property
    def flows(self) -> pl.DataFrame:
        """Return one row per TCP connection, with statistics unless ``analyze`` left them out."""
        return self._native("flows")

    @cached_property
    def transactions(self) -> pl.DataFrame:
        """Return one row per HTTP request and its response."""
        return self._native("transactions")

    @cached_property
    def tls_handshakes(self) -> pl.DataFrame:
        """Return one row per flow with a captured TLS handshake."""
        return self._native("tls_handshakes")

    @cached_property
    def tls_records(self) -> pl.DataFrame:
        """Return one row per TLS record. Unless ``analyze`` made these rows, the capture is read again."""
        return self._native("tls_records")

    @cached_property
    def h2_connections(self) -> pl.DataFrame:
        """Return one row per HTTP/2 flow."""
        return self._native("h2_connections")

    @cached_property
    def h2_windows(self) -> pl.DataFrame:
        """Return one row per event of HTTP/2 flow control.

        Unless ``analyze`` made these rows, the capture is read again.
        """
        return self._native("h2_windows")

    @cached_property
    def links(self) -> pl.DataFrame:
        """Return one row per link of an HTML document."""
        return self._native("links")

    @cached_property
    def profiles(self) -> pl.DataFrame:
        """Return one row per flow and direction: the inferred properties of its sender and its path."""
        return self._native("profiles")

    @cached_property
    def endings(self) -> pl.DataFrame:
        """Return one row per flow that ended with a failure for the client."""
        return self._native("endings")

    @cached_property
    def segmentation(self) -> pl.DataFrame:
        """Return one row per message with a notable segmentation."""
        return self._native("segmentation")

    @cached_property
    def bodies(self) -> pl.DataFrame:
        """Return one row per body that was fetched before, or that a coder would shrink."""
        return self._native("bodies")

    @cached_property
    def redirects(self) -> pl.DataFrame:
        """Return one row per redirect that the client followed."""
        return self._native("redirects")

    @cached_property
    def expectations(self) -> pl.DataFrame:
        """Return one row per request whose body waited for 100 (Continue)."""
        return self._native("expectations")

    @cached_property
    def flaws(self) -> pl.DataFrame:
        """Return one row per flow and flaw of its capture."""
        return self._native("flaws")

    @cached_property
    def recoveries(self) -> pl.DataFrame:
        """Return one row per interruption of a stream: losses, reordering, closed windows."""
        return self._native("recoveries")

    @cached_property
    def queues(self) -> pl.DataFrame:
        """Return one row per response whose packets waited in a queue."""
        return self._native("queues")

    @cached_property
    def anomalies(self) -> pl.DataFrame:
        """Return one row per anomaly of the traffic or the file."""
        return self._chosen("anomalies", lambda: anomalies_of(self._decoded))

    def table(self, name: str) -> pl.DataFrame:
        """Return the table of that name."""
        frame: pl.DataFrame = getattr(self, TABLES[name].name)
        return frame

    def _part(
        self, name: str, only: AbstractSet[str] | None, flows: AbstractSet[int] | None = None
    ) -> pl.DataFrame:
        """Return certain columns of a native table for certain flows; after a selection, all of its rows."""
        if self._selected is not None:
            return self.table(name)
        decoded = self._decoded
        native = decoded.rows.table(name, only, flows)
        return frame_of(native, TABLES[name], statistics=decoded.statistics, only=only)

    def _native(self, name: str) -> pl.DataFrame:
        # The frames have the namespace ``tcp``; polars is or will be imported.
        import tcptrace_http.charts.namespace  # noqa: F401

        decoded = self._again if name in ON_REQUEST - self._decoded.on_request else self._decoded
        return self._chosen(
            name, lambda: frame_of(decoded.rows.table(name), TABLES[name], statistics=decoded.statistics)
        )

    @cached_property
    def _again(self) -> Decoded:
        """Return the capture decoded again, with the on-request tables."""
        self._check_rereadable(f"these tables: analyze(path, tables={sorted(ON_REQUEST)})")
        source = self._decoded.source
        return decode(source, on_request=ON_REQUEST, statistics=False, keylog=self._decoded.keylog)

    def _check_rereadable(self, what: str) -> None:
        source = self._decoded.source
        if not isinstance(source, bytes) and not Path(source).is_file():
            raise KeyError(f"{self.capture.path} cannot be read a second time for {what}")

    def _chosen(self, name: str, make: Callable[[], pl.DataFrame]) -> pl.DataFrame:
        if self._selected is not None and name in self._selected:
            return self._selected[name]
        return make()
