//! TCP mechanisms, shown by scripts in `tests/simulator/mechanisms`: one folder per mechanism, one file per
//! case. The first line names the clause.

#![allow(clippy::unwrap_used, clippy::panic)]

mod player;
mod script;

use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/simulator/mechanisms")
}

fn scripts_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(scripts_below(&path));
        } else if path.extension().is_some_and(|extension| extension == "pkt") {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn every_script_matches_its_connection() {
    let base = std::fs::read_to_string(folder().join("stack.json")).unwrap();
    let base = serde_json::from_str(&base).unwrap();
    let scripts = scripts_below(&folder());
    assert!(!scripts.is_empty(), "no scripts in {}", folder().display());
    let faults: Vec<String> = scripts
        .iter()
        .filter_map(|path| {
            let text = std::fs::read_to_string(path).unwrap();
            let played = script::parse(&text, &base).and_then(|script| player::play(&script));
            let name = path.strip_prefix(folder()).unwrap().display().to_string();
            played.err().map(|fault| format!("{name}: {fault}"))
        })
        .collect();
    assert!(
        faults.is_empty(),
        "{} of {} scripts:\n{}",
        faults.len(),
        scripts.len(),
        faults.join("\n")
    );
}
