//! Frames in wire format (RFC 9113, sections 4 and 6).

/// The client preface, in front of the client's first SETTINGS (RFC 9113, section 3.4).
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Default of SETTINGS_MAX_FRAME_SIZE (RFC 9113, section 6.5.2).
const FRAME_BYTES: usize = 1 << 14;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;

pub(super) const ENABLE_PUSH: u16 = 2;
pub(super) const MAX_CONCURRENT_STREAMS: u16 = 3;
pub(super) const INITIAL_WINDOW_SIZE: u16 = 4;

fn header(bytes: usize, kind: u8, flags: u8, stream: u32) -> Vec<u8> {
    let [_, high, middle, low] = (bytes as u32).to_be_bytes();
    let mut frame = vec![high, middle, low, kind, flags];
    frame.extend(stream.to_be_bytes());
    frame
}

/// Return the header of a DATA frame.
pub(super) fn data(stream: u32, bytes: u64, is_last: bool) -> Vec<u8> {
    let flags = if is_last { END_STREAM } else { 0 };
    header(bytes as usize, DATA, flags, stream)
}

/// Return HEADERS, and CONTINUATION for a block longer than a frame.
pub(super) fn headers(stream: u32, block: &[u8], is_last: bool) -> Vec<u8> {
    let mut frames = Vec::new();
    let count = block.len().div_ceil(FRAME_BYTES);
    for (number, part) in block.chunks(FRAME_BYTES).enumerate() {
        let kind = if number == 0 { HEADERS } else { CONTINUATION };
        let mut flags = if number + 1 == count { END_HEADERS } else { 0 };
        if number == 0 && is_last {
            flags |= END_STREAM;
        }
        frames.extend(header(part.len(), kind, flags, stream));
        frames.extend(part);
    }
    frames
}

pub(super) fn settings(values: &[(u16, u32)]) -> Vec<u8> {
    let mut frame = header(6 * values.len(), SETTINGS, 0, 0);
    for (name, value) in values {
        frame.extend(name.to_be_bytes());
        frame.extend(value.to_be_bytes());
    }
    frame
}

pub(super) fn settings_ack() -> Vec<u8> {
    header(0, SETTINGS, ACK, 0)
}

/// Return a WINDOW_UPDATE of a stream, or of the connection (stream 0).
pub(super) fn window_update(stream: u32, bytes: u32) -> Vec<u8> {
    let mut frame = header(4, WINDOW_UPDATE, 0, stream);
    frame.extend(bytes.to_be_bytes());
    frame
}
