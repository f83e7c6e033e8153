//! Claims about any capture. Neither the cut into chunks nor a truncation changes a whole record.
use super::*;
use crate::bytes::ByteOrder::{Big, Little};
use crate::testing::{
    read, read_in_chunks, tcp_packet, Bytes, Reading, ETHERNET, MICROSECONDS, RAW,
};

fn pcap_file() -> Vec<u8> {
    let file =
        Bytes::pcap(Little, MICROSECONDS, RAW).record(5, 1, &tcp_packet(b"GET / HTTP/1.1\r\n"));
    let file = file.record(5, 2, &[]).record(5, 3, &tcp_packet(b""));
    file.record(4, 0, &tcp_packet(&[7; 300])).bytes
}

fn pcapng_file() -> Vec<u8> {
    let file = Bytes::new(Little)
        .section(Little)
        .interface(101, &[(2, b"eth0"), (9, &[9])]);
    let file = file
        .enhanced(0, 1 << 40, &tcp_packet(b"one"))
        .block(5, &[1; 20])
        .secrets(0x544c_534b, b"CLIENT_RANDOM")
        .block(0x0bad_cafe, &[]);
    let file = file
        .interface(1, &[])
        .enhanced(1, 77, &[0; 61])
        .section(Big);
    let file = file
        .interface(101, &[])
        .block(3, &[&[0, 0, 0, 41], tcp_packet(b"x").as_slice()].concat());
    file.enhanced(9, 0, b"of no interface")
        .enhanced(0, 1, &tcp_packet(&[9; 100]))
        .bytes
}

/// Return a pcap file with longer record headers than the magic number implies. The first record reveals
/// their length.
fn patched_pcap_file() -> Vec<u8> {
    let frame = [&[0; 12][..], &[8, 0], &tcp_packet(b"abc")].concat();
    let mut file = Bytes::pcap(Little, MICROSECONDS, ETHERNET);
    for seconds in 0..3 {
        file = file.u32(seconds).u32(0).u32(57).u32(57);
        file = file.raw(&[0; 8]).raw(&frame);
    }
    file.bytes
}

fn assert_chunks_change_nothing(file: &[u8]) {
    let whole = read(file);
    for sizes in [
        &[1][..],
        &[2],
        &[3],
        &[7],
        &[16],
        &[64],
        &[1, 100],
        &[24, 1, 1, 33],
    ] {
        assert_eq!(read_in_chunks(file, sizes), whole, "in chunks of {sizes:?}");
    }
}

#[test]
fn test_any_chunking_gives_the_same_packets() {
    for file in [pcap_file(), pcapng_file(), patched_pcap_file()] {
        assert_chunks_change_nothing(&file);
        assert!(read(&file).provenance.tcp_packets >= 3);
    }
}

/// Return the end offsets of a file's records: the lengths at which no record is cut.
fn record_ends(file: &[u8]) -> Vec<usize> {
    let mut ends: Vec<usize> = Vec::new();
    let (mut decoder, mut recorder) = (Decoder::new(), crate::testing::Recorder::default());
    for (at, byte) in file.iter().enumerate() {
        decoder.feed(&[*byte], &mut recorder).unwrap();
        if !decoder.is_inside_record() {
            ends.push(at + 1);
        }
    }
    ends
}

#[test]
fn test_a_cut_at_any_byte_keeps_every_whole_packet() {
    for file in [pcap_file(), pcapng_file()] {
        let whole = read(&file);
        let ends = record_ends(&file);
        assert!(ends.len() > 4);
        for length in 0..file.len() {
            let cut = read(&file[..length]);
            let packets = &cut.recorder.packets;
            assert_eq!(
                packets[..],
                whole.recorder.packets[..packets.len()],
                "cut at {length}"
            );
            match &cut.result {
                Ok(()) => assert_eq!(cut.provenance.truncated, !ends.contains(&length)),
                Err(_) => assert!(packets.is_empty()),
            }
            assert_chunks_change_nothing(&file[..length]);
        }
    }
}

#[test]
fn test_a_cut_inside_a_record_is_an_anomaly_at_its_offset() {
    let file = pcap_file();
    let cut = read(&file[..file.len() - 1]);
    assert_eq!(cut.result, Ok(()));
    let anomaly = cut
        .recorder
        .anomalies
        .iter()
        .find(|row| row.kind == AnomalyKind::CaptureCutShort);
    assert_eq!(anomaly.unwrap().frame, Some(3));
    assert_eq!(anomaly.unwrap().offset, Some(24 + 16 + 56 + 16 + 16 + 40));
    assert_eq!(
        anomaly.unwrap().detail,
        "the file ends inside a record, after packet 3"
    );
}

#[test]
fn test_an_empty_file_is_reported_as_empty() {
    assert_eq!(
        read(b"").result.unwrap_err().to_string(),
        "the file is empty"
    );
}

#[test]
fn test_a_text_file_has_an_unknown_format_under_all_chunks() {
    let text = b"No.,Time,Source\n1,0.0,10.0.0.1\n";
    assert!(matches!(
        read(text).result,
        Err(CaptureError::UnknownFormat { .. })
    ));
    assert_eq!(read(text).result, read_in_chunks(text, &[1]).result);
    assert!(matches!(
        read(b"No").result,
        Err(CaptureError::UnknownFormat { .. })
    ));
}

#[test]
fn test_bytes_after_an_error_are_ignored() {
    let (mut decoder, mut recorder) = (Decoder::new(), crate::testing::Recorder::default());
    assert!(decoder.feed(&[b'x'; 100], &mut recorder).is_err());
    assert_eq!(decoder.feed(&pcap_file(), &mut recorder), Ok(()));
    assert_eq!(decoder.finish(&mut recorder), Ok(()));
    assert!(recorder.packets.is_empty());
}

#[test]
fn test_provenance_sums_up_the_file() {
    let Reading { provenance, .. } = read(&pcap_file());
    assert_eq!(provenance.format, "pcap");
    assert_eq!((provenance.packets, provenance.tcp_packets), (4, 3));
    assert_eq!(provenance.first_time_ns, Some(4_000_000_000));
    assert_eq!(provenance.last_time_ns, Some(5_000_003_000));
    assert_eq!(provenance.link_types, [trace_model::LinkType(101)]);
    assert_eq!(provenance.snap_length, Some(65_535));
    assert_eq!(provenance.bytes_read, pcap_file().len() as u64);
    assert!(!provenance.truncated);
}

/// Tests damaged copies of a file, from a fixed seed (Marsaglia's xorshift64).
#[test]
fn test_damage_anywhere_gives_packets_or_an_error_equal_under_all_chunks() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for round in 0..3_000 {
        let mut file = if round % 2 == 0 {
            pcap_file()
        } else {
            pcapng_file()
        };
        for _ in 0..=random(3) {
            let at = random(file.len());
            file[at] = [0, 0xff, 0x7f, random(256) as u8][random(4)];
        }
        let whole = read(&file);
        assert_eq!(read_in_chunks(&file, &[1]), whole);
        assert_eq!(
            read_in_chunks(&file, &[1 + random(90), 1 + random(90)]),
            whole
        );
    }
}

#[test]
fn several_files_are_one_stream() {
    let mut decoder = Decoder::new();
    let mut sink = crate::testing::Recorder::default();
    let pcap = pcap_file();
    for file in [&pcap[..], &pcapng_file()[..], &pcap[..pcap.len() - 3]] {
        decoder.feed(file, &mut sink).unwrap();
        let is_whole = decoder.next_file(&mut sink).unwrap();
        assert_eq!(is_whole, file.len() + 3 != pcap.len());
    }
    assert!(decoder.next_file(&mut sink).is_err(), "an empty file");
    decoder.feed(&pcap, &mut sink).unwrap();
    decoder.next_file(&mut sink).unwrap();
    decoder.finish(&mut sink).unwrap();
    let frames: Vec<u64> = sink.packets.iter().map(|packet| packet.frame).collect();
    assert!(frames.windows(2).all(|pair| pair[0] < pair[1]));
    let of = |file: &[u8]| read(file).recorder.packets.len();
    assert_eq!(frames.len(), 3 * of(&pcap) - 1 + of(&pcapng_file()));
}

#[test]
fn a_kept_frame_has_its_bytes_and_time_under_every_cut() {
    let file = pcap_file();
    for size in [1, 7, file.len()] {
        let mut decoder = Decoder::new();
        decoder.keep(3);
        let mut sink = crate::testing::Recorder::default();
        for chunk in file.chunks(size) {
            decoder.feed(chunk, &mut sink).expect("a capture");
        }
        let kept = decoder.kept().expect("frame 3 is there");
        assert_eq!(kept.bytes, tcp_packet(b""));
        assert_eq!(kept.time_ns, 5_000_003_000);
    }
}

#[test]
fn an_absent_frame_is_not_kept() {
    let mut decoder = Decoder::new();
    decoder.keep(5);
    let mut sink = crate::testing::Recorder::default();
    decoder.feed(&pcap_file(), &mut sink).expect("a capture");
    assert_eq!(decoder.kept(), None);
}
