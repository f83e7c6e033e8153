//! Header block fields as parts of a message.

use tcptrace_http_messages::Message;

/// Placeholder of a value that was not captured.
pub(crate) const UNKNOWN: &str = "<unknown>";
/// Maximum length of a kept value, as in HTTP/1.
const KEPT_BYTES: usize = 8 * 1024;

/// Content of a header block.
#[derive(Debug, Default)]
pub(crate) struct Block {
    pub(crate) method: Option<Box<str>>,
    pub(crate) path: Option<Box<str>>,
    pub(crate) authority: Option<Box<str>>,
    pub(crate) status: Option<u16>,
    pub(crate) urgency: Option<u8>,
    pub(crate) is_grpc: bool,
    pub(crate) grpc_status: Option<u16>,
    pub(crate) content_length: Option<u64>,
    fields: tcptrace_http_messages::Fields,
}

impl Block {
    /// Take a field; `None` marks a part that was not captured.
    pub(crate) fn see(&mut self, name: Option<&[u8]>, value: Option<&[u8]>) {
        let Some(name) = name else { return };
        let text = || value.map_or_else(|| UNKNOWN.into(), text);
        match name {
            b":method" => self.method = Some(text()),
            b":path" => self.path = Some(text()),
            b":authority" => self.authority = Some(text()),
            b":status" => self.status = value.and_then(number),
            b"priority" => self.urgency = value.and_then(urgency),
            b"grpc-status" => self.grpc_status = value.and_then(number),
            b"content-length" => self.content_length = value.and_then(number),
            _ => {
                let Some(value) = value else { return };
                self.is_grpc |= name == b"content-type" && value.starts_with(b"application/grpc");
                if let Ok(name) = std::str::from_utf8(name) {
                    self.fields.take(name, value);
                }
            }
        }
    }

    /// Move the fields to the message; `is_unknown` is true if fields were not captured.
    pub(crate) fn into_message(self, message: &mut Message, is_request: bool, is_unknown: bool) {
        let or_unknown = |text: Option<Box<str>>| {
            let unknown = (is_request && is_unknown).then(|| UNKNOWN.into());
            text.or(unknown)
        };
        message.method = or_unknown(self.method);
        message.target = or_unknown(self.path);
        message.status = self.status;
        message.body.content_length = self.content_length;
        message.fields = self.fields;
        if self.authority.is_some() {
            message.fields.host = self.authority;
        }
    }
}

/// Return the urgency of a priority field (RFC 9218, section 4.1); 3 if the field has none.
pub(crate) fn urgency(value: &[u8]) -> Option<u8> {
    let mut members = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    let named = members.find_map(|member| match member {
        [b'u', b'=', digit @ b'0'..=b'7', ..] => Some(digit.wrapping_sub(b'0')),
        _ => None,
    });
    named.or(Some(3))
}

fn number<T: std::str::FromStr>(value: &[u8]) -> Option<T> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

fn text(bytes: &[u8]) -> Box<str> {
    let kept = bytes.get(..KEPT_BYTES).unwrap_or(bytes);
    String::from_utf8_lossy(kept).into()
}
