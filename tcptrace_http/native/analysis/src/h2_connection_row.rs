//! Row of a flow in the table of HTTP/2 connections.

use trace_model::rows::H2ConnectionRow;

use crate::flow::Flow;

/// Return the HTTP/2 connection row of `flow`, if it carries HTTP/2.
#[must_use]
pub fn h2_connection_row(flow: &Flow) -> Option<H2ConnectionRow> {
    let facts = flow.carried.http2()?;
    let (client, server, frames) = (&facts.client, &facts.server, &facts.frames);
    let window = |window: Option<i64>| window.and_then(|bytes| u64::try_from(bytes).ok());
    Some(H2ConnectionRow {
        flow: flow.id.number,
        is_upgrade: facts.is_upgrade,
        preface_time: facts.preface.map(|it| it.time_ns),
        client_settings_frame: client.settings.map(|it| it.frame),
        client_settings_time: client.settings.map(|it| it.time_ns),
        client_settings_acked_time: client.settings_acked.map(|it| it.time_ns),
        server_settings_frame: server.settings.map(|it| it.frame),
        server_settings_time: server.settings.map(|it| it.time_ns),
        server_settings_acked_time: server.settings_acked.map(|it| it.time_ns),
        client_initial_window: client.initial_window,
        server_initial_window: server.initial_window,
        client_connection_window: window(client.connection_window),
        server_connection_window: window(server.connection_window),
        client_max_frame: client.max_frame,
        server_max_frame: server.max_frame,
        max_concurrent_streams: server.max_concurrent_streams,
        streams: facts.streams,
        data_frames: frames.data,
        headers_frames: frames.headers,
        priority_frames: frames.priority,
        rst_stream_frames: frames.rst_stream,
        settings_frames: frames.settings,
        push_promise_frames: frames.push_promise,
        ping_frames: frames.ping,
        goaway_frames: frames.goaway,
        window_update_frames: frames.window_update,
        continuation_frames: frames.continuation,
        priority_update_frames: frames.priority_update,
        other_frames: frames.other,
        goaway_frame: facts.goaway.map(|it| it.mark.frame),
        goaway_time: facts.goaway.map(|it| it.mark.time_ns),
        goaway_by: facts.goaway.map(|it| it.by),
        goaway_code: facts.goaway.map(|it| it.code),
        last_stream: facts.goaway.map(|it| it.last_stream),
        unknown_fields: facts.unknown_fields,
    })
}
