//! The heartbeat between two processes.
//!
//! A peer is lost when its connection closes without a farewell, or when it is silent for the
//! silence limit; then the [`Alarm`] is raised. We need beats of the process itself: the kernel
//! acknowledges data for a stopped process, and timely waits for ever. A stuck worker in a living
//! process is not noticed here. Beats are always sealed, even if the data is not encrypted.

use crate::mesh::connection::{Alarm, Connection, lost, receive};
use crate::mesh::session::{Opener, Sealer, Signal};
use std::io::{self, ErrorKind, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// Beats per silence limit: some may be late on a busy machine.
const BEATS_PER_SILENCE: u32 = 5;

/// The heartbeats to and from every peer; two threads for each. If it is dropped without a
/// farewell, the peers count this process as lost.
pub(super) struct Beats {
    alarm: Arc<Alarm>,
    /// A message makes the thread send a farewell. If the sender is dropped instead, the connection
    /// closes and the peer counts this process as lost.
    leave: Vec<Sender<()>>,
    /// Disconnected once every thread has ended.
    ended: Receiver<()>,
}

impl Beats {
    /// Starts to send and receive beats on each peer's connection.
    pub(super) fn start(
        connections: Vec<Option<Connection>>,
        silence: Duration,
        alarm: &Arc<Alarm>,
    ) -> io::Result<Beats> {
        let (running, ended) = channel::<()>();
        let mut beats = Beats { alarm: alarm.clone(), leave: Vec::new(), ended };
        for (peer, connection) in connections.into_iter().enumerate() {
            let Some(Connection { stream, sealer, opener }) = connection else { continue };
            let has_left = Arc::new(AtomicBool::new(false));
            let (leave, leaving) = channel();
            let (writing, sending_alarm, peer_has_left) =
                (stream.try_clone()?, alarm.clone(), has_left.clone());
            let run = running.clone();
            Builder::new().name(format!("mesh:beat-tx-{peer}")).spawn(move || {
                let _run = run;
                if let Err(error) =
                    send_beats(writing, sealer, &leaving, silence / BEATS_PER_SILENCE)
                    && !peer_has_left.load(Ordering::SeqCst)
                {
                    sending_alarm.raise(&lost(peer, error));
                }
            })?;
            let (receiving_alarm, run) = (alarm.clone(), running.clone());
            Builder::new().name(format!("mesh:beat-rx-{peer}")).spawn(move || {
                let _run = run;
                match receive_beats(stream, opener, silence) {
                    Ok(()) => has_left.store(true, Ordering::SeqCst),
                    Err(error) => receiving_alarm.raise(&lost(peer, describe(&error, silence))),
                }
            })?;
            beats.leave.push(leave);
        }
        Ok(beats)
    }

    /// Sends a farewell to every peer and waits for theirs, at most for `limit`. Call it once all
    /// workers have joined: only then is a peer's silence no loss. The wait is necessary: closing a
    /// connection with an unread beat resets it, and the reset could overtake our farewell.
    pub(super) fn farewell(self, limit: Duration) {
        self.alarm.disarm();
        for leave in &self.leave {
            let _ = leave.send(());
        }
        let _ = self.ended.recv_timeout(limit);
    }
}

fn send_beats(
    mut stream: TcpStream,
    mut sealer: Sealer,
    leaving: &Receiver<()>,
    interval: Duration,
) -> io::Result<()> {
    loop {
        match leaving.recv_timeout(interval) {
            Err(RecvTimeoutError::Timeout) => stream.write_all(&sealer.signal(Signal::Beat)?)?,
            Err(RecvTimeoutError::Disconnected) => return stream.shutdown(Shutdown::Both),
            Ok(()) => {
                stream.write_all(&sealer.signal(Signal::Farewell)?)?;
                return stream.shutdown(Shutdown::Write);
            }
        }
    }
}

/// Receives beats until the peer's farewell.
fn receive_beats(mut stream: TcpStream, mut opener: Opener, silence: Duration) -> io::Result<()> {
    loop {
        match receive(&mut stream, &mut opener, Instant::now() + silence)? {
            Signal::Beat => {}
            Signal::Farewell => return Ok(()),
            signal => {
                return Err(io::Error::new(
                    ErrorKind::InvalidData,
                    format!("it says {signal:?} out of turn"),
                ));
            }
        }
    }
}

fn describe(error: &io::Error, silence: Duration) -> String {
    match error.kind() {
        ErrorKind::TimedOut => format!("silent for {silence:?}"),
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset => {
            "it ended without a farewell".into()
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::connection::tests::connected;

    const SILENCE: Duration = Duration::from_millis(400);

    fn alarm() -> (Arc<Alarm>, Receiver<String>) {
        let (sender, reasons) = channel();
        (Arc::new(Alarm::new(move |reason| sender.send(reason.to_string()).unwrap())), reasons)
    }

    /// Peers that send a farewell are not lost, in any order of leaving.
    #[test]
    fn a_farewell_is_no_loss() {
        let (near, far) = connected();
        let ((near_alarm, near_reasons), (far_alarm, far_reasons)) = (alarm(), alarm());
        // So long that only a farewell can end the test.
        let silence = Duration::from_secs(600);
        let near = Beats::start(vec![None, Some(near)], silence, &near_alarm).unwrap();
        let far = Beats::start(vec![Some(far)], silence, &far_alarm).unwrap();
        let leaving = std::thread::spawn(move || near.farewell(silence));
        far.farewell(silence);
        leaving.join().unwrap();
        assert!(near_reasons.try_recv().is_err() && far_reasons.try_recv().is_err());
    }

    /// A process that leaves without a farewell is lost at once, not after the silence limit.
    #[test]
    fn giving_up_is_a_loss() {
        let (near, far) = connected();
        let ((near_alarm, near_reasons), (far_alarm, _)) = (alarm(), alarm());
        let silence = Duration::from_secs(600);
        let _near = Beats::start(vec![None, Some(near)], silence, &near_alarm).unwrap();
        far_alarm.disarm();
        drop(Beats::start(vec![Some(far)], silence, &far_alarm).unwrap());
        assert!(
            near_reasons
                .recv_timeout(Duration::from_secs(20))
                .unwrap()
                .starts_with("lost process 1: ")
        );
    }

    /// A peer that closes without a farewell, and a peer that stays connected but silent, are
    /// reported once each.
    #[test]
    fn a_closed_and_a_mute_peer_are_lost() {
        for mute in [false, true] {
            let (near, far) = connected();
            let (alarm, reasons) = alarm();
            let held = mute.then_some(far);
            let _beats = Beats::start(vec![None, Some(near)], SILENCE, &alarm).unwrap();
            let reason = reasons.recv_timeout(Duration::from_secs(20)).unwrap();
            let expected = if mute { "silent for 400ms" } else { "" };
            assert!(
                reason.starts_with("lost process 1: ") && reason.contains(expected),
                "{reason}"
            );
            drop(held);
            assert!(reasons.recv_timeout(SILENCE).is_err());
        }
    }
}
