use super::*;

const MS: i64 = 1_000_000;

fn after(distances: &[(i64, u32)]) -> Arrivals {
    let mut arrivals = Arrivals::default();
    for (gap_ns, bytes) in distances {
        arrivals.came_after(*gap_ns, *bytes, 1, 20 * MS);
    }
    arrivals
}

#[test]
fn distances_in_proportion_to_the_segments_are_a_slow_link() {
    // 8 bits at 80 kbit/s are 0.1 ms.
    let arrivals = after(&[(100 * MS, 946), (50 * MS, 446)]);
    assert_eq!(arrivals.takes_ns(146, 1), Some(20 * MS));
}

#[test]
fn a_short_segment_shows_no_quicker_link_by_headers_that_the_link_has_not() {
    // The link carries a byte in 0.1 ms, and has no headers of its own.
    let full = (100 * MS, 960);
    let short = |gap_ns: i64| after(&[full, full, (gap_ns, 260)]);
    assert!(short(30 * MS).takes_ns(960, 1).is_some());
    assert_eq!(short(28 * MS).takes_ns(960, 1), None);
}

#[test]
fn distances_agree_on_a_link_that_has_no_headers_of_its_own() {
    // The link carries a byte in 0.1 ms.
    let (full, short) = ((100 * MS, 960), (32 * MS, 280));
    for distances in [[full, short], [short, full]] {
        assert!(after(&distances).takes_ns(960, 1).is_some());
    }
    assert_eq!(after(&[full, (35 * MS, 280)]).takes_ns(960, 1), None);
    let alone = after(&[short]);
    let (mut by_late, mut by_two) = (alone, alone);
    by_late.agrees_with(100_000_000);
    by_two.agree_on(100_000_000, 100_000_000);
    assert!(by_late.takes_ns(960, 1).is_some());
    assert!(by_two.takes_ns(960, 1).is_some());
}

#[test]
fn a_short_segment_may_agree_with_data_that_came_late() {
    // The link carries a byte in 0.1 ms, and has headers of its own or none.
    for short_ns in [20 * MS, 18_600_000] {
        let mut arrivals = after(&[(short_ns, 146)]);
        arrivals.agrees_with(120_000_000);
        assert_eq!(arrivals.takes_ns(946, 1), None);
        arrivals.agrees_with(100_000_000);
        assert_eq!(arrivals.takes_ns(946, 1), Some(100 * MS));
    }
}

#[test]
fn a_short_segment_may_agree_with_a_single_distance_and_alone_shows_no_link() {
    // The link carries a byte in 0.1 ms, and has headers of its own or none.
    let full = (100 * MS, 946);
    for short in [(20 * MS, 146), (18_600_000, 146)] {
        assert_eq!(after(&[full, short]).takes_ns(946, 1), Some(100 * MS));
        assert_eq!(after(&[short, full]).takes_ns(946, 1), Some(100 * MS));
        assert_eq!(after(&[short, short]).takes_ns(946, 1), None);
    }
    assert_eq!(after(&[full, (30 * MS, 146)]).takes_ns(946, 1), None);
}

#[test]
fn what_takes_much_longer_than_others_did_was_not_on_the_link_alone() {
    let arrivals = after(&[(MS, 946), (MS, 946)]);
    assert!(arrivals.is_outlasted(5 * MS, 946, 1));
    assert!(!arrivals.is_outlasted(3 * MS, 946, 1));
    assert!(!after(&[(MS, 946)]).is_outlasted(5 * MS, 946, 1));
}

#[test]
fn of_two_that_are_known_the_shorter_is_the_links() {
    let (slow, fast) = (
        after(&[(MS, 946), (MS, 946)]),
        after(&[(100, 946), (100, 946)]),
    );
    assert!(fast.bounds(slow) && !slow.bounds(fast));
    assert!(slow.bounds(after(&[(100, 946)])));
    assert!(!after(&[(100, 946)]).bounds(slow));
}

#[test]
fn distances_that_disagree_are_the_applications() {
    let arrivals = after(&[(100 * MS, 946), (70 * MS, 446), (40 * MS, 446)]);
    assert_eq!(arrivals.takes_ns(146, 1), None);
}

#[test]
fn a_round_trip_that_agrees_with_a_single_distance_shows_the_link() {
    let mut arrivals = after(&[(100 * MS, 946)]);
    assert_eq!(arrivals.takes_ns(946, 1), None);
    arrivals.may_agree(140 * MS, 946, 1);
    assert_eq!(arrivals.takes_ns(946, 1), None);
    arrivals.may_agree(150 * MS, 1446, 1);
    assert_eq!(arrivals.takes_ns(946, 1), Some(100 * MS));
}

#[test]
fn two_that_came_late_in_proportion_to_their_bytes_show_the_link_where_no_distance_did() {
    let mut arrivals = after(&[(100 * MS, 946)]);
    let late = |ms, bytes, headers| arrivals.late_ps(ms * MS, bytes, headers).unwrap_or(0);
    let (answer, let_go) = (late(4, 746, 1), late(5, 1000, 0));
    arrivals.agree_on(let_go, answer);
    assert_eq!(arrivals.takes_ns(946, 1), Some(5 * MS));
    assert_eq!(arrivals.late_ps(5 * MS, 100, 0), None, "too few bytes");
}

#[test]
fn a_single_distance_is_the_links_if_what_an_ack_let_go_was_as_late() {
    let mut arrivals = after(&[(10 * MS, 946)]);
    arrivals.agrees_with(5_000_000);
    assert_eq!(arrivals.takes_ns(946, 1), None);
    arrivals.agrees_with(10_100_000);
    assert_eq!(arrivals.takes_ns(946, 1), Some(10 * MS));
}

#[test]
fn a_link_is_open_until_distances_agree_or_one_is_no_slow_links() {
    assert!(Arrivals::default().is_open());
    assert!(after(&[(100 * MS, 946)]).is_open());
    assert!(!after(&[(100 * MS, 946), (50 * MS, 446)]).is_open());
    assert!(after(&[(MS, 946)]).is_open());
    assert!(!after(&[(MS / 20, 946)]).is_open());
}

#[test]
fn a_fast_link_and_one_on_which_no_handshake_had_come_are_none() {
    let at = |gap_ns| after(&[(gap_ns, 946), (gap_ns, 946)]).takes_ns(946, 1);
    // 1,000 bytes take 80 microseconds at 100 Mbit/s.
    assert_eq!(at(80_000), Some(80_000));
    assert_eq!(at(8_000), None);
    let longer = after(&[(500 * MS, 946), (500 * MS, 946)]);
    assert_eq!(longer.takes_ns(946, 1), None);
}

#[test]
fn distances_that_agree_disprove_what_data_seemed_late_by() {
    let late_for = |distances: &[i64]| {
        let mut arrivals = Arrivals::default();
        arrivals.agree_on(50_000_000, 50_000_000);
        for gap_ns in distances {
            arrivals.came_after(*gap_ns, 946, 1, 20 * MS);
        }
        arrivals.takes_ns(946, 1)
    };
    let agreeing = [100 * MS; 3];
    assert_eq!(late_for(&agreeing), Some(100 * MS));
    assert_eq!(late_for(&agreeing[..2]), Some(50 * MS));
    let written = [100 * MS, 150 * MS, 100 * MS, 120 * MS];
    assert_eq!(
        late_for(&written),
        Some(50 * MS),
        "an application writes so"
    );
}

#[test]
fn no_longer_distances_disprove_a_distance() {
    let quick = [(50 * MS, 946); 2];
    let slow = [(100 * MS, 946); 4];
    let arrivals = after(&[&quick[..], &slow[..]].concat());
    assert_eq!(arrivals.takes_ns(946, 1), Some(50 * MS));
}

#[test]
fn no_link_takes_longer_than_an_answer_came_later_than_the_path() {
    let pieces = [(23 * MS, 512), (23 * MS, 512)];
    let answered = |longer_ms: i64| {
        let mut arrivals = after(&pieces);
        let others = arrivals;
        arrivals.answered(longer_ms * MS, 400);
        (
            arrivals.takes_ns(512, 1).is_some(),
            arrivals.refutes(others),
        )
    };
    // 400 bytes take 18 ms on such a link.
    assert_eq!(answered(18), (true, false));
    assert_eq!(answered(12), (false, true));
    assert_eq!(answered(-1), (false, true));
}

#[test]
fn what_answers_have_refuted_begins_no_link_again() {
    let mut arrivals = Arrivals::default();
    arrivals.answered(MS, 400);
    for _ in 0..3 {
        arrivals.came_after(23 * MS, 512, 1, 20 * MS);
    }
    assert_eq!(arrivals.takes_ns(512, 1), None);
    for _ in 0..3 {
        arrivals.came_after(3 * MS, 512, 1, 20 * MS);
    }
    assert!(arrivals.takes_ns(512, 1).is_some());
}
