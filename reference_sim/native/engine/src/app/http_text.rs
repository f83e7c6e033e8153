//! Heads of requests and responses (RFC 9112; RFC 1945). Lengths are computed first, and text is generated
//! only on demand.

use std::borrow::Cow;
use std::sync::Arc;

use super::body::{Body, BodyKind};
use super::Content;
use crate::scenario::{Fetch, HttpVersion, Object, Page};
use crate::stack::Nanoseconds;

const NANOSECONDS: i64 = 1_000_000_000;
const DAY: i64 = 86_400;
/// Age of an object on a server at the start of the simulation.
const LAST_MODIFIED_BEFORE: i64 = 30 * DAY;
const USER_AGENT: &str = "reference_sim/1.0";
/// Length of a date as in RFC 9110, section 5.6.7.
const DATE_BYTES: u32 = 29;
/// The field that pads a head, without its value. A gap too short for the field is filled with spaces before
/// another value. Readers strip these spaces (RFC 9112, section 5).
const PADDING_FIELD: &str = "X-Padding: ";
const PADDING_FIELD_BYTES: u32 = PADDING_FIELD.len() as u32 + 2;
const BOUNDARY: &str = "reference-sim-part";

/// The constant fields of a head.
#[derive(Debug, PartialEq, Eq)]
pub struct Template {
    /// Text after the version in a response, and before the version in a request.
    start: String,
    is_response: bool,
    /// Field lines with their line ends.
    fields: String,
    has_content_length: bool,
}

/// The Connection field of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionField {
    Absent,
    KeepAlive,
    Close,
}

impl ConnectionField {
    fn line(self) -> &'static str {
        match self {
            ConnectionField::Absent => "",
            ConnectionField::KeepAlive => "Connection: Keep-Alive\r\n",
            ConnectionField::Close => "Connection: close\r\n",
        }
    }
}

/// A head of known length. [`Head::text`] generates its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    template: Arc<Template>,
    version: HttpVersion,
    connection: ConnectionField,
    content_length: u64,
    /// Seconds since the epoch.
    date: i64,
    padding: u32,
    bytes: u32,
}

/// The variable fields of a response.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    pub version: HttpVersion,
    pub connection: ConnectionField,
    /// Nanoseconds since the epoch.
    pub clock: i64,
    pub min_bytes: u32,
}

fn version_text(version: HttpVersion) -> &'static str {
    match version {
        HttpVersion::Http10 => "HTTP/1.0",
        HttpVersion::Http11 => "HTTP/1.1",
    }
}

/// Return the request line's target, in absolute form towards a proxy (RFC 9112, section 3.2.2).
#[must_use]
pub fn request_target(page: &Page, object: &Object, to_proxy: bool) -> String {
    if to_proxy {
        format!("http://{}{}", page.host, object.target)
    } else {
        object.target.clone()
    }
}

impl Template {
    #[must_use]
    pub fn request(page: &Page, fetch: &Fetch, to_proxy: bool) -> Template {
        let objects = fetch
            .objects
            .iter()
            .filter_map(|index| page.objects.get(*index as usize));
        let (mut target, mut own_fields) = (String::from("/"), String::new());
        for (number, object) in objects.enumerate() {
            if number == 0 {
                target = request_target(page, object, to_proxy);
            } else {
                own_fields += &format!("X-Bundle: {}\r\n", object.target);
            }
            push_lines(&mut own_fields, &object.request_fields);
        }
        Template {
            start: format!("{} {target} ", fetch.method),
            is_response: false,
            fields: format!(
                "Host: {}\r\nUser-Agent: {USER_AGENT}\r\n{own_fields}",
                page.host
            ),
            has_content_length: false,
        }
    }

    /// Return the template of a response with these objects, from a server named `product`, with one
    /// additional line.
    #[must_use]
    pub fn response(
        objects: &[&Object],
        product: &str,
        epoch: i64,
        line: Option<&str>,
    ) -> Template {
        let status = objects.first().map_or(200, |object| object.status);
        let mut fields = format!("Server: {product}\r\n");
        if status == 200 || status == 304 {
            let changed = epoch.div_euclid(NANOSECONDS) - LAST_MODIFIED_BEFORE;
            fields += &format!("Last-Modified: {}\r\n", imf_fixdate(changed));
        }
        let has_body = has_body(status);
        if has_body {
            fields += &format!("Content-Type: {}\r\n", content_type(objects));
        }
        for object in objects {
            push_lines(&mut fields, &object.response_fields);
        }
        if let Some(line) = line {
            fields += &format!("{line}\r\n");
        }
        Template {
            start: format!(" {status} {}\r\n", reason(status)),
            is_response: true,
            fields,
            has_content_length: has_body,
        }
    }

    /// Return the length without padding and without the digits of Content-Length.
    fn fixed_bytes(&self, terms: &Terms) -> u32 {
        let dated = if self.is_response {
            "Date: \r\n".len() as u32 + DATE_BYTES
        } else {
            2
        };
        let length = if self.has_content_length {
            "Content-Length: \r\n".len() as u32
        } else {
            0
        };
        let texts = version_text(terms.version).len()
            + self.start.len()
            + self.fields.len()
            + terms.connection.line().len();
        texts as u32 + dated + length + 2
    }
}

fn push_lines(fields: &mut String, lines: &[String]) {
    for line in lines {
        fields.push_str(line);
        fields.push_str("\r\n");
    }
}

fn digits(number: u64) -> u32 {
    number.checked_ilog10().unwrap_or(0) + 1
}

impl Head {
    /// Return the media type of the body, if there is a body.
    #[must_use]
    pub fn media_type(&self) -> Option<&str> {
        let mut lines = self.template.fields.lines();
        let value = lines.find_map(|line| line.strip_prefix("Content-Type: "))?;
        value.split(';').next().map(str::trim)
    }

    /// Return the head of a message with a body of `content_length` bytes.
    #[must_use]
    pub fn new(template: &Arc<Template>, content_length: u64, terms: &Terms) -> Head {
        let length = if template.has_content_length {
            digits(content_length)
        } else {
            0
        };
        let bytes = template.fixed_bytes(terms) + length;
        Head {
            template: Arc::clone(template),
            version: terms.version,
            connection: terms.connection,
            content_length,
            date: terms.clock.div_euclid(NANOSECONDS),
            padding: terms.min_bytes.saturating_sub(bytes),
            bytes: bytes.max(terms.min_bytes),
        }
    }

    /// Return the head of a message of `total` bytes with its body. If the unpadded head alone is longer,
    /// return that head without a body.
    #[must_use]
    pub fn within(template: &Arc<Template>, total: u64, terms: &Terms) -> Head {
        let empty = Head::new(template, 0, terms);
        if !template.has_content_length || u64::from(empty.bytes) >= total {
            let unpadded = Terms {
                min_bytes: total.min(u64::from(terms.min_bytes)) as u32,
                ..*terms
            };
            return Head::new(template, 0, &unpadded);
        }
        // A longer body needs more digits for its length. Two rounds find the digits.
        let body = |head: &Head| total.saturating_sub(u64::from(head.bytes));
        let first = Head::new(template, body(&empty), terms);
        let mut head = Head::new(template, body(&first), terms);
        let missing = total.saturating_sub(u64::from(head.bytes) + head.content_length);
        // 99 body bytes with two digits are one byte short, 100 with three digits one byte long.
        head.padding += missing as u32;
        head.bytes += missing as u32;
        head
    }

    #[must_use]
    pub fn bytes(&self) -> u64 {
        u64::from(self.bytes)
    }

    #[must_use]
    pub fn content_length(&self) -> u64 {
        self.content_length
    }

    /// Return the whole head as stream content.
    #[must_use]
    pub fn content(&self) -> Content {
        Content::Head {
            head: self.clone(),
            from: 0,
            bytes: self.bytes(),
        }
    }

    /// Return the head's bytes.
    #[must_use]
    pub fn text(&self) -> Vec<u8> {
        let (blanks, field) = match self.padding.checked_sub(PADDING_FIELD_BYTES) {
            Some(value) => (
                0,
                format!("{PADDING_FIELD}{}\r\n", "x".repeat(value as usize)),
            ),
            None => (self.padding as usize, String::new()),
        };
        let version = version_text(self.version);
        let mut text = if self.template.is_response {
            let date = imf_fixdate(self.date);
            let blanks = " ".repeat(blanks);
            format!("{version}{}Date: {blanks}{date}\r\n", self.template.start)
        } else {
            format!("{}{version}\r\n", self.template.start)
        };
        if self.template.is_response {
            text += &self.template.fields;
        } else {
            let padded = format!(": {}", " ".repeat(blanks));
            text += &self.template.fields.replacen(": ", &padded, 1);
        }
        if self.template.has_content_length {
            text += &format!("Content-Length: {}\r\n", self.content_length);
        }
        text += self.connection.line();
        text += &field;
        text += "\r\n";
        text.into_bytes()
    }
}

/// Return true if responses of this status have a body (RFC 9110, section 6.4.1).
#[must_use]
pub fn has_body(status: u16) -> bool {
    status >= 200 && status != 204 && status != 304
}

fn reason(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        200 => "OK",
        204 => "No Content",
        206 => "Partial Content",
        226 => "IM Used",
        301 => "Moved Permanently",
        302 => "Found",
        304 => "Not Modified",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Other",
    }
}

fn content_type<'a>(objects: &[&'a Object]) -> Cow<'a, str> {
    let [object] = objects else {
        return format!("multipart/mixed; boundary={BOUNDARY}").into();
    };
    object.content_type.as_str().into()
}

/// Return the format of an object's body.
#[must_use]
pub fn body_kind(object: &Object) -> BodyKind {
    let is_gzip = |line: &String| {
        line.split_once(':').is_some_and(|(name, value)| {
            name.eq_ignore_ascii_case("content-encoding")
                && value.trim().eq_ignore_ascii_case("gzip")
        })
    };
    if object.response_fields.iter().any(is_gzip) {
        return BodyKind::Gzip;
    }
    let media_type = object.content_type.split(';').next().unwrap_or("").trim();
    match media_type {
        "image/gif" => BodyKind::Gif,
        "image/png" => BodyKind::Png,
        "image/jpeg" => BodyKind::Jpeg,
        _ if media_type.starts_with("text/") => BodyKind::Html,
        _ => BodyKind::Binary,
    }
}

/// Return the date in the form "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, section 5.6.7), from seconds since
/// the epoch.
#[must_use]
pub fn imf_fixdate(seconds: i64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let (days, second) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    let (year, month, day) = civil(days);
    let weekday = DAYS.get(days.rem_euclid(7) as usize).unwrap_or(&"");
    let month = MONTHS.get(month as usize).unwrap_or(&"");
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
}

/// Return year, month from 0 and day for a day since the epoch. Years count from March, so a leap day ends a
/// year (H. Hinnant, "chrono-compatible low-level date algorithms").
fn civil(days: i64) -> (i64, i64, i64) {
    const DAYS_OF_400_YEARS: i64 = 146_097;
    const FROM_MARCH_OF_YEAR_0: i64 = 719_468;
    let shifted = days + FROM_MARCH_OF_YEAR_0;
    let (era, day) = (
        shifted.div_euclid(DAYS_OF_400_YEARS),
        shifted.rem_euclid(DAYS_OF_400_YEARS),
    );
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month + 2) / 5 + 1;
    let is_next_year = month >= 10;
    let year = year + era * 400 + i64::from(is_next_year);
    (year, (month + 2) % 12, day_of_month)
}

/// The multipart delimiters: their lengths before each part of a bundle, and after the last part.
#[derive(Clone, Debug)]
pub struct Parts {
    before: Vec<Arc<[u8]>>,
    after: Arc<[u8]>,
}

impl Parts {
    /// Create the delimiters of a multipart body (RFC 2046, section 5.1.1).
    #[must_use]
    pub fn new(objects: &[&Object]) -> Parts {
        let before = objects.iter().enumerate().map(|(number, object)| {
            let line_end = if number == 0 { "" } else { "\r\n" };
            let text = format!(
                "{line_end}--{BOUNDARY}\r\nContent-Type: {}\r\nContent-Location: {}\r\n\r\n",
                object.content_type, object.target
            );
            text.into_bytes().into()
        });
        Parts {
            before: before.collect(),
            after: format!("\r\n--{BOUNDARY}--\r\n").into_bytes().into(),
        }
    }

    #[must_use]
    pub fn bytes(&self) -> u64 {
        let before: usize = self.before.iter().map(|text| text.len()).sum();
        (before + self.after.len()) as u64
    }

    /// Return the whole multipart body of these bodies.
    #[must_use]
    pub fn content(&self, bodies: &[Body]) -> Vec<Content> {
        let mut contents: Vec<Content> = Vec::with_capacity(2 * bodies.len() + 1);
        for (text, body) in self.before.iter().zip(bodies) {
            contents.push(Content::Text(Arc::clone(text)));
            contents.push(whole(*body));
        }
        contents.push(Content::Text(Arc::clone(&self.after)));
        contents
    }
}

/// Return a whole body as content.
#[must_use]
pub fn whole(body: Body) -> Content {
    Content::Body {
        body,
        from: 0,
        bytes: body.total,
    }
}

/// Return simulated time on a clock that started at `epoch`.
#[must_use]
pub fn clock(epoch: i64, now: Nanoseconds) -> i64 {
    epoch.saturating_add(i64::try_from(now).unwrap_or(i64::MAX))
}
