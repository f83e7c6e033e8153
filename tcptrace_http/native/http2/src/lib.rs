//! HTTP/2 from the in-order bytes of a flow (RFC 9113).

#![forbid(unsafe_code)]
