//! The rows of the records table.

use trace_model::rows::{TlsContentType, TlsRecordRow};

use super::script::{application, Hello, Script};
use super::tls13_of;
use crate::RecordLog;

/// Return a connection with a record log. Each segment comes in pieces of `piece` bytes.
fn logged(piece: usize) -> Script {
    let mut script = Script {
        piece,
        ..Script::default()
    };
    script.keys.records = Some(RecordLog::default());
    tls13_of(script, &Hello::default())
}

fn rows(script: &mut Script) -> Vec<TlsRecordRow> {
    script
        .keys
        .records
        .as_mut()
        .expect("a log")
        .take()
        .collect()
}

#[test]
fn record_offsets_are_equal_under_every_cut() {
    let whole = |piece: usize| {
        let mut script = logged(piece);
        let long = application(4_000);
        script.server(&long[..1_000]);
        script.server(&long[1_000..]);
        rows(&mut script)
    };
    let expected = whole(usize::MAX);
    let messages: Vec<_> = expected
        .iter()
        .filter_map(|it| it.handshake_messages.as_deref())
        .collect();
    assert_eq!(messages, ["client_hello", "server_hello"]);
    let last = expected.last().expect("a record");
    assert_eq!((last.first_frame, last.last_frame), (4, 5));
    assert_eq!((last.length, last.complete), (4_000, true));
    assert_eq!(last.content_type, TlsContentType::ApplicationData);
    // Each record of a direction begins at the end of the previous one.
    for direction in [0, 1] {
        let own = expected.iter().filter(|it| it.direction as u8 == direction);
        own.fold(0, |next, row| {
            assert_eq!(row.offset, next);
            next + 5 + u64::from(row.length)
        });
    }
    for piece in [1, 2, 3, 5, 7, 100] {
        assert_eq!(whole(piece), expected, "pieces of {piece}");
    }
}

#[test]
fn a_record_with_missing_bytes_is_incomplete() {
    let mut script = logged(usize::MAX);
    let long = application(4_000);
    script.server(&long[..1_000]);
    script.lose(2_000);
    script.server(&[&long[3_000..], &application(300)[..]].concat());
    let complete: Vec<_> = rows(&mut script)
        .iter()
        .rev()
        .take(2)
        .map(|it| (it.length, it.complete))
        .collect();
    assert_eq!(complete, [(300, true), (4_000, false)]);
}
