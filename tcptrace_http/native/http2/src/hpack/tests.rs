use super::{Decoder, Malformed, DECODED_BYTES_MAX};

type Field = (Option<Vec<u8>>, Option<Vec<u8>>);

fn decode(decoder: &mut Decoder, block: &[u8]) -> Result<Vec<Field>, Malformed> {
    let mut fields = Vec::new();
    let unknown = decoder.decode(block, &mut |name, value| {
        fields.push((name.map(<[u8]>::to_vec), value.map(<[u8]>::to_vec)));
    })?;
    let is_unknown = |(name, value): &&Field| name.is_none() || value.is_none();
    assert_eq!(unknown, fields.iter().filter(is_unknown).count());
    Ok(fields)
}

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digit).collect()
}

fn known(fields: &[(&str, &str)]) -> Vec<Field> {
    let text = |text: &str| Some(text.as_bytes().to_vec());
    fields
        .iter()
        .map(|(name, value)| (text(name), text(value)))
        .collect()
}

fn assert_blocks(prefix: &str, blocks: &[(&str, &[(&str, &str)])]) {
    let mut decoder = Decoder::new(true);
    assert_eq!(decode(&mut decoder, &bytes(prefix)), Ok(vec![]));
    for (block, fields) in blocks {
        assert_eq!(
            decode(&mut decoder, &bytes(block)),
            Ok(known(fields)),
            "{block}"
        );
    }
}

/// Examples of RFC 7541, appendix C.2.
#[test]
fn every_representation_of_a_field_is_decoded() {
    for (block, field) in [
        (
            "400a637573746f6d2d6b65790d637573746f6d2d686561646572",
            ("custom-key", "custom-header"),
        ),
        ("040c2f73616d706c652f70617468", (":path", "/sample/path")),
        ("100870617373776f726406736563726574", ("password", "secret")),
        ("82", (":method", "GET")),
    ] {
        assert_blocks("", &[(block, &[field])]);
    }
}

/// Examples of RFC 7541, appendices C.3 and C.4.
#[test]
fn requests_of_one_connection_are_decoded_with_and_without_huffman_code() {
    const FIRST: &[(&str, &str)] = &[
        (":method", "GET"),
        (":scheme", "http"),
        (":path", "/"),
        (":authority", "www.example.com"),
    ];
    let second = [FIRST, &[("cache-control", "no-cache")]].concat();
    let third = [
        (":method", "GET"),
        (":scheme", "https"),
        (":path", "/index.html"),
        (":authority", "www.example.com"),
        ("custom-key", "custom-value"),
    ];
    for blocks in [
        [
            "828684410f7777772e6578616d706c652e636f6d",
            "828684be58086e6f2d6361636865",
            "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
        ],
        [
            "828684418cf1e3c2e5f23a6ba0ab90f4ff",
            "828684be5886a8eb10649cbf",
            "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
        ],
    ] {
        let [one, two, three] = blocks;
        assert_blocks("", &[(one, FIRST), (two, &second), (three, &third)]);
    }
}

/// Examples of RFC 7541, appendices C.5 and C.6: a table of 256 bytes evicts entries.
#[test]
fn responses_of_one_connection_are_decoded_with_and_without_huffman_code() {
    const LOCATION: (&str, &str) = ("location", "https://www.example.com");
    const DATE: (&str, &str) = ("date", "Mon, 21 Oct 2013 20:13:21 GMT");
    let first = [
        (":status", "302"),
        ("cache-control", "private"),
        DATE,
        LOCATION,
    ];
    let second = [
        (":status", "307"),
        ("cache-control", "private"),
        DATE,
        LOCATION,
    ];
    let third = [
        (":status", "200"),
        ("cache-control", "private"),
        ("date", "Mon, 21 Oct 2013 20:13:22 GMT"),
        LOCATION,
        ("content-encoding", "gzip"),
        (
            "set-cookie",
            "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
        ),
    ];
    for blocks in [
        [
            "4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d546e\
             1768747470733a2f2f7777772e6578616d706c652e636f6d",
            "4803333037c1c0bf",
            "88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d\
             4153444a4b48514b425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b20766572\
             73696f6e3d31",
        ],
        [
            "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b\
             97c8e9ae82ae43d3",
            "4883640effc1c0bf",
            "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdf\
             cd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
        ],
    ] {
        let [one, two, three] = blocks;
        assert_blocks("3fe101", &[(one, &first), (two, &second), (three, &third)]);
    }
}

#[test]
fn an_unknown_name_keeps_the_place_of_its_entry() {
    // "(name of entry 70): b", then ":path: /a", and the three newest entries.
    let mut decoder = Decoder::new(false);
    let fields = decode(&mut decoder, &bytes("7f07016244022f61bfbec0")).unwrap();
    let (path, value) = (Some(b":path".to_vec()), Some(b"/a".to_vec()));
    let unknown = (None, Some(b"b".to_vec()));
    let expected = [
        unknown.clone(),
        (path.clone(), value.clone()),
        unknown,
        (path, value),
        (None, None),
    ];
    assert_eq!(fields, expected);
}

#[test]
fn invalid_blocks_are_malformed() {
    for block in [
        "80",                             // index 0
        "ff",                             // an integer that is cut short
        "ffffffffffffffffffffffffffff01", // one that is too long
        "4405",                           // a string that is not there
        "0482ffff",                       // padding of two bytes
        "0484ffffffff",                   // EOS
        "3f",                             // a size that is cut short
    ] {
        assert!(
            decode(&mut Decoder::new(true), &bytes(block)).is_err(),
            "{block}"
        );
    }
}

/// Test with a field of 4000 bytes and many references to it.
#[test]
fn a_bomb_is_malformed_and_costs_no_memory() {
    let mut block = bytes("4001617fa11e");
    block.extend([b'x'; 4000]);
    block.extend([0xbe; 64 * 1024]);
    let (mut decoder, mut seen) = (Decoder::new(true), 0);
    let result = decoder.decode(&block, &mut |_, value| seen += value.map_or(0, <[u8]>::len));
    assert_eq!(result, Err(Malformed("has more than 256 KiB of fields")));
    assert!(
        (DECODED_BYTES_MAX - 8192..=DECODED_BYTES_MAX).contains(&seen),
        "{seen}"
    );
    assert!(decoder.held_bytes() < 16 * 1024);
}

#[test]
fn table_keeps_entries_up_to_its_size() {
    let mut decoder = Decoder::new(true);
    decoder.set_max_size(u32::MAX);
    let empty_entries = [0x40, 0, 0].repeat(8000);
    for _ in 0..10 {
        decoder.decode(&empty_entries, &mut |_, _| {}).unwrap();
    }
    assert!(decoder.held_bytes() < 1 << 20, "{}", decoder.held_bytes());
    decode(&mut decoder, &bytes("20")).unwrap();
    assert_eq!(decode(&mut decoder, &bytes("be")), Ok(vec![(None, None)]));
}

/// Random encoder that knows from which block on each text of its table is known.
struct Encoder {
    state: u64,
    table: Vec<[(Vec<u8>, usize); 2]>,
    size: usize,
    block: usize,
}

/// Field, with the first block from which its name and its value are known; literal texts are always known.
type Sent = [(Vec<u8>, usize); 2];
const ALWAYS: usize = usize::MAX;

impl Encoder {
    fn below(&mut self, bound: usize) -> usize {
        // Knuth's linear congruential generator (MMIX).
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005);
        self.state = self.state.wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) as usize % bound
    }

    fn integer(block: &mut Vec<u8>, first: u8, prefix_bits: u32, value: usize) {
        let full = (1 << prefix_bits) - 1;
        if value < full {
            return block.push(first | value as u8);
        }
        block.push(first | full as u8);
        let mut rest = value - full;
        while rest >= 128 {
            block.push(rest as u8 | 128);
            rest >>= 7;
        }
        block.push(rest as u8);
    }

    fn text(&mut self, block: &mut Vec<u8>) -> Vec<u8> {
        let length = self.below(20) * if self.below(40) == 0 { 40 } else { 1 };
        // All texts differ, so a wrong entry shows as a wrong text.
        let text = format!("{:x}{}", self.below(1 << 30), "-".repeat(length)).into_bytes();
        Self::integer(block, 0, 7, text.len());
        block.extend(&text);
        text
    }

    fn evict(&mut self) {
        let bytes = |entry: &Sent| entry[0].0.len() + entry[1].0.len() + 32;
        while self.table.iter().map(bytes).sum::<usize>() > self.size {
            self.table.pop();
        }
    }

    fn field(&mut self, block: &mut Vec<u8>) -> Sent {
        let newest = self.below(3) > 0;
        let dynamic = self.table.len().min(if newest { 4 } else { usize::MAX });
        let at = if dynamic > 0 { self.below(dynamic) } else { 0 };
        let entry = self.table.get(at).cloned();
        match (self.below(8), entry) {
            (0, _) => {
                Self::integer(block, 0x80, 7, 2);
                [(b":method".to_vec(), ALWAYS), (b"GET".to_vec(), ALWAYS)]
            }
            (1..=3, Some(entry)) => {
                Self::integer(block, 0x80, 7, 62 + at);
                entry
            }
            (case, entry) => {
                let (first, prefix_bits) = [(0x40, 6), (0x40, 6), (0, 4), (0x10, 4)][self.below(4)];
                let name = match (case % 3, entry) {
                    (0, Some([name, _])) => {
                        Self::integer(block, first, prefix_bits, 62 + at);
                        name
                    }
                    (1, _) => {
                        Self::integer(block, first, prefix_bits, 4);
                        (b":path".to_vec(), ALWAYS)
                    }
                    _ => {
                        block.push(first);
                        (self.text(block), ALWAYS)
                    }
                };
                let value = self.text(block);
                if first == 0x40 {
                    let entry = [
                        (name.0.clone(), name.1.min(self.block)),
                        (value.clone(), self.block),
                    ];
                    self.table.insert(0, entry);
                    self.evict();
                }
                [name, (value, ALWAYS)]
            }
        }
    }

    fn block(&mut self) -> (Vec<u8>, Vec<Sent>) {
        let mut block = Vec::new();
        if self.below(6) == 0 {
            self.size = [0, 100, 300, 4096, 20_000][self.below(5)];
            self.evict();
            Self::integer(&mut block, 0x20, 5, self.size);
        }
        let count = 1 + self.below(8);
        let fields = (0..count).map(|_| self.field(&mut block)).collect();
        self.block += 1;
        (block, fields)
    }
}

/// Return the blocks of a connection whose tables stay below 20,000 bytes.
fn blocks(seed: u64) -> Vec<(Vec<u8>, Vec<Sent>)> {
    let mut encoder = Encoder {
        state: seed,
        table: Vec::new(),
        size: 4096,
        block: 0,
    };
    (0..24).map(|_| encoder.block()).collect()
}

/// Assert the fields of all blocks for a decoder that knows the insertions from block `since` on.
fn assert_known_since(decoder: &mut Decoder, blocks: &[(Vec<u8>, Vec<Sent>)], since: usize) {
    for (block, sent) in blocks {
        let known = |(text, from): &(Vec<u8>, usize)| (*from >= since).then(|| text.clone());
        let expected: Vec<Field> = sent
            .iter()
            .map(|[name, value]| (known(name), known(value)))
            .collect();
        assert_eq!(decode(decoder, block), Ok(expected));
    }
}

#[test]
fn decoder_joined_at_any_block_lacks_only_earlier_insertions() {
    for seed in 0..200 {
        let blocks = blocks(seed);
        let mut whole = Decoder::new(true);
        whole.set_max_size(20_000);
        assert_known_since(&mut whole, &blocks, 0);
        for since in 0..blocks.len() {
            assert_known_since(&mut Decoder::new(false), &blocks[since..], since);
        }
    }
}

#[test]
fn decoder_behind_lost_blocks_lacks_only_earlier_insertions() {
    for seed in 0..200 {
        let blocks = blocks(seed);
        for since in 1..blocks.len() {
            let mut decoder = Decoder::new(true);
            decoder.set_max_size(20_000);
            let lost = 1 + (seed as usize + since) % 3;
            assert_known_since(&mut decoder, &blocks[..since.saturating_sub(lost)], 0);
            decoder.lose();
            assert_known_since(&mut decoder, &blocks[since..], since);
        }
    }
}
