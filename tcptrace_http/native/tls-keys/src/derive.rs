//! Key derivation: the PRF of TLS 1.0 to 1.2 and HKDF-Expand-Label of TLS 1.3.

use crate::hash::{Hash, KeyedHash};
use crate::secret::Secret;

/// Fill `output` by the PRF of TLS 1.2 (RFC 5246, section 5). The seed begins with the label.
pub(crate) fn prf(hash: Hash, secret: &[u8], seed: &[u8], output: &mut [u8]) -> Option<()> {
    output.fill(0);
    mix_p_hash(hash, secret, seed, output)
}

/// Fill `output` by the PRF of TLS 1.0 and 1.1 (RFC 2246, section 5). Each half of the secret feeds one hash.
pub(crate) fn prf_of_two_hashes(secret: &[u8], seed: &[u8], output: &mut [u8]) -> Option<()> {
    let half = secret.len().div_ceil(2);
    let second = secret.len().checked_sub(half)?;
    output.fill(0);
    mix_p_hash(Hash::Md5, secret.get(..half)?, seed, output)?;
    mix_p_hash(Hash::Sha1, secret.get(second..)?, seed, output)
}

/// Mix the stream `P_hash` into `output` (exclusive or).
fn mix_p_hash(hash: Hash, secret: &[u8], seed: &[u8], output: &mut [u8]) -> Option<()> {
    let keyed = KeyedHash::new(hash, secret)?;
    let mut chain = keyed.digest(&[seed]);
    for part in output.chunks_mut(hash.bytes()) {
        let block = keyed.digest(&[chain.bytes(), seed]);
        for (to, from) in part.iter_mut().zip(block.bytes()) {
            *to ^= *from;
        }
        chain = keyed.digest(&[chain.bytes()]);
    }
    Some(())
}

/// Return HKDF-Expand-Label without a context (RFC 8446, section 7.1). The output is at most as long as the
/// hash, so one block of HKDF-Expand is enough (RFC 5869, section 2.3).
pub(crate) fn expand_label(
    hash: Hash,
    secret: &[u8],
    label: &str,
    length: usize,
) -> Option<Secret> {
    const PREFIX: &str = "tls13 ";
    let label_bytes = PREFIX.len().checked_add(label.len())?;
    let info: [&[u8]; 5] = [
        &u16::try_from(length).ok()?.to_be_bytes(),
        &[u8::try_from(label_bytes).ok()?],
        PREFIX.as_bytes(),
        label.as_bytes(),
        // An empty context, then the block number.
        &[0, 1],
    ];
    let block = KeyedHash::new(hash, secret)?.digest(&info);
    Some(Secret::copy_of(block.bytes().get(..length)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::bytes;

    #[test]
    fn test_the_prf_of_sha_256_matches_the_known_answer() {
        let secret = bytes("9bbe436ba940f017b17652849a71db35");
        let seed = [
            &b"test label"[..],
            &bytes("a0ba9f936cda311827a6f796ffd5198c"),
        ]
        .concat();
        let mut output = [0; 100];
        prf(Hash::Sha256, &secret, &seed, &mut output).unwrap();
        let known = "e3f229ba727be17b8d122620557cd453c2aab21d07c3d495329b52d4e61edb5a\
                     6b301791e90d35c9c9a46b4e14baf9af0fa022f7077def17abfd3797c0564bab\
                     4fbc91666e9def9b97fce34f796789baa48082d122ee42c5a72e5a5110fff701\
                     87347b66";
        assert_eq!(output[..], bytes(known)[..]);
    }
}
