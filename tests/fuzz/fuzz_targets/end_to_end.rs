#![no_main]

use fuzz_targets::{end_to_end, mutation};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(|input: &[u8]| end_to_end::run(input));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutation::mutate(data, size, max_size, seed, fuzzer_mutate)
});
