//! The session of an authenticated connection: seals and opens its messages.
//!
//! Both halves count their messages, so that a message that is dropped, repeated or reordered does
//! not open. Besides data, a session carries signals, which are messages of one byte.
//! `connection.rs` moves the rows through it.

use std::io;
use std::sync::Arc;

use snow::StatelessTransportState;

/// The tag that Noise appends to each message.
pub(super) const TAG_BYTES: usize = 16;
/// A sealed signal on the wire.
pub(super) const SIGNAL_BYTES: usize = 1 + TAG_BYTES;

/// All that processes send to each other apart from data and control messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// The dialer's opening was no replay.
    Confirm = 1,
    /// The acceptor has stored the connection.
    Welcome = 2,
    /// Another connection has that place already.
    Taken = 3,
    /// The sender has all of its connections.
    Ready = 4,
    /// The sender is alive.
    Beat = 5,
    /// The sender's workers have joined; it will be silent from now on.
    Farewell = 6,
}

const SIGNALS: [Signal; 6] = [
    Signal::Confirm,
    Signal::Welcome,
    Signal::Taken,
    Signal::Ready,
    Signal::Beat,
    Signal::Farewell,
];

/// The sending half of a session. It counts its messages, so that a message that is dropped,
/// repeated or reordered is noticed.
pub(super) struct Sealer {
    session: Arc<StatelessTransportState>,
    nonce: u64,
}

impl Sealer {
    pub(super) fn new(session: Arc<StatelessTransportState>) -> Sealer {
        Sealer { session, nonce: 0 }
    }

    /// Seals `plain` into `sealed`; returns the bytes used.
    pub(super) fn seal(&mut self, plain: &[u8], sealed: &mut [u8]) -> io::Result<usize> {
        let written = self
            .session
            .write_message(self.nonce, plain, sealed)
            .map_err(|error| io::Error::other(error.to_string()))?;
        self.nonce += 1;
        Ok(written)
    }

    pub(super) fn signal(&mut self, signal: Signal) -> io::Result<[u8; SIGNAL_BYTES]> {
        let mut sealed = [0; SIGNAL_BYTES];
        self.seal(&[signal as u8], &mut sealed)?;
        Ok(sealed)
    }
}

/// The receiving half of a session.
pub(super) struct Opener {
    session: Arc<StatelessTransportState>,
    nonce: u64,
}

impl Opener {
    pub(super) fn new(session: Arc<StatelessTransportState>) -> Opener {
        Opener { session, nonce: 0 }
    }

    /// Opens `sealed` into `plain`; returns the bytes used.
    pub(super) fn open(&mut self, sealed: &[u8], plain: &mut [u8]) -> io::Result<usize> {
        let forged =
            |_| io::Error::new(io::ErrorKind::InvalidData, "a message that the peer did not seal");
        let read = self.session.read_message(self.nonce, sealed, plain).map_err(forged)?;
        self.nonce += 1;
        Ok(read)
    }

    pub(super) fn signal(&mut self, sealed: &[u8; SIGNAL_BYTES]) -> io::Result<Signal> {
        let mut plain = [0; SIGNAL_BYTES];
        self.open(sealed, &mut plain)?;
        let known = SIGNALS.into_iter().find(|signal| *signal as u8 == plain[0]);
        known.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a word that is not known"))
    }
}
