//! A small test scenario: a client and a server with a router between them.

use serde_json::{json, Value};

use crate::scenario::Scenario;

/// Return a stack like the presets.
fn stack() -> Value {
    let millisecond = 1_000_000_u64;
    json!({
        "name": "test", "mss": 1460, "mss_option": true, "window_scale": 2, "timestamps": true,
        "sack": false, "receive_buffer": 65_536, "send_buffer": 32_768,
        "max_window_segments": null, "congestion": "newreno",
        "initial_window": {"kind": "segments", "segments": 2},
        "initial_ssthresh_segments": null, "handshake_ack_opens_window": false,
        "acks": {
            "every": 2, "counts_segments": false,
            "delay": {"kind": "timer", "delay_ns": 200 * millisecond},
            "at_once_bytes": 0, "quick_acks": null, "on_push": false,
        },
        "nagle": "off",
        "retransmission": {
            "initial_ns": 3000 * millisecond, "min_ns": 1000 * millisecond,
            "max_ns": 64_000 * millisecond, "tick_ns": 0, "on_ticks": false,
            "duplicate_ack_threshold": 3, "syn_initial_ns": 3000 * millisecond, "max_retries": 5,
        },
        "tail_loss_probe": false, "limited_transmit": false, "idle_restart": "reset",
        "data_on_handshake_ack": false, "upcall_before_ack": false, "write_step_bytes": null, "writer_wakes": "any",
        "fin_with_data": true, "accelerated_open": false, "sharing": "none", "time_wait_ns": 0,
    })
}

fn link(from: u32, to: u32) -> Value {
    json!({
        "name": format!("{from}-{to}"), "from": from, "to": to, "rate_bps": 1_000_000,
        "delay_ns": 10_000_000, "queue": {"kind": "packets", "limit": 25}, "loss": [],
    })
}

fn object(target: &str, bytes: u64) -> Value {
    json!({
        "target": target, "content_type": "text/html",
        "size": {"kind": "constant", "value": bytes},
        "status": 200, "request_fields": [], "response_fields": [], "processing_ns": 0,
    })
}

fn fetch(object: u32, after: &Value) -> Value {
    json!({
        "method": "GET", "objects": [object], "after": after, "lane": null,
        "whole_segments": false, "split_after": null, "split_gap_ns": 0,
    })
}

/// Return a scenario in which one browser fetches a page of two objects from one server. The links have 1
/// Mb/s and 10 ms, with a router between them. Each test changes its own subject.
pub fn document() -> Value {
    let node = |name: &str, last: u8| json!({"name": name, "address": [10, 0, 0, last]});
    json!({
        "seed": 1, "duration_ns": null, "epoch_ns": 1_000_000_000_000_000_000_i64,
        "framing_bytes": 14,
        "nodes": [node("client", 1), node("router", 2), node("server", 3)],
        "links": [link(0, 1), link(1, 2), link(2, 1), link(1, 0)],
        "stacks": [stack()],
        "servers": [{
            "node": 2, "port": 80, "stack": 0, "product": "Test/1.0",
            "processing": {"kind": "constant", "value": 5_000_000},
            "writes": {"head_alone": true, "chunk_bytes": null, "gap_ns": 0},
            "keep_alive": {"max_requests": null, "timeout_ns": 15_000_000_000_u64},
            "sizes_include_heads": false, "min_head_bytes": 0,
        }],
        "browsers": [{
            "node": 0, "stack": 0, "origin": {"kind": "server", "index": 0}, "start_ns": 0,
            "visits": [{"page": 0, "plan": 0, "think_ns": null}], "forever": false,
            "think": {"kind": "constant", "value": 1_000_000_000}, "thinks_before_fetches": false,
            "parse_ns": 0, "waits_for_close_ns": null, "min_request_bytes": 0,
            "http_version": "HTTP/1.1", "reading": null,
        }],
        "transfers": [], "proxies": [],
        "pages": [{
            "name": "page", "host": "www.example.com",
            "objects": [object("/", 20_000), object("/a.html", 3000)],
        }],
        "plans": [{
            "connections": 1, "persistent": true, "pipelining": 1, "keeps_connections": false,
            "fetches": [
                fetch(0, &json!({"kind": "start"})),
                fetch(1, &json!({"kind": "complete", "fetch": 0})),
            ],
        }],
        "taps": [],
        "record": {"packets": true, "windows": true, "queues": true, "limits": true},
    })
}

pub fn scenario(document: Value) -> Scenario {
    serde_json::from_value(document).unwrap()
}
