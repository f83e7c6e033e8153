//! Cipher suites: their names, and their overhead per record.

use crate::hello::TLS13;

/// Suites in use, under their IANA names ("TLS Cipher Suites").
const NAMES: &[(u16, &str)] = &[
    (0x0004, "TLS_RSA_WITH_RC4_128_MD5"),
    (0x0005, "TLS_RSA_WITH_RC4_128_SHA"),
    (0x000A, "TLS_RSA_WITH_3DES_EDE_CBC_SHA"),
    (0x0016, "TLS_DHE_RSA_WITH_3DES_EDE_CBC_SHA"),
    (0x002F, "TLS_RSA_WITH_AES_128_CBC_SHA"),
    (0x0033, "TLS_DHE_RSA_WITH_AES_128_CBC_SHA"),
    (0x0035, "TLS_RSA_WITH_AES_256_CBC_SHA"),
    (0x0039, "TLS_DHE_RSA_WITH_AES_256_CBC_SHA"),
    (0x003C, "TLS_RSA_WITH_AES_128_CBC_SHA256"),
    (0x003D, "TLS_RSA_WITH_AES_256_CBC_SHA256"),
    (0x0067, "TLS_DHE_RSA_WITH_AES_128_CBC_SHA256"),
    (0x006B, "TLS_DHE_RSA_WITH_AES_256_CBC_SHA256"),
    (0x009C, "TLS_RSA_WITH_AES_128_GCM_SHA256"),
    (0x009D, "TLS_RSA_WITH_AES_256_GCM_SHA384"),
    (0x009E, "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256"),
    (0x009F, "TLS_DHE_RSA_WITH_AES_256_GCM_SHA384"),
    (0x1301, "TLS_AES_128_GCM_SHA256"),
    (0x1302, "TLS_AES_256_GCM_SHA384"),
    (0x1303, "TLS_CHACHA20_POLY1305_SHA256"),
    (0x1304, "TLS_AES_128_CCM_SHA256"),
    (0x1305, "TLS_AES_128_CCM_8_SHA256"),
    (0xC007, "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA"),
    (0xC009, "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA"),
    (0xC00A, "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA"),
    (0xC011, "TLS_ECDHE_RSA_WITH_RC4_128_SHA"),
    (0xC012, "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA"),
    (0xC013, "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"),
    (0xC014, "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA"),
    (0xC023, "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256"),
    (0xC024, "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384"),
    (0xC027, "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256"),
    (0xC028, "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384"),
    (0xC02B, "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"),
    (0xC02C, "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"),
    (0xC02F, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"),
    (0xC030, "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"),
    (0xC09C, "TLS_RSA_WITH_AES_128_CCM"),
    (0xC09D, "TLS_RSA_WITH_AES_256_CCM"),
    (0xC0A0, "TLS_RSA_WITH_AES_128_CCM_8"),
    (0xC0A1, "TLS_RSA_WITH_AES_256_CCM_8"),
    (0xC0AC, "TLS_ECDHE_ECDSA_WITH_AES_128_CCM"),
    (0xC0AD, "TLS_ECDHE_ECDSA_WITH_AES_256_CCM"),
    (0xC0AE, "TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8"),
    (0xC0AF, "TLS_ECDHE_ECDSA_WITH_AES_256_CCM_8"),
    (0xCCA8, "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"),
    (0xCCA9, "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"),
    (0xCCAA, "TLS_DHE_RSA_WITH_CHACHA20_POLY1305_SHA256"),
];

/// Overhead of a TLS 1.3 record: the tag, and one byte for the inner content type (RFC 8446, section 5.2).
const TLS13_OVERHEAD: u16 = 17;
/// Overhead of a TLS 1.2 record, by a part of the suite's name. An AEAD adds an explicit nonce and a tag (RFC
/// 5288, RFC 6655, RFC 7905). Other suites add a MAC and an explicit IV (RFC 5246, section 6.2.3). Padding is
/// unknown and counts as one byte.
const OVERHEADS: &[(&str, u16)] = &[
    ("_GCM_", 24),
    ("_CHACHA20_", 16),
    ("_CCM_8", 16),
    ("_CCM", 24),
    ("_3DES_EDE_CBC_SHA", 8 + 20 + 1),
    ("_CBC_SHA256", 16 + 32 + 1),
    ("_CBC_SHA384", 16 + 48 + 1),
    ("_CBC_SHA", 16 + 20 + 1),
    ("_RC4_128_SHA", 20),
    ("_RC4_128_MD5", 16),
];

/// Return the suite's name, or its number in hexadecimal for a suite that is not in use.
pub(crate) fn name(suite: u16) -> String {
    known_name(suite).map_or_else(|| format!("0x{suite:04X}"), str::to_owned)
}

fn known_name(suite: u16) -> Option<&'static str> {
    let at = NAMES.binary_search_by_key(&suite, |(number, _)| *number);
    at.ok().and_then(|at| NAMES.get(at)).map(|(_, name)| *name)
}

/// Return the overhead of a record in bytes, 0 for an unknown suite.
pub(crate) fn overhead(version: u16, suite: u16) -> u16 {
    if version == TLS13 {
        return TLS13_OVERHEAD;
    }
    let name = known_name(suite).unwrap_or_default();
    let found = OVERHEADS.iter().find(|(part, _)| name.contains(part));
    found.map_or(0, |(_, bytes)| *bytes)
}

/// Return the length of a TLS 1.3 record that holds only a Finished message: type, length and a hash.
pub(crate) fn finished_length(suite: u16) -> u16 {
    let hash = if known_name(suite).is_some_and(|name| name.ends_with("_SHA384")) {
        48
    } else {
        32
    };
    TLS13_OVERHEAD + 4 + hash
}

/// Length of a TLS 1.3 record with an alert: level and description. The text of a request is always longer.
pub(crate) const TLS13_ALERT: u16 = TLS13_OVERHEAD + 2;
/// Length of a TLS 1.3 record with EndOfEarlyData, a message without a body.
pub(crate) const TLS13_END_OF_EARLY_DATA: u16 = TLS13_OVERHEAD + 4;
/// Length of a TLS 1.3 record with KeyUpdate, whose body is one byte.
pub(crate) const TLS13_KEY_UPDATE: u16 = TLS13_OVERHEAD + 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_by_number() {
        assert!(NAMES.is_sorted_by_key(|(number, _)| *number));
        assert_eq!(name(0xC02F), "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256");
        assert_eq!(name(0x5A5A), "0x5A5A");
    }

    #[test]
    fn every_suite_adds_to_a_record() {
        for (number, name) in NAMES {
            assert!(overhead(0x0303, *number) >= 16, "{name}");
        }
        assert_eq!(overhead(TLS13, 0x1301), 17);
        assert_eq!(overhead(0x0303, 0xCCA8), 16);
        assert_eq!(overhead(0x0303, 0xC02F), 24);
        assert_eq!(overhead(0x0303, 0xC013), 37);
    }

    #[test]
    fn finished_has_the_length_of_the_suites_hash() {
        assert_eq!(finished_length(0x1301), 53);
        assert_eq!(finished_length(0x1302), 69);
    }
}
