//! The batches of rows that workers exchange.
//!
//! Rows are plain old data. Within a process a batch moves as a `Vec`. Between processes it is sent
//! as the bytes of its rows and nothing else, and the receiver borrows them from the receive buffer
//! if they are aligned. The length of a message is checked before it is read. With the feature
//! `abomonation` the same batches are sent in that crate's encoding.
//!
//! The size of a row must be a multiple of 8 bytes, so that each message on a connection leaves the
//! next one aligned.

use bytemuck::Pod;
use timely::bytes::arc::Bytes;
use timely::container::{DrainContainer, PushInto, SizableContainer};
use timely::dataflow::channels::ContainerBytes;

/// A row that may be sent to another process.
pub trait WireRow: Pod + Ord + std::fmt::Debug + Send + 'static {}
impl<T: Pod + Ord + std::fmt::Debug + Send + 'static> WireRow for T {}

/// Bytes of a batch: enough to amortise the cost of a message, few enough to stay in the cache.
const BATCH_BYTES: usize = 1 << 15;

/// A batch of rows.
pub enum Rows<T> {
    /// Built by this worker.
    Own(Vec<T>),
    /// Received, and still in the receive buffer.
    Wire(Bytes),
}

impl<T: WireRow> Rows<T> {
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
    /// Panics if the length is not a whole number of rows. The connection is corrupt then, and the
    /// peer cannot send the message again, so the process must end.
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
            Rows::Own(
                bytes
                    .chunks_exact(std::mem::size_of::<T>())
                    .map(bytemuck::pod_read_unaligned)
                    .collect(),
            )
        }
    }
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Rows::Own(Vec::new())
    }
}

impl<T: WireRow> Clone for Rows<T> {
    fn clone(&self) -> Self {
        match self {
            Rows::Own(rows) => Rows::Own(rows.clone()),
            Rows::Wire(bytes) => Rows::Wire(bytes.clone()),
        }
    }
}

impl<T: WireRow> timely::Accountable for Rows<T> {
    fn record_count(&self) -> i64 {
        self.as_slice().len() as i64
    }
}

impl<T: WireRow> DrainContainer for Rows<T> {
    type Item<'a> = T;
    type DrainIter<'a> = std::iter::Copied<std::slice::Iter<'a, T>>;

    fn drain(&mut self) -> Self::DrainIter<'_> {
        self.as_slice().iter().copied()
    }
}

impl<T: WireRow> SizableContainer for Rows<T> {
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

impl<T: WireRow> PushInto<T> for Rows<T> {
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

impl<T: WireRow> ContainerBytes for Rows<T> {
    fn from_bytes(bytes: Bytes) -> Self {
        codec::read(bytes)
    }

    fn length_in_bytes(&self) -> usize {
        codec::length_in_bytes(self.as_slice())
    }

    fn into_bytes<W: std::io::Write>(&self, writer: &mut W) {
        codec::write(self.as_slice(), writer).expect("the send buffer has the announced length");
    }
}

#[cfg(feature = "abomonation")]
use abomonated as codec;
#[cfg(not(feature = "abomonation"))]
use plain as codec;

/// The bytes of the rows and nothing else.
#[cfg(any(test, not(feature = "abomonation")))]
mod plain {
    use super::{Bytes, Rows, WireRow};
    use std::io::{Result, Write};

    pub fn read<T: WireRow>(bytes: Bytes) -> Rows<T> {
        Rows::received(bytes)
    }

    pub fn length_in_bytes<T: WireRow>(rows: &[T]) -> usize {
        std::mem::size_of_val(rows)
    }

    pub fn write<T: WireRow>(rows: &[T], writer: &mut impl Write) -> Result<()> {
        writer.write_all(bytemuck::cast_slice(rows))
    }
}

/// The form of a `Vec<u64>` in abomonation: its 24-byte header, which contains a heap address of
/// the sender, and the rows as words.
///
/// Because words are encoded and not rows, no row needs an `unsafe impl`. Decoding takes the length
/// from the message and not from the header, so the crate's unsound `decode` is never called.
#[cfg(feature = "abomonation")]
mod abomonated {
    use super::{Bytes, Rows, WireRow};
    use std::io::{Result, Write};

    const HEADER_BYTES: usize = std::mem::size_of::<Vec<u64>>();

    pub fn read<T: WireRow>(mut bytes: Bytes) -> Rows<T> {
        assert!(
            bytes.len() >= HEADER_BYTES,
            "corrupt message: {} bytes have no header",
            bytes.len()
        );
        bytes.extract_to(HEADER_BYTES);
        Rows::received(bytes)
    }

    pub fn length_in_bytes<T: WireRow>(rows: &[T]) -> usize {
        HEADER_BYTES + std::mem::size_of_val(rows)
    }

    #[allow(unsafe_code)]
    pub fn write<T: WireRow>(rows: &[T], writer: &mut impl Write) -> Result<()> {
        let words: Vec<u64> = bytemuck::cast_slice(rows).to_vec();
        // Safety: `u64` has no padding and the vector outlives the call. The pointer in the header
        // is never followed.
        unsafe { abomonation::encode(&words, writer) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timely::bytes::arc::BytesMut;

    fn bytes(of: &[u8]) -> Bytes {
        BytesMut::from(of.to_vec()).freeze()
    }

    /// A batch is the same after it was written and read, and takes the bytes that were announced.
    macro_rules! round_trip {
        ($name:ident, $codec:ident) => {
            #[test]
            fn $name() {
                for n in [0usize, 1, 5, 4096] {
                    let sent: Vec<[u64; 2]> = (0..n as u64).map(|i| [i, i * i]).collect();
                    let mut wire = Vec::new();
                    $codec::write(&sent, &mut wire).expect("memory");
                    assert_eq!(wire.len(), $codec::length_in_bytes(&sent));
                    assert_eq!($codec::read::<[u64; 2]>(bytes(&wire)).as_slice(), &sent[..]);
                }
            }
        };
    }

    round_trip!(plain_rows_come_back, plain);
    #[cfg(feature = "abomonation")]
    round_trip!(abomonated_rows_come_back, abomonated);

    /// A message that is not a whole number of rows panics and is not read past its end.
    #[test]
    #[should_panic(expected = "corrupt message")]
    fn short_message() {
        let _ = Rows::<[u64; 2]>::from_bytes(bytes(&[7; 41]));
    }
}
