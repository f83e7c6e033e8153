//! Pages over sharing connections: from a scenario to its truth.

use std::sync::Arc;

use serde_json::{json, Value};

use crate::segment::flags;
use crate::simulation::{self, Outcome};
use crate::testing;
use crate::truth::{Limit, SendReason, Side};

const MS: u64 = 1_000_000;

/// Return the scenario of a page with HTML of 29 kB and images of 7, 10 and 13 kB. Each object has its own
/// connection, as in Eggert 1999, section 4. The page is visited twice, 2 s apart. Python has the paper's
/// other pages.
fn document(sharing: &Value) -> Value {
    let mut document = testing::document();
    let stack = &mut document["stacks"][0];
    stack["mss"] = json!(512);
    stack["initial_window"] = json!({"kind": "segments", "segments": 1});
    stack["congestion"] = json!("reno");
    stack["timestamps"] = json!(false);
    stack["acks"]["every"] = json!(1);
    stack["acks"]["counts_segments"] = json!(true);
    stack["max_window_segments"] = json!(20);
    stack["sharing"] = sharing.clone();
    let object = |target: &str, content_type: &str, bytes: u64| {
        json!({
            "target": target, "content_type": content_type,
            "size": {"kind": "constant", "value": bytes},
            "status": 200, "request_fields": [], "response_fields": [], "processing_ns": 0,
        })
    };
    document["pages"][0]["objects"] = json!([
        object("/", "text/html", 29_000),
        object("/a.gif", "image/gif", 7_000),
        object("/b.gif", "image/gif", 10_000),
        object("/c.gif", "image/gif", 13_000),
    ]);
    let fetch = |object: u32| {
        json!({
            "method": "GET", "objects": [object], "after": {"kind": "start"}, "lane": null,
            "whole_segments": false, "split_after": null, "split_gap_ns": 0,
        })
    };
    let plan = &mut document["plans"][0];
    plan["connections"] = json!(null);
    plan["persistent"] = json!(false);
    // The images are requested first, so that the HTML must overtake them.
    plan["fetches"] = json!([fetch(1), fetch(2), fetch(3), fetch(0)]);
    document["servers"][0]["keep_alive"] = json!(null);
    document["browsers"][0]["http_version"] = json!("HTTP/1.0");
    document["browsers"][0]["visits"] =
        json!([{"page": 0, "plan": 0, "think_ns": null}, {"page": 0, "plan": 0, "think_ns": null}]);
    document["browsers"][0]["think"] = json!({"kind": "constant", "value": 2000 * MS});
    for link in document["links"].as_array_mut().unwrap() {
        link["rate_bps"] = json!(800_000);
        link["delay_ns"] = json!(25 * MS);
        link["queue"] = json!({"kind": "unlimited"});
    }
    document
}

fn run(document: Value) -> Outcome {
    let outcome = simulation::run(&Arc::new(testing::scenario(document))).unwrap();
    assert!(outcome.truth.retrievals.iter().all(|row| row.end.is_some()));
    outcome
}

/// Return the arrival times of the HTML and of the whole page, from the visit's start.
fn times(outcome: &Outcome, visit: u32) -> (u64, u64) {
    let truth = &outcome.truth;
    let retrieval = truth
        .retrievals
        .iter()
        .find(|row| row.visit == visit)
        .unwrap();
    let html = truth
        .transactions
        .iter()
        .find(|row| row.visit == visit && row.target == "/")
        .unwrap();
    (
        html.response_last_received.unwrap() - retrieval.start,
        retrieval.end.unwrap() - retrieval.start,
    )
}

#[test]
fn html_pre_delivers_html_first_and_the_page_at_the_same_time_as_fair() {
    let [fair, content, pre] = ["fair", "content-dependent", "html-pre"]
        .map(|policy| times(&run(document(&json!({ "etcp": policy }))), 0));
    assert!(
        pre.0 < content.0 && content.0 < fair.0,
        "{pre:?} {content:?} {fair:?}"
    );
    // All schedulers fill the same window (section 4.1), so the ends differ by the last turns only.
    assert!(pre.1.abs_diff(fair.1) < 20 * MS, "{pre:?} {fair:?}");
}

#[test]
fn the_second_visit_starts_from_the_last_window() {
    let outcome = run(document(&json!({ "etcp": "html-pre" })));
    let (first, second) = (times(&outcome, 0), times(&outcome, 1));
    assert!(second.1 < first.1, "{second:?} {first:?}");
    let paced = |visit: u32| {
        let retrieval = &outcome.truth.retrievals[visit as usize];
        let during = retrieval.start..retrieval.end.unwrap();
        let limits = outcome.truth.limits.iter();
        limits
            .filter(|row| row.side == Side::Server && during.contains(&row.time))
            .filter(|row| row.limit == Limit::Pacing)
            .count()
    };
    assert_eq!(paced(0), 0);
    assert!(paced(1) > 0);
}

#[test]
fn members_wait_for_their_turns() {
    let outcome = run(document(&json!({ "etcp": "fair" })));
    assert!(outcome
        .truth
        .limits
        .iter()
        .any(|row| row.limit == Limit::Scheduler));
}

/// Most members send their last data on another member's ACK. From then on they have no data.
#[test]
fn a_member_without_unsent_data_is_application_limited() {
    let truth = run(document(&json!({ "etcp": "fair" }))).truth;
    let of_server = truth.packets.iter().filter(|it| it.side == Side::Server);
    let data: Vec<_> = of_server.filter(|it| it.payload > 0).collect();
    for connection in data.iter().map(|it| it.connection) {
        let own = data.iter().filter(|it| it.connection == connection);
        let last = own.map(|it| it.sent).max().unwrap();
        let limits = truth.limits.iter();
        let mut of_it = limits.filter(|it| it.connection == connection && it.side == Side::Server);
        let holds = of_it.rfind(|it| it.time <= last);
        assert_eq!(holds.map(|it| it.limit), Some(Limit::Application));
    }
}

/// The ensemble's congestion window also grows above the stack's maximum in flight. A member then does not
/// wait for another connection's turn.
#[test]
fn a_window_above_the_stack_maximum_blocks_no_member() {
    let truth = run(document(&json!({ "etcp": "fair" }))).truth;
    let window = |row: &crate::truth::LimitRow| {
        let windows = truth.windows.iter();
        let known = windows.filter(|it| it.side == Side::Server && it.time <= row.time);
        known.max_by_key(|it| it.time).unwrap().cwnd / 512
    };
    let of = |limit| {
        truth
            .limits
            .iter()
            .filter(move |it| it.side == Side::Server && it.limit == limit)
    };
    assert!(of(Limit::Scheduler).all(|row| window(row) <= 20));
    assert!(of(Limit::MaxWindow).count() > 0);
    assert!(of(Limit::MaxWindow).all(|row| window(row) > 20));
}

/// No single member fills the window in turn, but four together do. A stack that grows the window only while
/// it is used (RFC 2861) then grows it.
#[test]
fn a_window_filled_by_all_members_together_is_used() {
    let mut document = document(&json!({ "etcp": "fair" }));
    document["stacks"][0]["congestion"] = json!("cubic");
    document["stacks"][0]["max_window_segments"] = json!(1000);
    let truth = run(document).truth;
    let of_server = truth.windows.iter().filter(|it| it.side == Side::Server);
    let largest = of_server.map(|it| it.cwnd).max();
    assert!(largest > Some(120 * 512), "{largest:?}");
}

#[test]
fn the_members_flight_never_exceeds_the_shared_window() {
    let outcome = run(document(&json!({ "etcp": "fair" })));
    let mut ends = [0_u64; 8];
    let mut acks = [1_u64; 8];
    let mut packets: Vec<_> = outcome.truth.packets.iter().collect();
    packets.sort_by_key(|row| row.sent);
    for row in packets
        .iter()
        .filter(|row| row.payload > 0 && row.side == Side::Server)
    {
        assert_eq!(row.reason, SendReason::New, "nothing is lost");
        ends[row.connection as usize] = row.seq + u64::from(row.payload);
        for ack in outcome.truth.packets.iter().filter(|ack| {
            ack.side == Side::Client && ack.received.is_some_and(|time| time <= row.sent)
        }) {
            let known = &mut acks[ack.connection as usize];
            *known = ack.ack.max(*known);
        }
        let flight: u64 = ends
            .iter()
            .zip(&acks)
            .map(|(end, ack)| end.saturating_sub(*ack))
            .sum();
        assert!(flight <= 20 * 512, "{flight} at {}", row.sent);
    }
}

/// Return the outcome of one object of three segments, fetched twice by T/TCP.
fn accelerated(accelerated_open: bool) -> Outcome {
    let mut document = document(&json!("none"));
    document["stacks"][0]["accelerated_open"] = json!(accelerated_open);
    // With an undelayed ACK, the SYN-ACK would leave before the response.
    document["stacks"][0]["acks"]["every"] = json!(2);
    document["stacks"][0]["initial_window"]["segments"] = json!(4);
    document["pages"][0]["objects"][3]["size"]["value"] = json!(1200);
    document["plans"][0]["fetches"] = json!([document["plans"][0]["fetches"][0]]);
    document["plans"][0]["fetches"][0]["objects"] = json!([3]);
    document["taps"] = json!([{"kind": "node", "index": 2}]);
    run(document)
}

/// Claim B7: a server that knows the client accepts the request on the SYN.
#[test]
fn the_second_connection_of_two_hosts_skips_the_handshake() {
    let (plain, accelerated) = (accelerated(false), accelerated(true));
    let duration = |outcome: &Outcome, visit: usize| {
        let row = &outcome.truth.retrievals[visit];
        row.end.unwrap() - row.start
    };
    // A round trip is 100 ms. The packets of a request and a response take about 20 ms.
    let saved = duration(&plain, 1) - duration(&accelerated, 1);
    assert!((100 * MS..110 * MS).contains(&saved), "{saved}");
    assert_eq!(duration(&plain, 0), duration(&plain, 1));
    // The option takes 8 bytes per segment.
    let first = duration(&accelerated, 0) - duration(&plain, 0);
    assert!(first < 10 * MS, "{first}");
}

#[test]
fn a_known_peers_syn_carries_the_request_and_the_syn_ack_the_response() {
    let outcome = accelerated(true);
    let mut first = outcome
        .truth
        .packets
        .iter()
        .filter(|row| row.connection == 1);
    let (syn, answer) = (first.next().unwrap(), first.next().unwrap());
    assert_eq!(
        (syn.side, syn.flags & (flags::SYN | flags::ACK)),
        (Side::Client, flags::SYN)
    );
    assert!(syn.payload > 0);
    assert_eq!(answer.side, Side::Server);
    assert_eq!(
        answer.flags & (flags::SYN | flags::ACK),
        flags::SYN | flags::ACK
    );
    assert_eq!(answer.ack, 1 + u64::from(syn.payload));
    assert!(answer.payload > 0 && answer.seq == 0);
    let unknown = outcome
        .truth
        .packets
        .iter()
        .find(|row| row.connection == 0)
        .unwrap();
    assert_eq!((unknown.flags, unknown.payload), (flags::SYN, 0));
    let tx = &outcome.truth.transactions[1];
    assert_eq!(tx.request_first_sent, Some(syn.sent));
    assert!(outcome
        .truth
        .packets
        .iter()
        .all(|row| row.bytes <= 512 + 40 + 20));
}

#[test]
fn an_accelerated_open_survives_the_loss_of_any_packet() {
    for lost in (0..40_u64).step_by(3) {
        for direction in [1, 2] {
            let mut document = document(&json!({ "etcp": "html-pre" }));
            document["stacks"][0]["accelerated_open"] = json!(true);
            let loss = json!([{"kind": "numbered", "packets": [lost, lost + 1, lost + 40]}]);
            document["links"][direction]["loss"] = loss;
            let outcome = run(document);
            assert_eq!(outcome.truth.transactions.len(), 8);
            for row in outcome.truth.transactions.iter() {
                assert!(row.response_last_received.is_some(), "{lost} {direction}");
            }
        }
    }
}

/// Return the outcome of one object, fetched twice with TCP Fast Open and with these packets of a direction
/// lost.
fn opened_fast(lost: &[u64], direction: usize) -> Outcome {
    let mut document = document(&json!("none"));
    document["stacks"][0]["fast_open"] = json!(true);
    document["stacks"][0]["sack"] = json!(true);
    document["stacks"][0]["tail_loss_probe"] = json!(true);
    let loss = json!([{"kind": "numbered", "packets": lost}]);
    document["links"][direction]["loss"] = loss;
    document["taps"] = json!([{"kind": "node", "index": 2}]);
    run(document)
}

#[test]
fn a_fast_open_survives_the_loss_of_any_packet() {
    for lost in 0..40_u64 {
        for direction in [1, 2] {
            let outcome = opened_fast(&[lost, lost + 1, lost + 40], direction);
            assert_eq!(outcome.truth.transactions.len(), 8);
            for row in outcome.truth.transactions.iter() {
                assert!(row.response_last_received.is_some(), "{lost} {direction}");
            }
        }
    }
}

#[test]
fn a_client_with_a_cookie_sends_its_request_on_the_syn() {
    let outcome = opened_fast(&[], 1);
    let packets = outcome.truth.packets.iter();
    let syns: Vec<_> = packets
        .filter(|row| row.flags & flags::SYN != 0 && row.side == Side::Client)
        .map(|row| (row.sent, row.payload))
        .collect();
    // Four connections open together before any cookie arrives. In the second visit all have the cookie.
    let with_data = syns.iter().filter(|(_, payload)| *payload > 0).count();
    assert_eq!((syns.len(), with_data), (8, 4), "{syns:?}");
}
