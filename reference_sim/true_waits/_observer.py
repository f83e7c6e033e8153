"""One end of a connection as the observation point of its packets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reference_sim.true_waits._records import CLIENT, SERVER

if TYPE_CHECKING:
    from reference_sim.true_waits._deliveries import Stream
    from reference_sim.true_waits._holds import Holds
    from reference_sim.true_waits._records import Connection, Packet

__all__ = ["Observer"]


@dataclass(frozen=True, slots=True)
class Observer:
    """One end of a connection, with the streams as observed there."""

    connection: Connection
    #: "client" or "server".
    at: str
    requests: Stream
    responses: Stream
    client: Holds
    server: Holds

    @property
    def later(self) -> int:
        """Delay of the response at this end relative to the client."""
        return self.connection.paths[CLIENT].least if self.at == SERVER else 0

    def seen(self, packet: Packet) -> int | None:
        """Return the time at which a packet passes this end."""
        return packet.sent if packet.side == self.at else packet.received
