//! Every corpus file through its target, as `make fuzz` left them: a crash once found stays found.

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use fuzz_targets::TARGETS;

/// Memory that no input of the size of a corpus file may need: the target's own copies and model
/// included, a hundred times what it takes.
const PEAK_BYTES_MAX: usize = 64 << 20;

/// Of all corpora together: they are for every checkout.
const CORPORA_BYTES_MAX: usize = 1_000_000;

/// Counts what is allocated.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(now, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn corpus(target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../corpus")
        .join(target);
    let entries = std::fs::read_dir(&folder).expect("the target has a corpus");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a readable folder").path())
        .collect();
    files.sort();
    files
}

#[test]
fn test_every_corpus_file_keeps_what_must_hold_in_bounded_memory() {
    let mut total = 0;
    for (name, run) in TARGETS {
        let files = corpus(name);
        assert!(files.len() >= 10, "{name} has a corpus");
        for file in files {
            let input = std::fs::read(&file).expect("a readable file");
            total += input.len();
            let before = NOW.load(Ordering::Relaxed);
            PEAK.store(before, Ordering::Relaxed);
            println!("{}", file.display());
            run(&input);
            let peak = PEAK.load(Ordering::Relaxed) - before;
            assert!(peak <= PEAK_BYTES_MAX, "{}: {peak} bytes", file.display());
        }
    }
    assert!(total <= CORPORA_BYTES_MAX, "{total} bytes");
}
