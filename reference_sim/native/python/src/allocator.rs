//! The allocator of the native core.

/// mimalloc replaces the C library's allocator. A flow allocates and frees dozens of small strings. The C
/// library's allocator takes 10 % of the total time for them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// `mi_option_purge_delay` of mimalloc.h. The number is equal in all versions, and libmimalloc-sys exports no
/// name for it.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Set a short purge delay, so that freed memory returns to the system soon.
///
/// Whole tables are allocated and freed within the default delay of 1 s. The peak memory is then that of
/// several tables. A delay of zero is too short, because one body's buffer is reused for the next body.
pub fn set_purge_delay() {
    // SAFETY: the call sets a number that mimalloc reads atomically. The option exists in the version that
    // Cargo.lock names.
    #[allow(unsafe_code)]
    unsafe {
        libmimalloc_sys::mi_option_set(PURGE_DELAY, 10);
    }
}
