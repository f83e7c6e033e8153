//! Replays every corpus file through its target, so that a fixed crash stays fixed.

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use fuzz_targets::TARGETS;

/// Maximum memory for an input of a corpus file's size. The limit is a hundred times the target's need,
/// copies and model included.
const PEAK_BYTES_MAX: usize = 64 << 20;

/// Maximum size of all corpora together, because every checkout contains them.
const CORPORA_BYTES_MAX: usize = 1_000_000;

/// An allocator that counts allocations.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is forwarded unchanged to the system's allocator.
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
fn test_every_corpus_file_keeps_the_invariants_in_bounded_memory() {
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
