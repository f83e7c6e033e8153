//! The texts of FTP's control connection (RFC 959).

use std::fmt::Write;

use crate::app::exchange::Order;
use crate::app::Content;

/// Commands, as bits of a message number. One write can carry several commands.
pub(super) const USER: u64 = 1;
pub(super) const PASS: u64 = 1 << 1;
pub(super) const TYPE: u64 = 1 << 2;
pub(super) const PORT: u64 = 1 << 3;
pub(super) const RETR: u64 = 1 << 4;
pub(super) const QUIT: u64 = 1 << 5;
pub(super) const COMMANDS: [u64; 6] = [USER, PASS, TYPE, PORT, RETR, QUIT];

/// Replies, by their effect: the next command follows, no command follows, the file is complete, the file
/// failed.
pub(super) const READY: u64 = 1;
pub(super) const OPENING: u64 = 2;
pub(super) const COMPLETE: u64 = 3;
pub(super) const ABORTED: u64 = 4;

pub(super) fn text_content(text: String) -> Content {
    Content::Text(text.into_bytes().into())
}

pub(super) fn command_line(command: u64, file: u32, address: [u8; 4], port: u16) -> String {
    match command {
        USER => "USER anonymous\r\n".into(),
        PASS => "PASS guest@\r\n".into(),
        TYPE => "TYPE I\r\n".into(),
        PORT => {
            let [high, low] = port.to_be_bytes();
            let mut line = String::from("PORT ");
            for byte in address.into_iter().chain([high]) {
                // Writing to a String cannot fail.
                let _ = write!(line, "{byte},");
            }
            line + &format!("{low}\r\n")
        }
        RETR => format!("RETR file-{file}.bin\r\n"),
        _ => "QUIT\r\n".into(),
    }
}

/// Return the reply to a command (RFC 959, section 4.2).
pub(super) fn reply_line(command: u64, order: &Order) -> String {
    match command {
        USER => "331 User name okay, need password.\r\n".into(),
        PASS => "230 User logged in, proceed.\r\n".into(),
        TYPE | PORT => "200 Command okay.\r\n".into(),
        RETR => format!(
            "150 Opening BINARY mode data connection ({} bytes).\r\n",
            order.bytes
        ),
        _ => "221 Service closing control connection.\r\n".into(),
    }
}
