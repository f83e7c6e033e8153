use super::*;

const SESSION: ClientRandom = [0xab; 32];

fn line(label: &str, secret_bytes: usize) -> String {
    format!(
        "{label} {} {}\n",
        "ab".repeat(32),
        "5e".repeat(secret_bytes)
    )
}

fn secret_bytes(log: &KeyLog, label: Label) -> Option<usize> {
    log.secret(&SESSION, label)
        .map(|secret| secret.bytes().len())
}

#[test]
fn test_a_secret_is_found_by_session_and_label() {
    let mut log = KeyLog::new();
    let text = line("CLIENT_RANDOM", 48) + &line("SERVER_TRAFFIC_SECRET_0", 32);
    log.add(text.as_bytes()).unwrap();
    assert_eq!(
        log.secret(&SESSION, Label::Master).unwrap().bytes(),
        [0x5e; 48]
    );
    assert_eq!(secret_bytes(&log, Label::ServerTraffic), Some(32));
    assert_eq!(secret_bytes(&log, Label::ClientTraffic), None);
    assert!(log.secret(&[0xac; 32], Label::Master).is_none());
}

#[test]
fn test_comments_line_ends_case_and_other_labels_are_tolerated() {
    let mut log = KeyLog::new();
    let text = format!(
        "\u{feff}# SSL/TLS secrets log file\r\n\r\n  {}\r\n{}QUIC_CLIENT_TRAFFIC_SECRET_0 00 11\n{}",
        line("CLIENT_TRAFFIC_SECRET_0", 48).trim().replace("5e", "5E"),
        line("EXPORTER_SECRET", 32),
        line("SERVER_HANDSHAKE_TRAFFIC_SECRET", 32).trim_end(),
    );
    assert_eq!(log.add(text.as_bytes()), Ok(()));
    assert_eq!(secret_bytes(&log, Label::ClientTraffic), Some(48));
    assert_eq!(secret_bytes(&log, Label::ServerHandshake), Some(32));
}

#[test]
fn test_bad_lines_are_numbered_and_the_others_taken() {
    let mut log = KeyLog::new();
    let bad = [
        "not a key log\n".to_owned(),
        line("CLIENT_RANDOM", 32),
        line("CLIENT_TRAFFIC_SECRET_0", 47),
        line("CLIENT_RANDOM", 48).replace("5e5e", "5e5"),
        line("CLIENT_RANDOM", 48).replace("5e", "5g"),
        line("CLIENT_RANDOM", 48).replace("abab", "ab"),
        line("CLIENT_RANDOM", 48).replace('\n', " 00\n"),
    ];
    let text = bad.concat() + &line("CLIENT_RANDOM", 48);
    let error = log.add(text.as_bytes()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "7 lines without a secret: 1, 2, 3, 4, 5, 6, 7"
    );
    assert_eq!(secret_bytes(&log, Label::Master), Some(48));
}

#[test]
fn test_only_the_first_bad_lines_are_named() {
    let error = KeyLog::new()
        .add("\u{1}\n".repeat(20).as_bytes())
        .unwrap_err();
    assert_eq!(error.count, 20);
    assert_eq!(
        error.to_string(),
        "20 lines without a secret: 1, 2, 3, 4, 5, 6, 7, 8 …"
    );
}

#[test]
fn test_a_key_log_grows() {
    let mut log = KeyLog::new();
    assert!(log.is_empty());
    log.add(line("CLIENT_HANDSHAKE_TRAFFIC_SECRET", 32).as_bytes())
        .unwrap();
    log.add(line("CLIENT_EARLY_TRAFFIC_SECRET", 32).as_bytes())
        .unwrap();
    assert_eq!(secret_bytes(&log, Label::ClientHandshake), Some(32));
    assert_eq!(secret_bytes(&log, Label::ClientEarly), Some(32));
}

#[test]
fn test_no_secret_is_printed() {
    let mut log = KeyLog::new();
    log.add(line("CLIENT_RANDOM", 48).as_bytes()).unwrap();
    let text = format!("{log:?}");
    assert!(text.contains("Secret(48 bytes)"), "{text}");
    assert!(!text.contains("94") && !text.contains("5e"), "{text}");
}
