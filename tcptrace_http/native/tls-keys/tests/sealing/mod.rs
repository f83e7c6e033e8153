//! The sending side of TLS 1.2, independent of the code under test.

use aes::cipher::{BlockCipherEncrypt, BlockModeEncrypt, KeyIvInit};
use aes::{Aes128, Aes256};
use aes_gcm::aead::consts::{U12, U16, U8};
use aes_gcm::aead::{AeadInOut, KeyInit, Nonce};
use aes_gcm::{Aes128Gcm, Aes256Gcm};
use ccm::Ccm;
use chacha20poly1305::ChaCha20Poly1305;
use hmac::{Hmac, Mac};
use sha1::Sha1;
use sha2::{Sha256, Sha384};
use tcptrace_tls_keys::{KeyLog, Record, SecurityParameters};

const APPLICATION_DATA: u8 = 23;
const TLS_1_2: u16 = 0x0303;

type Seal = Box<dyn Fn(u64, &[u8]) -> Vec<u8>>;

/// A client that sends `application_data` under TLS 1.2.
pub struct Client {
    pub name: &'static str,
    pub parameters: SecurityParameters,
    seal: Seal,
}

impl Client {
    /// Return the fragment of the record with a sequence number.
    pub fn seal(&self, sequence: u64, content: &[u8]) -> Vec<u8> {
        (self.seal)(sequence, content)
    }
}

pub fn record(fragment: &[u8]) -> Record<'_> {
    Record {
        content_type: APPLICATION_DATA,
        version: TLS_1_2,
        fragment,
    }
}

fn master() -> [u8; 48] {
    std::array::from_fn(|at| at as u8)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Return the key log of all clients.
pub fn key_log() -> KeyLog {
    let mut log = KeyLog::new();
    let line = format!("CLIENT_RANDOM {} {}", hex(&[1; 32]), hex(&master()));
    log.add(line.as_bytes()).expect("a good line");
    log
}

/// Return a client per cipher and MAC.
pub fn clients() -> Vec<Client> {
    type Sha2 = Hmac<Sha256>;
    type Sha3 = Hmac<Sha384>;
    vec![
        client("AES-128-GCM", 0xc02f, false, aead::<Aes128Gcm, Sha2>(16, 4)),
        client("AES-256-GCM", 0xc030, false, aead::<Aes256Gcm, Sha3>(32, 4)),
        client(
            "ChaCha20-Poly1305",
            0xcca8,
            false,
            aead::<ChaCha20Poly1305, Sha2>(32, 12),
        ),
        client(
            "AES-128-CCM",
            0xc0ac,
            false,
            aead::<Ccm<Aes128, U16, U12>, Sha2>(16, 4),
        ),
        client(
            "AES-256-CCM",
            0xc0ad,
            false,
            aead::<Ccm<Aes256, U16, U12>, Sha2>(32, 4),
        ),
        client(
            "AES-128-CCM-8",
            0xc0ae,
            false,
            aead::<Ccm<Aes128, U8, U12>, Sha2>(16, 4),
        ),
        client(
            "AES-256-CCM-8",
            0xc0af,
            false,
            aead::<Ccm<Aes256, U8, U12>, Sha2>(32, 4),
        ),
        client(
            "AES-128-CBC-SHA",
            0xc013,
            false,
            cbc::<Aes128, Hmac<Sha1>, Sha2>(16, false),
        ),
        client(
            "AES-256-CBC-SHA",
            0xc014,
            true,
            cbc::<Aes256, Hmac<Sha1>, Sha2>(32, true),
        ),
        client(
            "AES-128-CBC-SHA256",
            0xc027,
            false,
            cbc::<Aes128, Sha2, Sha2>(16, false),
        ),
        client(
            "AES-256-CBC-SHA256",
            0x006b,
            true,
            cbc::<Aes256, Sha2, Sha2>(32, true),
        ),
        client(
            "AES-256-CBC-SHA384",
            0xc028,
            false,
            cbc::<Aes256, Sha3, Sha3>(32, false),
        ),
        client(
            "AES-256-CBC-SHA384",
            0xc028,
            true,
            cbc::<Aes256, Sha3, Sha3>(32, true),
        ),
    ]
}

fn client(name: &'static str, suite: u16, encrypt_then_mac: bool, seal: Seal) -> Client {
    let parameters = SecurityParameters {
        version: TLS_1_2,
        suite,
        client_random: [1; 32],
        server_random: [2; 32],
        encrypt_then_mac,
    };
    Client {
        name,
        parameters,
        seal,
    }
}

/// Return the client's parts of the key block: MAC key, key and vector (RFC 5246, sections 5 and 6.3).
fn keys<P: Mac + KeyInit>(sizes: [usize; 3]) -> [Vec<u8>; 3] {
    let hmac = |text: &[u8]| {
        let keyed = <P as KeyInit>::new_from_slice(&master()).expect("any length will do");
        keyed.chain_update(text).finalize().into_bytes().to_vec()
    };
    let seed = [&b"key expansion"[..], &[2; 32], &[1; 32]].concat();
    let (mut chain, mut block) = (hmac(&seed), Vec::new());
    while block.len() < 256 {
        block.extend(hmac(&[chain.clone(), seed.clone()].concat()));
        chain = hmac(&chain);
    }
    let mut at = 0;
    sizes.map(|size| {
        let part = block[at..at + size].to_vec();
        at += 2 * size;
        part
    })
}

fn header(sequence: u64, length: usize) -> Vec<u8> {
    let length = u16::try_from(length).expect("a record");
    let [[major, minor], [high, low]] = [TLS_1_2.to_be_bytes(), length.to_be_bytes()];
    let rest = [APPLICATION_DATA, major, minor, high, low];
    [&sequence.to_be_bytes()[..], &rest].concat()
}

fn aead<A, P>(key_bytes: usize, vector_bytes: usize) -> Seal
where
    A: AeadInOut<NonceSize = U12> + KeyInit + 'static,
    P: Mac + KeyInit,
{
    let [_, key, vector] = keys::<P>([0, key_bytes, vector_bytes]);
    let cipher = A::new_from_slice(&key).expect("its key length");
    Box::new(move |sequence, content| {
        let mut sealed = content.to_vec();
        let explicit = (!sequence).to_be_bytes();
        let (nonce, before) = if vector.len() == 4 {
            ([&vector[..], &explicit].concat(), &explicit[..])
        } else {
            let padded = [&[0; 4][..], &sequence.to_be_bytes()].concat();
            let nonce = vector.iter().zip(padded).map(|(one, other)| one ^ other);
            (nonce.collect(), &[][..])
        };
        let nonce = Nonce::<A>::try_from(&nonce[..]).expect("12 bytes");
        let header = header(sequence, content.len());
        let tag = cipher.encrypt_inout_detached(&nonce, &header, sealed.as_mut_slice().into());
        [before, &sealed, &tag.expect("a short text")].concat()
    })
}

fn cbc<C, M, P>(key_bytes: usize, encrypts_then_macs: bool) -> Seal
where
    C: BlockCipherEncrypt<BlockSize = U16> + KeyInit + 'static,
    M: Mac + KeyInit + 'static,
    P: Mac + KeyInit,
{
    let [mac_key, key, _] = keys::<P>([M::output_size(), key_bytes, 0]);
    let mac = move |sequence: u64, covered: &[u8]| {
        let keyed = <M as KeyInit>::new_from_slice(&mac_key).expect("any length will do");
        let keyed = keyed.chain_update(header(sequence, covered.len()));
        keyed.chain_update(covered).finalize().into_bytes().to_vec()
    };
    let encrypt = move |sequence: u64, mut text: Vec<u8>| {
        let padding = 15 - text.len() % 16;
        text.extend(vec![padding as u8; padding + 1]);
        let vector = [sequence as u8; 16];
        let mut cipher = cbc::Encryptor::<C>::new_from_slices(&key, &vector).expect("lengths");
        let (blocks, _) = aes::Block::slice_as_chunks_mut(&mut text);
        cipher.encrypt_blocks(blocks);
        [&vector[..], &text].concat()
    };
    Box::new(move |sequence, content| {
        if encrypts_then_macs {
            let covered = encrypt(sequence, content.to_vec());
            let mac = mac(sequence, &covered);
            [covered, mac].concat()
        } else {
            encrypt(sequence, [content, &mac(sequence, content)].concat())
        }
    })
}
