//! ClientHello and ServerHello (RFC 8446, sections 4.1.2 and 4.1.3; RFC 5246, section 7.4.1).

use crate::bytes::Bytes;

/// The random value that marks a ServerHello as a HelloRetryRequest (RFC 8446, section 4.1.3).
const RETRY: [u8; 32] = [
    0xCF, 0x21, 0xAD, 0x74, 0xE5, 0x9A, 0x61, 0x11, 0xBE, 0x1D, 0x8C, 0x02, 0x1E, 0x65, 0xB8, 0x91,
    0xC2, 0xA2, 0x11, 0x16, 0x7A, 0xBB, 0x8C, 0x5E, 0x07, 0x9E, 0x09, 0xE2, 0xC8, 0xA8, 0x33, 0x9C,
];
const RANDOM_BYTES: usize = 32;

/// The random value that makes every hello unique.
pub(crate) type Random = [u8; RANDOM_BYTES];

const SERVER_NAME: u16 = 0;
const ALPN: u16 = 16;
const ENCRYPT_THEN_MAC: u16 = 22;
const PRE_SHARED_KEY: u16 = 41;
const EARLY_DATA: u16 = 42;
const SUPPORTED_VERSIONS: u16 = 43;

pub(crate) const TLS13: u16 = 0x0304;

/// The content of a ClientHello.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClientHello {
    pub(crate) random: Random,
    pub(crate) server_name: Option<Box<str>>,
    /// The protocol names, comma-separated (RFC 7301).
    pub(crate) protocols: Option<Box<str>>,
    pub(crate) offers_early_data: bool,
}

/// The content of a ServerHello.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerHello {
    pub(crate) random: Random,
    pub(crate) version: u16,
    pub(crate) cipher: u16,
    pub(crate) takes_key: bool,
    pub(crate) is_retry: bool,
    pub(crate) protocol: Option<Box<str>>,
    /// True if the server accepts the client's encrypt-then-MAC offer (RFC 7366).
    pub(crate) encrypts_then_macs: bool,
}

impl ClientHello {
    pub(crate) fn parse(body: &[u8]) -> Option<Self> {
        let mut body = Bytes(body);
        let _version = body.u16()?;
        let random = random(&mut body)?;
        let _session_id = body.vector8()?;
        let _cipher_suites = body.vector16()?;
        let _compression_methods = body.vector8()?;
        let mut hello = ClientHello {
            random,
            ..ClientHello::default()
        };
        each_extension(body, |kind, data| match kind {
            SERVER_NAME => hello.server_name = server_name(data),
            ALPN => hello.protocols = protocols(data),
            EARLY_DATA => hello.offers_early_data = true,
            _ => {}
        });
        Some(hello)
    }
}

impl ServerHello {
    pub(crate) fn parse(body: &[u8]) -> Option<Self> {
        let mut body = Bytes(body);
        let version = body.u16()?;
        let random = random(&mut body)?;
        let _session_id = body.vector8()?;
        let mut hello = ServerHello {
            random,
            version,
            cipher: body.u16()?,
            is_retry: random == RETRY,
            ..ServerHello::default()
        };
        let _compression_method = body.u8()?;
        each_extension(body, |kind, mut data| match kind {
            SUPPORTED_VERSIONS => hello.version = data.u16().map_or(hello.version, without_draft),
            PRE_SHARED_KEY => hello.takes_key = true,
            ALPN => hello.protocol = protocols(data),
            ENCRYPT_THEN_MAC => hello.encrypts_then_macs = true,
            _ => {}
        });
        Some(hello)
    }
}

fn random(body: &mut Bytes<'_>) -> Option<Random> {
    body.take(RANDOM_BYTES)?.try_into().ok()
}

/// Return the final version for the draft versions of TLS 1.3.
fn without_draft(version: u16) -> u16 {
    match version >> 8 {
        0x7F | 0x7E | 0xFB => TLS13,
        _ => version,
    }
}

/// Call `each` for the well-formed extensions. A hello can have none.
fn each_extension(mut body: Bytes<'_>, mut each: impl FnMut(u16, Bytes<'_>)) {
    let mut extensions = body.vector16().unwrap_or(Bytes(&[]));
    while let Some(kind) = extensions.u16() {
        let Some(data) = extensions.vector16() else {
            return;
        };
        each(kind, data);
    }
}

/// Return the first host name of the list (RFC 6066, section 3).
fn server_name(mut data: Bytes<'_>) -> Option<Box<str>> {
    let mut list = data.vector16()?;
    let is_host_name = list.u8()? == 0;
    let name = list.vector16()?;
    is_host_name.then(|| text(name.0))
}

fn protocols(mut data: Bytes<'_>) -> Option<Box<str>> {
    let mut list = data.vector16()?;
    let mut names = Vec::new();
    while let Some(name) = list.vector8() {
        if !is_grease(name.0) {
            names.push(text(name.0));
        }
    }
    (!names.is_empty()).then(|| names.join(",").into())
}

/// Return true for a GREASE name, which clients invent so that servers learn to ignore unknown names (RFC
/// 8701).
fn is_grease(name: &[u8]) -> bool {
    matches!(name, [a, b] if a == b && a & 0x0F == 0x0A)
}

fn text(bytes: &[u8]) -> Box<str> {
    String::from_utf8_lossy(bytes).into()
}
