//! Rows between workers: a flat container of plain-old-data rows. Within a process a batch moves as a `Vec`; between processes
//! it is the rows' bytes and nothing else, borrowed from the receive buffer where that is aligned. Received lengths are
//! checked, never trusted. With the feature `abomonation` the same container travels in that crate's encoding.
//!
//! Rows must be a multiple of 8 bytes, so that every message on a link keeps its successor aligned.

use bytemuck::Pod;
use timely::bytes::arc::Bytes;
use timely::container::{DrainContainer, PushInto, SizableContainer};
use timely::dataflow::channels::ContainerBytes;

/// A row that may cross a process boundary.
pub trait Row: Pod + Ord + std::fmt::Debug + Send + 'static {}
impl<T: Pod + Ord + std::fmt::Debug + Send + 'static> Row for T {}

/// Bytes of one batch: large enough to amortise a message, small enough to stay in cache.
const BATCH_BYTES: usize = 1 << 15;

/// A batch of rows.
pub enum Rows<T> {
    /// Built here.
    Own(Vec<T>),
    /// Received, and left where it arrived.
    Wire(Bytes),
}

impl<T: Row> Rows<T> {
    const BATCH_ROWS: usize = BATCH_BYTES / std::mem::size_of::<T>();

    /// The rows.
    pub fn as_slice(&self) -> &[T] {
        match self {
            Rows::Own(rows) => rows,
            Rows::Wire(bytes) => bytemuck::cast_slice(&bytes[..]),
        }
    }

    /// The rows of a received message.
    ///
    /// A length that is no whole number of rows means that the link is corrupt; the panic ends the process, as the peer
    /// cannot be asked again.
    fn received(bytes: Bytes) -> Rows<T> {
        const { assert!(std::mem::size_of::<T>().is_multiple_of(8) && std::mem::align_of::<T>() <= 8) };
        assert!(
            bytes.len().is_multiple_of(std::mem::size_of::<T>()),
            "corrupt message: {} bytes are no whole rows",
            bytes.len()
        );
        if (bytes.as_ptr() as usize).is_multiple_of(std::mem::align_of::<T>()) {
            Rows::Wire(bytes)
        } else {
            Rows::Own(bytes.chunks_exact(std::mem::size_of::<T>()).map(bytemuck::pod_read_unaligned).collect())
        }
    }
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Rows::Own(Vec::new())
    }
}

impl<T: Row> Clone for Rows<T> {
    fn clone(&self) -> Self {
        match self {
            Rows::Own(rows) => Rows::Own(rows.clone()),
            Rows::Wire(bytes) => Rows::Wire(bytes.clone()),
        }
    }
}

impl<T: Row> timely::Accountable for Rows<T> {
    fn record_count(&self) -> i64 {
        self.as_slice().len() as i64
    }
}

impl<T: Row> DrainContainer for Rows<T> {
    type Item<'a> = T;
    type DrainIter<'a> = std::iter::Copied<std::slice::Iter<'a, T>>;

    fn drain(&mut self) -> Self::DrainIter<'_> {
        self.as_slice().iter().copied()
    }
}

impl<T: Row> SizableContainer for Rows<T> {
    fn at_capacity(&self) -> bool {
        match self {
            Rows::Own(rows) => rows.len() >= Self::BATCH_ROWS,
            Rows::Wire(_) => true,
        }
    }

    fn ensure_capacity(&mut self, stash: &mut Option<Self>) {
        let Rows::Own(rows) = self else { return };
        if rows.capacity() == 0 {
            if let Some(Rows::Own(mut spare)) = stash.take() {
                spare.clear();
                *rows = spare;
            }
            rows.reserve(Self::BATCH_ROWS.saturating_sub(rows.len()));
        }
    }
}

impl<T: Row> PushInto<T> for Rows<T> {
    #[inline]
    fn push_into(&mut self, row: T) {
        match self {
            Rows::Own(rows) => rows.push(row),
            Rows::Wire(_) => {
                let mut rows = self.as_slice().to_vec();
                rows.push(row);
                *self = Rows::Own(rows);
            }
        }
    }
}

#[cfg(not(feature = "abomonation"))]
impl<T: Row> ContainerBytes for Rows<T> {
    fn from_bytes(bytes: Bytes) -> Self {
        Rows::received(bytes)
    }

    fn length_in_bytes(&self) -> usize {
        std::mem::size_of_val(self.as_slice())
    }

    fn into_bytes<W: std::io::Write>(&self, writer: &mut W) {
        writer.write_all(bytemuck::cast_slice(self.as_slice())).expect("the send buffer has the announced length");
    }
}

/// abomonation's form of `Vec<u64>`: its 24-byte header (which holds a heap address of the sender) and the rows as words. Encoding
/// words rather than rows needs no `unsafe impl` for any row; decoding reads the words after the header, with the length of
/// the frame and not the header's claim, so the crate's unsound `decode` is never called.
#[cfg(feature = "abomonation")]
#[allow(unsafe_code)]
impl<T: Row> ContainerBytes for Rows<T> {
    fn from_bytes(mut bytes: Bytes) -> Self {
        assert!(bytes.len() >= ABOMONATED_HEADER_BYTES, "corrupt message: {} bytes have no header", bytes.len());
        bytes.extract_to(ABOMONATED_HEADER_BYTES);
        Rows::received(bytes)
    }

    fn length_in_bytes(&self) -> usize {
        ABOMONATED_HEADER_BYTES + std::mem::size_of_val(self.as_slice())
    }

    fn into_bytes<W: std::io::Write>(&self, writer: &mut W) {
        let words: Vec<u64> = bytemuck::cast_slice(self.as_slice()).to_vec();
        // Safety: `u64` has no padding, and the vector outlives the call; the header's pointer is never followed.
        unsafe { abomonation::encode(&words, writer) }.expect("the send buffer has the announced length");
    }
}

#[cfg(feature = "abomonation")]
const ABOMONATED_HEADER_BYTES: usize = std::mem::size_of::<Vec<u64>>();

#[cfg(test)]
mod tests {
    use super::*;
    use timely::bytes::arc::BytesMut;

    fn bytes(of: &[u8]) -> Bytes {
        BytesMut::from(of.to_vec()).freeze()
    }

    /// What one process writes another reads back, whichever codec is built in.
    #[test]
    fn round_trip() {
        for n in [0usize, 1, 5, 4096] {
            let sent: Vec<[u64; 2]> = (0..n as u64).map(|i| [i, i * i]).collect();
            let mut wire = Vec::new();
            let container = Rows::Own(sent.clone());
            container.into_bytes(&mut wire);
            assert_eq!(wire.len(), container.length_in_bytes());
            assert_eq!(Rows::<[u64; 2]>::from_bytes(bytes(&wire)).as_slice(), &sent[..]);
        }
    }

    /// A message that is no whole number of rows is refused, not read past its end.
    #[test]
    #[should_panic(expected = "corrupt message")]
    fn short_message() {
        let _ = Rows::<[u64; 2]>::from_bytes(bytes(&[7; 41]));
    }
}
