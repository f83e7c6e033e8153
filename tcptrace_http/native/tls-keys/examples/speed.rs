//! Prints the decryption speed of each cipher, in MB/s of plaintext on one core.

// A measurement is allowed to panic.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

#[path = "../tests/sealing/mod.rs"]
mod sealing;

use std::fs;

use tcptrace_tls_keys::Opener;
use trace_model::rows::Direction;

const RECORD_BYTES: usize = 1 << 14;
const RECORDS: u64 = 2048;
const ROUNDS: u64 = 5;

/// Return the processor time of this thread, which barely depends on other load of the machine.
fn cpu_seconds() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let nanoseconds = text.split(' ').next().expect("a first field");
    nanoseconds.parse::<f64>().expect("a number") / 1e9
}

fn main() {
    let key_log = sealing::key_log();
    let content = vec![0x5a; RECORD_BYTES];
    for client in sealing::clients() {
        let seal = |sequence| client.seal(sequence, &content);
        let fragments: Vec<Vec<u8>> = (0..RECORDS).map(seal).collect();
        let mut plain = Vec::new();
        let begin = cpu_seconds();
        for _ in 0..ROUNDS {
            let mut opener = Opener::new(&client.parameters, Direction::ClientToServer)
                .expect("a suite that is known");
            for fragment in &fragments {
                let opened = opener.open(&sealing::record(fragment), &key_log, &mut plain);
                assert_eq!(opened.expect("its key").bytes.len(), RECORD_BYTES);
            }
        }
        let bytes = RECORD_BYTES as f64 * (RECORDS * ROUNDS) as f64;
        let rate = bytes / (cpu_seconds() - begin) / 1e6;
        let etm = client.parameters.encrypt_then_mac;
        let order = if etm { " (encrypt-then-MAC)" } else { "" };
        println!("{rate:6.0} MB/s  {}{order}", client.name);
    }
}
