//! The capture decoder: bytes of a pcap or pcapng file in, packets out.
//!
//! [`Decoder`] takes the file in chunks of any size and cuts it into records (`pcap`, `pcapng`). `emitter`
//! passes each record to `layers` and hands a packet to the sink. The cut of the file into chunks never
//! changes a packet.

#![forbid(unsafe_code)]

mod bytes;
mod decoder;
mod emitter;
mod error;
mod kept_frame;
mod layers;
mod link_type;
mod notices;
mod pcap;
mod pcapng;
mod progress;
mod provenance;
#[cfg(test)]
mod testing;
mod time;
mod unknown_format;

pub use decoder::Decoder;
pub use error::CaptureError;
pub use kept_frame::KeptFrame;
pub use link_type::link_type_name;
pub use pcapng::each_key_log;
pub use provenance::Provenance;
