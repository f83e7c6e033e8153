//! Where a capture was taken: at the client, at the server, or between them.
//!
//! The handshake's two halves are the path from the observation point to the server and back
//! (SYN to SYN-ACK) and to the client and back (SYN-ACK to ACK). Next to one end its half is only
//! the time that a kernel takes to answer. Where the handshake was not captured, the least round
//! trips of data stand in.

use trace_model::rows::ObservationPoint;

/// One half is this many times shorter than the other when the capture was taken at its end. A
/// kernel answers in some 50 microseconds, a local network takes 300 and more.
const NEAR_RATIO: i64 = 4;
/// A half that is shorter than this may be a slow kernel as well as a path: then only a half that is
/// much longer than the other tells.
pub const PATH_MIN_NS: i64 = 300_000;
/// Two halves that are both shorter than this are a loopback or one machine: no place to tell.
const SAME_HOST_MAX_NS: i64 = 100_000;

/// The observation point, by the least round trips from it to the server and to the client.
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
    fn one_direction_alone_tells_nothing() {
        assert_eq!(observation_point(Some(1), None), ObservationPoint::Unknown);
    }
}
