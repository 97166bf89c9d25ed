//! The differences between WARC and ARC, and searches for the bounds of a record that both use.

use crate::read::Limits;
use crate::read::record::{Item, Notes};

/// The rules of one archive format.
pub trait Dialect: Sized {
    /// Whether a record starts with these bytes, or may start if there were more of them.
    fn starts(bytes: &[u8]) -> bool;
    /// The first place from `from` on where a record seems to start. The first byte counts as the
    /// start of a line.
    fn find_start(&mut self, bytes: &[u8], from: usize) -> Option<usize> {
        find_line::<Self>(bytes, from)
    }
    /// The length of the header with the line end that closes it; `None` if it is incomplete. It
    /// does not end within the first `from` bytes, which are not searched again.
    fn header_length(&mut self, bytes: &[u8], from: usize) -> Option<usize>;
    /// Where within this header another record starts.
    fn torn_at(&mut self, header: &[u8]) -> Option<usize>;
    /// The length of the body that the header claims; `None` if the claim is impossible.
    fn body_length(&mut self, header: &[u8]) -> Option<u64>;
    /// Whether these bytes are what must follow a body.
    fn separated(behind: &[u8]) -> bool;
    /// The item of a record.
    fn item(&mut self, header: &[u8], body: &[u8], limits: &Limits, notes: &mut Notes) -> Item;
    /// The id in the header of the last item, if there is one.
    fn id(&self) -> Option<&str> {
        None
    }
    /// Forgets that id.
    fn forget_id(&mut self) {}
}

/// The first line from `from` on that starts a record. The first byte counts as the start of a
/// line.
fn find_line<D: Dialect>(bytes: &[u8], from: usize) -> Option<usize> {
    if from == 0 && D::starts(bytes) {
        return Some(0);
    }
    let lines = memchr::memchr_iter(b'\n', bytes.get(from.saturating_sub(1)..)?);
    lines
        .map(|end| from.saturating_sub(1) + end + 1)
        .find(|&line| line < bytes.len() && D::starts(&bytes[line..]))
}

pub fn starts_behind_blanks<D: Dialect>(bytes: &[u8]) -> bool {
    D::starts(&bytes[blanks(bytes)..])
}

/// The bytes between records at the start of `bytes`.
pub fn blanks(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|&&b| matches!(b, b'\r' | b'\n' | b' ' | b'\t' | 0)).count()
}

/// `body` without the two line ends that close a record.
pub fn trim_line_ends(mut body: &[u8]) -> &[u8] {
    for _ in 0..2 {
        body =
            body.strip_suffix(b"\n").map_or(body, |rest| rest.strip_suffix(b"\r").unwrap_or(rest));
    }
    body
}
