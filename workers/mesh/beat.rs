//! Signs of life between two processes.
//!
//! In come authenticated connections that carry nothing else; out goes a ring of the [`Alarm`] when a peer's connection
//! closes without a farewell or nothing is heard for the silence limit. Kernels acknowledge for stopped processes and
//! timely waits for ever, so only a word from the process itself tells that it lives. A wedged worker in a living
//! process is not noticed here. Every word is sealed, with or without encryption of the data.

use std::io::{self, ErrorKind, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use super::link::{Alarm, Link, Opener, Sealer, Word, lost, receive};

/// Beats per silence limit: a few may be late on a busy machine.
const BEATS_PER_SILENCE: u32 = 5;

/// The heartbeat to and from every peer; two threads each. Dropped without a farewell, it is a loss to the peers.
pub(super) struct Beats {
    alarm: Arc<Alarm>,
    /// A word in it bids the thread take leave; dropped without one, the connection closes and the peer takes it for a
    /// loss.
    leave: Vec<Sender<()>>,
    /// Disconnected once every thread has ended.
    ended: Receiver<()>,
}

impl Beats {
    /// Starts to beat, and to listen, on each peer's link.
    pub(super) fn start(links: Vec<(usize, Link)>, silence: Duration, alarm: &Arc<Alarm>) -> io::Result<Beats> {
        let (running, ended) = channel::<()>();
        let mut beats = Beats { alarm: alarm.clone(), leave: Vec::new(), ended };
        for (peer, Link { stream, sealer, opener }) in links {
            let parted = Arc::new(AtomicBool::new(false));
            let (leave, left) = channel();
            let (writing, bell, peer_parted) = (stream.try_clone()?, alarm.clone(), parted.clone());
            let run = running.clone();
            Builder::new().name(format!("mesh:beat-{peer}")).spawn(move || {
                let _run = run;
                if let Err(error) = speak(writing, sealer, &left, silence / BEATS_PER_SILENCE)
                    && !peer_parted.load(Ordering::SeqCst)
                {
                    bell.ring(&lost(peer, error));
                }
            })?;
            let (bell, run) = (alarm.clone(), running.clone());
            Builder::new().name(format!("mesh:hear-{peer}")).spawn(move || {
                let _run = run;
                match listen(stream, opener, silence) {
                    Ok(()) => parted.store(true, Ordering::SeqCst),
                    Err(error) => bell.ring(&lost(peer, told(&error, silence))),
                }
            })?;
            beats.leave.push(leave);
        }
        Ok(beats)
    }

    /// Takes leave of every peer and waits, at most for `limit`, for their leave. To be called once all workers have
    /// joined: only then is a peer's silence no loss. Waiting matters: a connection closed with a peer's beat still
    /// unread would be reset, and the reset could overtake our farewell.
    pub(super) fn farewell(self, limit: Duration) {
        self.alarm.silence();
        for leave in &self.leave {
            let _ = leave.send(());
        }
        let _ = self.ended.recv_timeout(limit);
    }
}

fn speak(mut stream: TcpStream, mut sealer: Sealer, left: &Receiver<()>, interval: Duration) -> io::Result<()> {
    loop {
        match left.recv_timeout(interval) {
            Err(RecvTimeoutError::Timeout) => stream.write_all(&sealer.word(Word::Beat)?)?,
            Err(RecvTimeoutError::Disconnected) => return stream.shutdown(Shutdown::Both),
            Ok(()) => {
                stream.write_all(&sealer.word(Word::Farewell)?)?;
                return stream.shutdown(Shutdown::Write);
            }
        }
    }
}

/// Hears the peer until its farewell.
fn listen(mut stream: TcpStream, mut opener: Opener, silence: Duration) -> io::Result<()> {
    loop {
        match receive(&mut stream, &mut opener, Instant::now() + silence)? {
            Word::Beat => {}
            Word::Farewell => return Ok(()),
            word => {
                return Err(io::Error::new(ErrorKind::InvalidData, format!("it says {word:?} out of turn")));
            }
        }
    }
}

fn told(error: &io::Error, silence: Duration) -> String {
    match error.kind() {
        ErrorKind::TimedOut => format!("silent for {silence:?}"),
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset => "it ended without a farewell".into(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::link::tests::linked;
    use super::*;

    const SILENCE: Duration = Duration::from_millis(400);

    fn rung() -> (Arc<Alarm>, Receiver<String>) {
        let (sender, reasons) = channel();
        (Arc::new(Alarm::new(move |reason| sender.send(reason.to_string()).unwrap())), reasons)
    }

    /// Peers that take leave of each other, in whichever order, are not lost.
    #[test]
    fn a_farewell_is_no_loss() {
        let (near, far) = linked();
        let ((near_bell, near_reasons), (far_bell, far_reasons)) = (rung(), rung());
        // Time enough that only a farewell can end the test.
        let silence = Duration::from_secs(600);
        let near = Beats::start(vec![(1, near)], silence, &near_bell).unwrap();
        let far = Beats::start(vec![(0, far)], silence, &far_bell).unwrap();
        let leaving = std::thread::spawn(move || near.farewell(silence));
        far.farewell(silence);
        leaving.join().unwrap();
        assert!(near_reasons.try_recv().is_err() && far_reasons.try_recv().is_err());
    }

    /// A process that gives up without a farewell is lost to its peer at once, not after the silence limit.
    #[test]
    fn giving_up_is_a_loss() {
        let (near, far) = linked();
        let ((near_bell, near_reasons), (far_bell, _)) = (rung(), rung());
        let silence = Duration::from_secs(600);
        let _near = Beats::start(vec![(1, near)], silence, &near_bell).unwrap();
        far_bell.silence();
        drop(Beats::start(vec![(0, far)], silence, &far_bell).unwrap());
        assert!(near_reasons.recv_timeout(Duration::from_secs(20)).unwrap().starts_with("lost process 1: "));
    }

    /// A peer that closes without a farewell, and one that stays connected and mute, are each reported once.
    #[test]
    fn a_closed_and_a_mute_peer_are_lost() {
        for mute in [false, true] {
            let (near, far) = linked();
            let (bell, reasons) = rung();
            let held = mute.then_some(far);
            let _beats = Beats::start(vec![(1, near)], SILENCE, &bell).unwrap();
            let reason = reasons.recv_timeout(Duration::from_secs(20)).unwrap();
            let expected = if mute { "silent for 400ms" } else { "" };
            assert!(reason.starts_with("lost process 1: ") && reason.contains(expected), "{reason}");
            drop(held);
            assert!(reasons.recv_timeout(SILENCE).is_err());
        }
    }
}
