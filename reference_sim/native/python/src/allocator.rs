//! The allocator of the native core.

/// A flow makes and drops some dozens of small strings; the C library's allocator takes a tenth of
/// the whole time for them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// `mi_option_purge_delay` of mimalloc.h: the same number in all versions, but not among the names
/// that libmimalloc-sys gives.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Gives memory back soon after it is free, not a second later: whole tables come and go within that,
/// and the peak would be that of several. Not at once: the buffer of one body is that of the next.
pub fn give_back_soon() {
    // SAFETY: sets a number that mimalloc reads atomically; the option exists in the version that
    // Cargo.lock names.
    #[allow(unsafe_code)]
    unsafe {
        libmimalloc_sys::mi_option_set(PURGE_DELAY, 10);
    }
}
