//! An authenticated connection to one peer.
//!
//! It carries either signals, sealed messages of one byte, or the bytes of a local socket in sealed
//! [`frames`](super::frames). A frame without content ends the stream, so that a cut connection is
//! never taken for the end. Nothing here decides what a loss means: that is up to the owner of the
//! [`Alarm`].

use crate::error::{Error, Kind};
use crate::mesh::frames::{FrameReader, FrameWriter, PLAIN_BYTES_MAX};
use crate::mesh::session::{Opener, SIGNAL_BYTES, Sealer, Signal};
use socket2::{SockRef, TcpKeepalive};
use std::fmt;
use std::io::{self, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

const READ_AHEAD_BYTES: usize = 1 << 18;
/// The longest times between signs of life that Linux takes.
const KEEPALIVE_MAX: Duration = Duration::from_secs(32_767);

/// A connection to one peer after both sides have authenticated.
pub(super) struct Connection {
    pub(super) stream: TcpStream,
    pub(super) sealer: Sealer,
    pub(super) opener: Opener,
}

impl Connection {
    /// Sets the socket up for long use: blocking, without delay, and with an error once the peer's
    /// host is unreachable for `silence`.
    pub(super) fn settle(&self, silence: Duration) -> io::Result<()> {
        let second = Duration::from_secs(1);
        self.stream.set_nonblocking(false)?;
        self.stream.set_nodelay(true)?;
        self.stream.set_read_timeout(None)?;
        self.stream.set_write_timeout(None)?;
        let socket = SockRef::from(&self.stream);
        let keepalive = TcpKeepalive::new()
            .with_time((silence / 2).clamp(second, KEEPALIVE_MAX))
            .with_interval((silence / 5).clamp(second, KEEPALIVE_MAX));
        socket.set_tcp_keepalive(&keepalive.with_retries(3))?;
        #[cfg(target_os = "linux")]
        socket.set_tcp_user_timeout(Some(silence))?;
        Ok(())
    }

    pub(super) fn send(&mut self, signal: Signal) -> io::Result<()> {
        let sealed = self.sealer.signal(signal)?;
        self.stream.write_all(&sealed)
    }

    pub(super) fn receive(&mut self, deadline: Instant) -> io::Result<Signal> {
        receive(&mut self.stream, &mut self.opener, deadline)
    }

    /// Whether the peer has closed or lost this connection. Only valid while nothing is to be read
    /// from it.
    pub(super) fn is_dead(&self) -> bool {
        let peek = || {
            self.stream.set_nonblocking(true)?;
            let peeked = self.stream.peek(&mut [0]);
            self.stream.set_nonblocking(false)?;
            peeked
        };
        match peek() {
            Ok(bytes) => bytes == 0,
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
        }
    }
}

/// The next signal, which must arrive in full by `deadline`.
pub(super) fn receive(
    stream: &mut TcpStream,
    opener: &mut Opener,
    deadline: Instant,
) -> io::Result<Signal> {
    let mut sealed = [0; SIGNAL_BYTES];
    read_exact_by(stream, &mut sealed, deadline)?;
    opener.signal(&sealed)
}

/// Fills `buffer` by `deadline`, however slowly the bytes arrive; `TimedOut` otherwise.
pub(super) fn read_exact_by(
    stream: &mut TcpStream,
    buffer: &mut [u8],
    deadline: Instant,
) -> io::Result<()> {
    let mut filled = 0;
    while filled < buffer.len() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "no answer in time"));
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut buffer[filled..]) {
            Ok(0) => {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "the connection was closed",
                ));
            }
            Ok(bytes) => filled += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The error for the loss of process `peer`.
pub(super) fn lost(peer: usize, why: impl fmt::Display) -> Error {
    Error::new(Kind::TryAgain, format!("lost process {peer}: {why}")).blaming(peer)
}

/// Reports the loss of a peer once, and never after the work is over.
pub(super) struct Alarm {
    disarmed: AtomicBool,
    raise: Box<dyn Fn(&Error) + Send + Sync>,
}

impl Alarm {
    pub(super) fn new(raise: impl Fn(&Error) + Send + Sync + 'static) -> Alarm {
        Alarm { disarmed: AtomicBool::new(false), raise: Box::new(raise) }
    }

    pub(super) fn raise(&self, reason: &Error) {
        if !self.disarmed.swap(true, Ordering::SeqCst) {
            (self.raise)(reason);
        }
    }

    /// From now on a silent peer is no loss.
    pub(super) fn disarm(&self) {
        self.disarmed.store(true, Ordering::SeqCst);
    }
}

/// Carries the bytes of a local socket over `connection` in sealed frames. Returns the socket and
/// the sending thread, which ends once the socket's writing half is shut down and all bytes have
/// left. Memory is limited to three frames and the read-ahead; a slow peer blocks the writer.
pub(super) fn pump(
    connection: Connection,
    peer: usize,
    alarm: &Arc<Alarm>,
) -> io::Result<(UnixStream, JoinHandle<()>)> {
    let (inside, outside) = UnixStream::pair()?;
    let Connection { stream, sealer, opener } = connection;
    let (from_inside, to_peer, sending_alarm) =
        (outside.try_clone()?, stream.try_clone()?, alarm.clone());
    let sending = Builder::new().name(format!("mesh:seal-{peer}")).spawn(move || {
        if let Err(error) = seal_all(from_inside, to_peer, sealer) {
            sending_alarm.raise(&lost(peer, format!("cannot send to it: {error}")));
        }
    })?;
    let sending_alarm = alarm.clone();
    Builder::new().name(format!("mesh:open-{peer}")).spawn(move || {
        if let Err(error) = open_all(stream, &outside, opener) {
            sending_alarm.raise(&lost(peer, format!("cannot receive from it: {error}")));
            // timely would wait for ever on an open socket.
            let _ = outside.shutdown(Shutdown::Both);
        }
    })?;
    Ok((inside, sending))
}

fn seal_all(mut inside: UnixStream, mut peer: TcpStream, mut sealer: Sealer) -> io::Result<()> {
    let (mut plain, mut frames) = (vec![0; PLAIN_BYTES_MAX], FrameWriter::new());
    loop {
        let read = match inside.read(&mut plain) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            outcome => outcome?,
        };
        frames.write(&mut peer, &mut sealer, &plain[..read])?;
        if read == 0 {
            return peer.shutdown(Shutdown::Write);
        }
    }
}

fn open_all(peer: TcpStream, mut inside: &UnixStream, mut opener: Opener) -> io::Result<()> {
    let cut = || io::Error::new(io::ErrorKind::UnexpectedEof, "failed to fill whole buffer");
    let (mut peer, mut frames) =
        (BufReader::with_capacity(READ_AHEAD_BYTES, peer), FrameReader::new());
    loop {
        match frames.read(&mut peer, &mut opener)?.ok_or_else(cut)? {
            [] => return inside.shutdown(Shutdown::Write),
            plain => inside.write_all(plain)?,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::mesh::session::TAG_BYTES;
    use std::net::TcpListener;
    use std::sync::mpsc;

    /// Both ends of a TCP connection with a session.
    pub(in super::super) fn connected() -> (Connection, Connection) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (far, _) = listener.accept().unwrap();
        let pattern = "Noise_NN_25519_ChaChaPoly_BLAKE2s";
        let mut dialer = snow::Builder::new(pattern.parse().unwrap()).build_initiator().unwrap();
        let mut acceptor = snow::Builder::new(pattern.parse().unwrap()).build_responder().unwrap();
        let (mut message, mut payload) = ([0; 128], [0; 128]);
        let length = dialer.write_message(&[], &mut message).unwrap();
        acceptor.read_message(&message[..length], &mut payload).unwrap();
        let length = acceptor.write_message(&[], &mut message).unwrap();
        dialer.read_message(&message[..length], &mut payload).unwrap();
        let connection = |stream, state: snow::HandshakeState| {
            let session = Arc::new(state.into_stateless_transport_mode().unwrap());
            Connection {
                stream,
                sealer: Sealer::new(session.clone()),
                opener: Opener::new(session),
            }
        };
        (connection(near, dialer), connection(far, acceptor))
    }

    fn alarm() -> (Arc<Alarm>, mpsc::Receiver<String>) {
        let (sender, reasons) = mpsc::channel();
        (Arc::new(Alarm::new(move |reason| sender.send(reason.to_string()).unwrap())), reasons)
    }

    /// With a limit of silence of more than 65,535 s no connection could be set up, and no cluster
    /// could start. Limits may be up to a day.
    #[test]
    fn silence_may_be_long() {
        let (near, far) = connected();
        near.settle(Duration::from_secs(1)).unwrap();
        far.settle(Duration::from_secs(86_400)).unwrap();
    }

    /// All bytes arrive at the other end, in writes of any size, in both directions at once.
    #[test]
    fn a_pump_carries_every_byte() {
        let (near, far) = connected();
        let (alarm, reasons) = alarm();
        let ((near, near_sending), (far, far_sending)) =
            (pump(near, 1, &alarm).unwrap(), pump(far, 0, &alarm).unwrap());
        let sizes = [
            1,
            2,
            PLAIN_BYTES_MAX - 1,
            PLAIN_BYTES_MAX,
            PLAIN_BYTES_MAX + 1,
            3 * PLAIN_BYTES_MAX,
            1 << 21,
        ];
        let bytes: Vec<u8> =
            (0..sizes.iter().sum::<usize>()).map(|i| ((i * 2_654_435_761) >> 13) as u8).collect();
        std::thread::scope(|scope| {
            for end in [&near, &far] {
                let bytes = &bytes;
                scope.spawn(move || {
                    let (mut end, mut rest) = (end, &bytes[..]);
                    for size in sizes {
                        end.write_all(&rest[..size]).unwrap();
                        rest = &rest[size..];
                    }
                    end.shutdown(Shutdown::Write).unwrap();
                });
                scope.spawn(move || {
                    let (mut end, mut got) = (end, Vec::new());
                    end.read_to_end(&mut got).unwrap();
                    assert!(
                        got == *bytes,
                        "{} of {} bytes, or changed ones",
                        got.len(),
                        bytes.len()
                    );
                });
            }
        });
        near_sending.join().unwrap();
        far_sending.join().unwrap();
        assert!(reasons.try_recv().is_err());
    }

    /// A modified frame, and a connection that is cut between frames, raise the alarm once and end
    /// the stream.
    #[test]
    fn a_forged_frame_and_a_cut_are_losses() {
        for forge in [true, false] {
            let (near, far) = connected();
            let (alarm, reasons) = alarm();
            let (mut inside, _sending) = pump(near, 1, &alarm).unwrap();
            let Connection { mut stream, mut sealer, .. } = far;
            if forge {
                let mut frame = [0; 2 + 5 + TAG_BYTES];
                frame[1] = 5 + TAG_BYTES as u8;
                sealer.seal(b"hello", &mut frame[2..]).unwrap();
                frame[4] ^= 1;
                stream.write_all(&frame).unwrap();
            } else {
                stream.shutdown(Shutdown::Write).unwrap();
            }
            let mut got = Vec::new();
            let _ = inside.read_to_end(&mut got);
            assert!(got.is_empty());
            assert!(
                reasons
                    .recv_timeout(Duration::from_secs(20))
                    .unwrap()
                    .starts_with("lost process 1")
            );
            alarm.raise(&lost(1, "again"));
            assert!(reasons.try_recv().is_err());
        }
    }
}
