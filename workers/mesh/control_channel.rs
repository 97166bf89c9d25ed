//! Messages between all processes of a job for the whole run.
//!
//! Messages arrive whole and in order, and are always sealed. A heartbeat raises the alarm when a
//! peer dies or falls silent, whatever this process is busy with. No record travels here; that is
//! for [`super::execute`], which may use the same listener once the channel is open.

use crate::error::{Error, Kind, Result};
use crate::mesh::Mesh;
use crate::mesh::beat::Beats;
use crate::mesh::connection::{Alarm, Connection, lost};
use crate::mesh::frames::{FrameReader, FrameWriter, PLAIN_BYTES_MAX};
use crate::mesh::session::{Opener, Sealer};
use crate::mesh::start::connect;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Builder;
use std::time::Duration;

/// The size of a message. The receipts of 1,024 workers take about one megabyte, and up to 30 if
/// pages of very many inputs change.
const MESSAGE_BYTES_MAX: usize = 64 << 20;
/// The first byte of a frame whose message continues in the next frame.
const CONTINUES: u8 = 1;

/// This process's end of the channel. If it is dropped without [`ControlChannel::leave`], the
/// others count this process as lost.
pub struct ControlChannel {
    senders: Vec<Option<(TcpStream, Sealer)>>,
    received: Receiver<(usize, Vec<u8>)>,
    /// Before the heartbeat: fields are dropped in this order.
    _disarm: DisarmOnDrop,
    beats: Beats,
    silence: Duration,
}

/// Disarms the alarm when this process gives up: the losses that follow are its own doing.
struct DisarmOnDrop(Arc<Alarm>);

impl Drop for DisarmOnDrop {
    fn drop(&mut self) {
        self.0.disarm();
    }
}

impl ControlChannel {
    /// Connects to all peers of `mesh` over `listener`, which stays open; all processes must have
    /// the same number of `threads`. `on_lost` is called once, from another thread, when a peer is
    /// lost before this process leaves.
    ///
    /// # Errors
    ///
    /// Those of [`super::execute`] before the work begins.
    pub fn begin(
        mesh: &Mesh,
        threads: usize,
        listener: &TcpListener,
        on_lost: impl Fn(&Error) + Send + Sync + 'static,
    ) -> Result<ControlChannel> {
        mesh.check()?;
        let io = |error| Error::new(Kind::Io, "cannot set up the network").caused_by(error);
        let connections = connect(mesh, threads, Some(listener.try_clone().map_err(io)?))?;
        let alarm = Arc::new(Alarm::new(on_lost));
        let beats = Beats::start(connections.beat, mesh.silence_timeout, &alarm).map_err(io)?;
        let (messages, received) = channel();
        let mut senders = Vec::with_capacity(connections.data.len());
        for (peer, connection) in connections.data.into_iter().enumerate() {
            let Some(Connection { stream, sealer, opener }) = connection else {
                senders.push(None);
                continue;
            };
            let (incoming, messages, alarm) =
                (stream.try_clone().map_err(io)?, messages.clone(), alarm.clone());
            let receiving = Builder::new().name(format!("mesh:control-{peer}"));
            receiving
                .spawn(move || receive_all(peer, incoming, opener, &messages, &alarm))
                .map_err(io)?;
            senders.push(Some((stream, sealer)));
        }
        Ok(ControlChannel {
            senders,
            received,
            _disarm: DisarmOnDrop(alarm),
            beats,
            silence: mesh.silence_timeout,
        })
    }

    /// Sends `message` to `peer`.
    ///
    /// # Errors
    ///
    /// [`Kind::TryAgain`]: the peer cannot be reached. [`Kind::Internal`]: there is no such peer,
    /// or the message is too long.
    pub fn send(&mut self, peer: usize, message: &[u8]) -> Result<()> {
        if message.len() > MESSAGE_BYTES_MAX {
            return Err(Error::internal(format!("a message of {} bytes", message.len())));
        }
        let sender = self.senders.get_mut(peer).and_then(Option::as_mut);
        let (stream, sealer) =
            sender.ok_or_else(|| Error::internal(format!("process {peer} is no peer")))?;
        write_message(stream, sealer, message)
            .map_err(|error| lost(peer, format!("cannot send to it: {error}")))
    }

    /// Waits for the next message, and returns it with its sender.
    ///
    /// # Errors
    ///
    /// [`Kind::TryAgain`]: all peers have closed their connections.
    pub fn receive(&self) -> Result<(usize, Vec<u8>)> {
        self.received
            .recv()
            .map_err(|_| Error::new(Kind::TryAgain, "lost the other processes: all have hung up"))
    }

    /// Sends a farewell to every peer, and waits for theirs, at most for the silence limit. From
    /// here on no peer counts as lost.
    pub fn leave(self) {
        self.beats.farewell(self.silence);
    }
}

/// Forwards messages until the peer closes the connection between two of them. Whether that was
/// allowed is for the heartbeat to decide.
fn receive_all(
    peer: usize,
    mut stream: TcpStream,
    mut opener: Opener,
    messages: &Sender<(usize, Vec<u8>)>,
    alarm: &Alarm,
) {
    loop {
        match read_message(&mut stream, &mut opener) {
            Ok(Some(message)) => {
                if messages.send((peer, message)).is_err() {
                    return;
                }
            }
            Ok(None) => return,
            Err(error) => return alarm.raise(&lost(peer, format!("cannot hear it: {error}"))),
        }
    }
}

/// Writes a message in frames, each of which starts with [`CONTINUES`] or 0.
fn write_message(to: &mut impl Write, sealer: &mut Sealer, message: &[u8]) -> io::Result<()> {
    let mut parts = message.chunks(PLAIN_BYTES_MAX - 1).peekable();
    let (mut plain, mut frames) = (Vec::new(), FrameWriter::new());
    loop {
        let part = parts.next().unwrap_or_default();
        let continues = parts.peek().is_some();
        plain.clear();
        plain.push(if continues { CONTINUES } else { 0 });
        plain.extend_from_slice(part);
        frames.write(to, sealer, &plain)?;
        if !continues {
            return Ok(());
        }
    }
}

/// The next message; `None` if the peer has closed the connection before it.
fn read_message(from: &mut impl Read, opener: &mut Opener) -> io::Result<Option<Vec<u8>>> {
    let wrong = |why| io::Error::new(ErrorKind::InvalidData, why);
    let (mut message, mut frames) = (Vec::new(), FrameReader::new());
    let mut is_first = true;
    loop {
        let Some(plain) = frames.read(from, opener)? else {
            return if is_first { Ok(None) } else { Err(ErrorKind::UnexpectedEof.into()) };
        };
        is_first = false;
        let (mark, part) = plain.split_first().ok_or_else(|| wrong("a frame without a mark"))?;
        if message.len() + part.len() > MESSAGE_BYTES_MAX {
            return Err(wrong("a message that is too long"));
        }
        message.extend_from_slice(part);
        if *mark != CONTINUES {
            return Ok(Some(message));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::connection::tests::connected;

    /// Messages of any length arrive unchanged and in order. The stream may end between two
    /// messages; an end within one, or a message of another session, is an error.
    #[test]
    fn messages() {
        let (mut stranger, mut sent) = (connected().0.sealer, Vec::new());
        let lengths =
            [0, 1, PLAIN_BYTES_MAX - 2, PLAIN_BYTES_MAX - 1, PLAIN_BYTES_MAX, 3 * PLAIN_BYTES_MAX];
        let message =
            |length: usize| (0..length).map(|n| (n * 31 + length) as u8).collect::<Vec<_>>();
        let (dialer, acceptor) = connected();
        let (mut sealer, mut opener) = (dialer.sealer, acceptor.opener);
        for length in lengths {
            write_message(&mut sent, &mut sealer, &message(length)).expect("written");
        }
        let mut wire = &sent[..];
        for length in lengths {
            let read = read_message(&mut wire, &mut opener).expect("read");
            assert!(read == Some(message(length)), "{length} bytes");
        }
        assert!(read_message(&mut wire, &mut opener).expect("an end").is_none());
        let mut frame = Vec::new();
        write_message(&mut frame, &mut stranger, b"hello").expect("written");
        let (dialer, acceptor) = connected();
        let (mut sealer, mut opener) = (dialer.sealer, acceptor.opener);
        assert!(read_message(&mut &frame[..], &mut opener).is_err(), "sealed by a stranger");
        frame.clear();
        write_message(&mut frame, &mut sealer, b"hello").expect("written");
        assert!(read_message(&mut &frame[..frame.len() - 1], &mut opener).is_err(), "cut");
    }
}
