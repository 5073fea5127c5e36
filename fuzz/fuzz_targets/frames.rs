#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| longhaul_properties::frames::check(bytes));
