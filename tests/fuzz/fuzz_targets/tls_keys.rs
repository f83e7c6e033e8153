#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz_targets::tls_keys::run(input));
