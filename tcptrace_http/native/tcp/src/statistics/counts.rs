//! Counts of segments by their headers.

use trace_model::{flags, Packet, Segment};

#[derive(Debug, Default)]
pub struct Counts {
    pub syns: u64,
    pub fins: u64,
    pub resets: u64,
    pub ack_segments: u64,
    pub pure_acks: u64,
    pub data_segments: u64,
    pub data_bytes: u64,
    pub segment_bytes_min: Option<u32>,
    pub segment_bytes_max: Option<u32>,
    pub push_segments: u64,
    pub urgent_segments: u64,
    pub urgent_bytes: u64,
    pub truncated_segments: u64,
    pub truncated_bytes: u64,
    pub sack_permitted: bool,
    pub timestamps: bool,
    first_data_ns: Option<i64>,
    last_data_ns: i64,
    last_ns: Option<i64>,
    pub idle_max_ns: Option<i64>,
}

impl Counts {
    pub fn segment(&mut self, packet: &Packet<'_>, segment: &Segment<'_>) {
        let add = |count: &mut u64, condition: bool| {
            *count = count.saturating_add(u64::from(condition));
        };
        let has_ack = segment.has(flags::ACK);
        let is_control = segment.flags & (flags::SYN | flags::FIN | flags::RST) != 0;
        add(&mut self.syns, segment.has(flags::SYN));
        add(&mut self.fins, segment.has(flags::FIN));
        add(&mut self.resets, segment.has(flags::RST));
        add(&mut self.ack_segments, has_ack);
        let is_empty = segment.payload_bytes == 0;
        add(&mut self.pure_acks, has_ack && is_empty && !is_control);
        self.sack_permitted |= segment.has(flags::SYN) && segment.options.sack_permitted;
        self.timestamps |= segment.options.timestamps.is_some();
        if let Some(last) = self.last_ns {
            let idle = packet.time_ns.saturating_sub(last).max(0);
            self.idle_max_ns = self.idle_max_ns.max(Some(idle));
        }
        self.last_ns = Some(packet.time_ns);
        if !is_empty {
            self.data(packet.time_ns, segment);
        }
    }

    fn data(&mut self, time_ns: i64, segment: &Segment<'_>) {
        let bytes = segment.payload_bytes;
        let add = |count: &mut u64, value: u64| *count = count.saturating_add(value);
        add(&mut self.data_segments, 1);
        add(&mut self.data_bytes, u64::from(bytes));
        let least = self
            .segment_bytes_min
            .map_or(bytes, |least| least.min(bytes));
        self.segment_bytes_min = Some(least);
        self.segment_bytes_max = self.segment_bytes_max.max(Some(bytes));
        add(&mut self.push_segments, u64::from(segment.has(flags::PSH)));
        if segment.has(flags::URG) {
            add(&mut self.urgent_segments, 1);
            add(&mut self.urgent_bytes, u64::from(segment.urgent_pointer));
        }
        let captured = u32::try_from(segment.payload.len()).unwrap_or(u32::MAX);
        let cut = bytes.saturating_sub(captured);
        add(&mut self.truncated_segments, u64::from(cut > 0));
        add(&mut self.truncated_bytes, u64::from(cut));
        self.first_data_ns.get_or_insert(time_ns);
        self.last_data_ns = time_ns;
    }

    #[must_use]
    pub fn data_duration_ns(&self) -> Option<i64> {
        let first = self.first_data_ns?;
        Some(self.last_data_ns.saturating_sub(first).max(0))
    }

    #[must_use]
    pub fn segment_bytes_mean(&self) -> Option<f64> {
        (self.data_segments > 0).then(|| self.data_bytes as f64 / self.data_segments as f64)
    }
}
