//! Sealed frames, in which data and messages travel.
//!
//! A frame is a length (two bytes, big endian) and a Noise transport message of that length, so at
//! most 65,535 bytes.

use crate::mesh::session::{Opener, Sealer, TAG_BYTES};
use std::io::{self, ErrorKind, Read, Write};

const LENGTH_BYTES: usize = 2;
/// The longest Noise message.
const SEALED_BYTES_MAX: usize = 65_535;
/// The longest content of a frame.
pub(super) const PLAIN_BYTES_MAX: usize = SEALED_BYTES_MAX - TAG_BYTES;

/// Writes frames.
pub(super) struct FrameWriter {
    frame: Vec<u8>,
}

impl FrameWriter {
    pub(super) fn new() -> FrameWriter {
        FrameWriter { frame: vec![0; LENGTH_BYTES + SEALED_BYTES_MAX] }
    }

    /// Writes `plain`, at most [`PLAIN_BYTES_MAX`], as one frame.
    pub(super) fn write(
        &mut self,
        to: &mut impl Write,
        sealer: &mut Sealer,
        plain: &[u8],
    ) -> io::Result<()> {
        let sealed = sealer.seal(plain, &mut self.frame[LENGTH_BYTES..])?;
        // A Noise message is never longer than a u16 can say.
        self.frame[..LENGTH_BYTES].copy_from_slice(&(sealed as u16).to_be_bytes());
        to.write_all(&self.frame[..LENGTH_BYTES + sealed])
    }
}

/// Reads frames.
pub(super) struct FrameReader {
    sealed: Vec<u8>,
    plain: Vec<u8>,
}

impl FrameReader {
    pub(super) fn new() -> FrameReader {
        FrameReader { sealed: vec![0; SEALED_BYTES_MAX], plain: vec![0; SEALED_BYTES_MAX] }
    }

    /// The content of the next frame; `None` if the stream ends before it.
    pub(super) fn read(
        &mut self,
        from: &mut impl Read,
        opener: &mut Opener,
    ) -> io::Result<Option<&[u8]>> {
        let mut length = [0; LENGTH_BYTES];
        loop {
            match from.read(&mut length[..1]) {
                Ok(0) => return Ok(None),
                Ok(_) => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        from.read_exact(&mut length[1..])?;
        let sealed = &mut self.sealed[..u16::from_be_bytes(length).into()];
        from.read_exact(sealed)?;
        let opened = opener.open(sealed, &mut self.plain)?;
        Ok(Some(&self.plain[..opened]))
    }
}
