use super::*;

const MS: i64 = 1_000_000;

fn data(time_ms: i64, offset: u64) -> FlightData {
    FlightData {
        frame: 1,
        time_ns: time_ms * MS,
        offset,
        bytes: 1000,
        segments: 1,
        segment_bytes: 1000,
        begins_whole: true,
        rtt_ns: Some(100 * MS),
        receive_window_segments: 60,
        server_rtt_ns: Some(100 * MS),
        takes_ns: 0,
        longer_ns: 0,
        outstanding_bytes: 1000,
        shares_window: false,
    }
}

#[test]
fn what_a_timer_sent_again_that_had_never_been_seen_came_after_no_idle_period() {
    for (was_lost, after_idle) in [(false, 2), (true, 1)] {
        let mut tracker = FlightTracker::default();
        tracker.server_data(data(0, 0));
        tracker.server_data(data(3000, 1000));
        if was_lost {
            tracker.was_lost_unseen();
        }
        assert_eq!(tracker.after_idle.len(), after_idle);
        assert_eq!(tracker.restart.is_none(), was_lost);
    }
}
