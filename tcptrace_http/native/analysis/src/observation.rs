//! Capture point: at the client, at the server, or between them.
//!
//! The handshake has two halves. SYN to SYN-ACK is the path from the capture point to the server and back.
//! SYN-ACK to ACK is the path to the client and back. Near one end, its half is only the answer time of a
//! kernel. Without a captured handshake, the smallest round trips of data replace the halves.

use trace_model::rows::ObservationPoint;

/// Minimum ratio of the two halves if the capture point is at one end.
///
/// A kernel answers within about 50 µs. A local network takes at least 300 µs.
const NEAR_RATIO: i64 = 4;
/// Shortest half that must be a path: a shorter half may be a slow kernel, so only a large ratio decides.
pub const PATH_MIN_NS: i64 = 300_000;
/// Longest time of both halves on a loopback or one machine, where no capture point is assigned.
const SAME_HOST_MAX_NS: i64 = 100_000;

/// Return the capture point from the smallest round trips to the server and to the client.
#[must_use]
pub fn observation_point(to_server: Option<i64>, to_client: Option<i64>) -> ObservationPoint {
    let (Some(to_server), Some(to_client)) = (to_server, to_client) else {
        return ObservationPoint::Unknown;
    };
    if to_server.max(to_client) < SAME_HOST_MAX_NS {
        ObservationPoint::Unknown
    } else if to_client.saturating_mul(NEAR_RATIO) <= to_server {
        ObservationPoint::Client
    } else if to_server.saturating_mul(NEAR_RATIO) <= to_client {
        ObservationPoint::Server
    } else if to_server.min(to_client) >= PATH_MIN_NS {
        ObservationPoint::Middle
    } else {
        ObservationPoint::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearer_end_answers_at_once() {
        let at = |server, client| observation_point(Some(server), Some(client));
        assert_eq!(at(100_000_000, 60_000), ObservationPoint::Client);
        assert_eq!(at(50_000, 700_000), ObservationPoint::Server);
        assert_eq!(at(30_000_000, 20_000_000), ObservationPoint::Middle);
        assert_eq!(at(20_000, 15_000), ObservationPoint::Unknown);
        assert_eq!(at(250_000, 210_000), ObservationPoint::Unknown);
    }

    #[test]
    fn one_direction_gives_no_capture_point() {
        assert_eq!(observation_point(Some(1), None), ObservationPoint::Unknown);
    }
}
