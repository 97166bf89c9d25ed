//! The handshake on a new connection between two processes of one job.
//!
//! After it, both sides have proved that they hold the attempt's key, that they are the process
//! they claim to be, and that they run the same job. No data of the job is sent before that.
//!
//! ```text
//! dialer   hello (52 bytes) + Noise message 1 (48)  ->
//!                                <-  hello with a verdict (52) + Noise message 2 (48)   acceptor
//! dialer   Confirm (17, sealed)                     ->
//!                                <-  Welcome or Taken (17, sealed)                      acceptor
//! ```
//!
//! The hello is plain and proves nothing. It exists so that "another build or job" can be
//! distinguished from "a wrong key". The proof is Noise NNpsk0 (The Noise Protocol Framework,
//! revision 34) with the dialer's hello as its prologue, so that the lane, both indices and the
//! digest of the job are bound to the key. Message 1 may be a replay; the acceptor therefore trusts
//! nothing before `Confirm`, which needs the ephemeral secret of message 1.

use crate::mesh::connection::{Connection, read_exact_by};
use crate::mesh::session::{Opener, SIGNAL_BYTES, Sealer, Signal};
use crate::mesh::{Key, Mesh};
use snow::{HandshakeState, StatelessTransportState};
use std::fmt;
use std::io::Write;
use std::net::TcpStream;
use std::time::Instant;

const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";
const MAGIC: &[u8; 8] = b"pgfdmesh";
const VERSION: u8 = 1;
const HELLO_BYTES: usize = 52;
/// An ephemeral public key, and the tag of an empty payload.
const NOISE_BYTES: usize = 32 + 16;
/// The first bytes in each direction.
pub(super) const OPENING_BYTES: usize = HELLO_BYTES + NOISE_BYTES;
pub(super) const MAGIC_BYTES: usize = MAGIC.len();

/// What a connection is for. Each pair of processes has one connection for each lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// timely's records and progress, or control messages.
    Data = 0,
    /// Heartbeats.
    Beat = 1,
}

pub(super) const LANES: [Lane; 2] = [Lane::Data, Lane::Beat];

/// Why a connection is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It does not speak this protocol.
    Stranger = 1,
    /// It runs another build, job, attempt or configuration.
    Job = 2,
    /// It does not hold the attempt's key.
    Key = 3,
    /// The index that it claims or dials is wrong.
    Index = 4,
}

impl Refusal {
    /// Its name in [`Refused`](super::Refused).
    pub(super) fn name(self) -> &'static str {
        match self {
            Refusal::Stranger => "stranger",
            Refusal::Job => "another_job",
            Refusal::Key => "wrong_key",
            Refusal::Index => "wrong_index",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::Stranger => "it does not speak this protocol",
            Refusal::Job => "a different build, job or configuration",
            Refusal::Key => "a wrong key",
            Refusal::Index => "a process index that does not fit",
        })
    }
}

/// The identity of this process in a handshake.
#[derive(Clone)]
pub(super) struct Party {
    index: u32,
    processes: u32,
    key: Key,
    /// Digest of everything that the processes must agree on.
    job: [u8; 32],
}

impl Party {
    /// The digest includes the number of worker `threads`, which timely expects to be the same
    /// everywhere.
    pub(super) fn of(mesh: &Mesh, threads: usize) -> Party {
        // `Mesh::check` has checked that both fit.
        let (index, processes) = (mesh.index as u32, mesh.addresses.len() as u32);
        let mut hasher = blake3::Hasher::new();
        hasher.update(MAGIC).update(&[VERSION, mesh.protection.is_encrypted().into()]);
        hasher
            .update(&processes.to_le_bytes())
            .update(&(threads as u64).to_le_bytes())
            .update(&mesh.prologue);
        Party { index, processes, key: mesh.key.clone(), job: hasher.finalize().into() }
    }

    fn noise(
        &self,
        hello: &[u8; HELLO_BYTES],
        dialing: bool,
    ) -> Result<HandshakeState, snow::Error> {
        let builder =
            snow::Builder::new(PATTERN.parse()?).prologue(hello)?.psk(0, self.key.bytes())?;
        if dialing { builder.build_initiator() } else { builder.build_responder() }
    }
}

/// The plain part of an opening.
#[derive(Clone, Copy)]
struct Hello {
    version: u8,
    lane: Lane,
    /// 0 to continue, otherwise a [`Refusal`]. The dialer always sends 0.
    verdict: u8,
    dialing: u32,
    accepting: u32,
    job: [u8; 32],
}

impl Hello {
    fn encode(&self) -> [u8; HELLO_BYTES] {
        let mut bytes = [0; HELLO_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&[self.version, self.lane as u8, self.verdict, 0]);
        bytes[12..16].copy_from_slice(&self.dialing.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.accepting.to_le_bytes());
        bytes[20..].copy_from_slice(&self.job);
        bytes
    }

    fn decode(bytes: &[u8; HELLO_BYTES]) -> Option<Hello> {
        let (magic, rest) = bytes.split_first_chunk::<8>()?;
        let ([version, lane, verdict, _], rest) = rest.split_first_chunk::<4>()?;
        let (dialing, rest) = rest.split_first_chunk()?;
        let (accepting, rest) = rest.split_first_chunk()?;
        let hello = Hello {
            version: *version,
            lane: LANES.into_iter().find(|known| *known as u8 == *lane)?,
            verdict: *verdict,
            dialing: u32::from_le_bytes(*dialing),
            accepting: u32::from_le_bytes(*accepting),
            job: rest.try_into().ok()?,
        };
        (magic == MAGIC).then_some(hello)
    }
}

/// Whether `begun` may be the start of an opening.
pub(super) fn plausible(begun: &[u8]) -> bool {
    let known = begun.len().min(MAGIC_BYTES);
    begun[..known] == MAGIC[..known]
}

fn split(opening: &[u8; OPENING_BYTES]) -> ([u8; HELLO_BYTES], [u8; NOISE_BYTES]) {
    let (mut hello, mut noise) = ([0; HELLO_BYTES], [0; NOISE_BYTES]);
    hello.copy_from_slice(&opening[..HELLO_BYTES]);
    noise.copy_from_slice(&opening[HELLO_BYTES..]);
    (hello, noise)
}

/// The two halves of a session.
pub(super) fn halves(session: StatelessTransportState) -> (Sealer, Opener) {
    let session = std::sync::Arc::new(session);
    (Sealer::new(session.clone()), Opener::new(session))
}

/// A dialer that has sent a well-formed opening under the right key. The opening may still be a
/// replay.
pub(super) struct Claim {
    pub(super) index: usize,
    pub(super) lane: Lane,
    pub(super) sealer: Sealer,
    pub(super) opener: Opener,
}

/// The acceptor's answer to an opening.
pub(super) struct Answer {
    /// The bytes to send back; none to a peer that does not speak the protocol.
    pub(super) reply: Option<[u8; OPENING_BYTES]>,
    pub(super) outcome: Result<Claim, Refusal>,
    /// The process that the opening claims to come from.
    pub(super) claimed: Option<usize>,
}

/// Answers an opening.
pub(super) fn answer(party: &Party, opening: &[u8; OPENING_BYTES]) -> Answer {
    let (hello_bytes, noise) = split(opening);
    let Some(hello) = Hello::decode(&hello_bytes) else {
        return Answer { reply: None, outcome: Err(Refusal::Stranger), claimed: None };
    };
    let mut reply = [0; OPENING_BYTES];
    let outcome = check_opening(party, &hello, &hello_bytes, &noise, &mut reply[HELLO_BYTES..]);
    let verdict = outcome.as_ref().err().map_or(0, |refusal| *refusal as u8);
    let ours = Hello { version: VERSION, verdict, accepting: party.index, job: party.job, ..hello };
    reply[..HELLO_BYTES].copy_from_slice(&ours.encode());
    let claimed = (hello.dialing < party.processes).then_some(hello.dialing as usize);
    Answer { reply: Some(reply), outcome, claimed }
}

fn check_opening(
    party: &Party,
    hello: &Hello,
    hello_bytes: &[u8; HELLO_BYTES],
    noise: &[u8; NOISE_BYTES],
    reply: &mut [u8],
) -> Result<Claim, Refusal> {
    if hello.version != VERSION || hello.job != party.job {
        return Err(Refusal::Job);
    }
    // The higher index dials.
    if hello.accepting != party.index
        || hello.dialing <= party.index
        || hello.dialing >= party.processes
    {
        return Err(Refusal::Index);
    }
    let mut respond = || {
        let mut state = party.noise(hello_bytes, false)?;
        let payload = state.read_message(noise, &mut [0; NOISE_BYTES])?;
        let written = state.write_message(&[], reply)?;
        if (payload, written) != (0, NOISE_BYTES) {
            return Err(snow::Error::Input);
        }
        state.into_stateless_transport_mode()
    };
    let (sealer, opener) = halves(respond().map_err(|_| Refusal::Key)?);
    Ok(Claim { index: hello.dialing as usize, lane: hello.lane, sealer, opener })
}

/// The dialer's opening for process `accepting`, and the state that reads the answer.
pub(super) fn opening(
    party: &Party,
    lane: Lane,
    accepting: usize,
) -> Result<([u8; OPENING_BYTES], HandshakeState), snow::Error> {
    let accepting = accepting as u32;
    let hello = Hello {
        version: VERSION,
        lane,
        verdict: 0,
        dialing: party.index,
        accepting,
        job: party.job,
    }
    .encode();
    let mut state = party.noise(&hello, true)?;
    let mut bytes = [0; OPENING_BYTES];
    bytes[..HELLO_BYTES].copy_from_slice(&hello);
    state.write_message(&[], &mut bytes[HELLO_BYTES..])?;
    Ok((bytes, state))
}

/// Why a dialed connection failed.
#[derive(Debug)]
pub(super) enum DialFailure {
    /// The peer speaks the protocol and refuses: trying again will not help.
    Refused(Refusal),
    /// Try again: the peer does not listen yet, is busy, was cut off, or is not one of ours.
    Broken(String),
}

impl From<std::io::Error> for DialFailure {
    fn from(error: std::io::Error) -> DialFailure {
        DialFailure::Broken(error.to_string())
    }
}

impl From<snow::Error> for DialFailure {
    fn from(error: snow::Error) -> DialFailure {
        DialFailure::Broken(error.to_string())
    }
}

/// The dialer's side of the handshake with process `accepting`, which must end by `deadline`.
pub(super) fn dial(
    mut stream: TcpStream,
    party: &Party,
    lane: Lane,
    accepting: usize,
    deadline: Instant,
) -> Result<Connection, DialFailure> {
    let (bytes, state) = opening(party, lane, accepting)?;
    stream.write_all(&bytes)?;
    let mut reply = [0; OPENING_BYTES];
    read_exact_by(&mut stream, &mut reply, deadline)?;
    let (mut sealer, mut opener) = read_reply(party, accepting, state, &reply)?;
    stream.write_all(&sealer.signal(Signal::Confirm)?)?;
    let mut sealed = [0; SIGNAL_BYTES];
    read_exact_by(&mut stream, &mut sealed, deadline)?;
    match opener.signal(&sealed)? {
        Signal::Welcome => Ok(Connection { stream, sealer, opener }),
        Signal::Taken => Err(DialFailure::Broken(format!(
            "another process has joined as number {} already",
            party.index
        ))),
        other => Err(DialFailure::Broken(format!("it answers {other:?} out of turn"))),
    }
}

fn read_reply(
    party: &Party,
    accepting: usize,
    mut state: HandshakeState,
    reply: &[u8; OPENING_BYTES],
) -> Result<(Sealer, Opener), DialFailure> {
    let (hello, noise) = split(reply);
    let Some(hello) = Hello::decode(&hello) else {
        return Err(DialFailure::Broken(Refusal::Stranger.to_string()));
    };
    if hello.version != VERSION || hello.job != party.job {
        return Err(DialFailure::Refused(Refusal::Job));
    }
    if hello.accepting as usize != accepting || hello.verdict == Refusal::Index as u8 {
        return Err(DialFailure::Refused(Refusal::Index));
    }
    if hello.verdict == Refusal::Key as u8 {
        return Err(DialFailure::Refused(Refusal::Key));
    }
    // It accepts us but does not hold the key, so it is not our peer. The true peer may come later.
    let no_proof = |_| DialFailure::Broken("it does not hold the key".into());
    state.read_message(&noise, &mut [0; NOISE_BYTES]).map_err(no_proof)?;
    Ok(halves(state.into_stateless_transport_mode()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn party(index: u32, key: u8, job: u8) -> Party {
        Party { index, processes: 3, key: Key::of([key; 32]), job: [job; 32] }
    }

    fn refusal(acceptor: &Party, opening: &[u8; OPENING_BYTES]) -> Option<Refusal> {
        answer(acceptor, opening).outcome.err()
    }

    /// Two processes with the same job and key agree, and each reads what the other seals.
    #[test]
    fn the_right_peers_agree() {
        let (dialer, acceptor) = (party(2, 7, 1), party(0, 7, 1));
        let (bytes, state) = opening(&dialer, Lane::Beat, 0).unwrap();
        let Answer { reply, outcome, .. } = answer(&acceptor, &bytes);
        let mut claim = outcome.map_err(|refusal| refusal.to_string()).unwrap();
        assert_eq!((claim.index, claim.lane), (2, Lane::Beat));
        let (mut sealer, mut opener) = read_reply(&dialer, 0, state, &reply.unwrap()).unwrap();
        assert_eq!(
            claim.opener.signal(&sealer.signal(Signal::Confirm).unwrap()).unwrap(),
            Signal::Confirm
        );
        assert_eq!(
            opener.signal(&claim.sealer.signal(Signal::Welcome).unwrap()).unwrap(),
            Signal::Welcome
        );
    }

    /// Both sides learn the reason for a refusal.
    #[test]
    fn every_refusal_has_its_reason() {
        let acceptor = party(1, 7, 1);
        let cases = [
            (party(2, 8, 1), 1, Refusal::Key),
            (party(2, 7, 2), 1, Refusal::Job),
            (party(2, 8, 2), 1, Refusal::Job),
            (party(0, 7, 1), 1, Refusal::Index),
            (party(1, 7, 1), 1, Refusal::Index),
            (party(3, 7, 1), 1, Refusal::Index),
            (party(2, 7, 1), 0, Refusal::Index),
        ];
        for (dialer, accepting, expected) in cases {
            let (bytes, state) = opening(&dialer, Lane::Data, accepting).unwrap();
            let Answer { reply, outcome, .. } = answer(&acceptor, &bytes);
            assert_eq!(outcome.err(), Some(expected));
            match read_reply(&dialer, accepting, state, &reply.unwrap()) {
                Err(DialFailure::Refused(refusal)) => assert_eq!(refusal, expected),
                other => panic!("the dialer should learn {expected:?}, got {:?}", other.err()),
            }
        }
    }

    /// Any single changed bit makes an opening invalid.
    #[test]
    fn every_bit_counts() {
        let (dialer, acceptor) = (party(2, 7, 1), party(1, 7, 1));
        let (bytes, _) = opening(&dialer, Lane::Data, 1).unwrap();
        assert_eq!(refusal(&acceptor, &bytes), None);
        for bit in 0..OPENING_BYTES * 8 {
            let mut changed = bytes;
            changed[bit / 8] ^= 1 << (bit % 8);
            // X25519 ignores the top bit of a public key (RFC 7748, section 5); Noise still hashes
            // it.
            assert!(
                refusal(&acceptor, &changed).is_some(),
                "bit {bit} of byte {} is not covered",
                bit / 8
            );
        }
    }

    /// A recorded opening and confirmation do not open a second connection.
    #[test]
    fn a_replay_is_not_confirmed() {
        let (dialer, acceptor) = (party(2, 7, 1), party(0, 7, 1));
        let (bytes, state) = opening(&dialer, Lane::Data, 0).unwrap();
        let reply = answer(&acceptor, &bytes).reply;
        let (mut sealer, _) = read_reply(&dialer, 0, state, &reply.unwrap()).unwrap();
        let confirm = sealer.signal(Signal::Confirm).unwrap();
        let replayed = answer(&acceptor, &bytes).outcome;
        let mut replayed = replayed.map_err(|refusal| refusal.to_string()).unwrap();
        assert!(replayed.opener.signal(&confirm).is_err());
    }

    /// An acceptor that cannot prove the key is not trusted, whatever its verdict.
    #[test]
    fn an_acceptor_without_the_key_is_rejected() {
        let (dialer, impostor) = (party(2, 7, 1), party(0, 9, 1));
        let (bytes, state) = opening(&dialer, Lane::Data, 0).unwrap();
        let mut reply = answer(&impostor, &bytes).reply.unwrap();
        reply[10] = 0; // the verdict
        assert!(matches!(read_reply(&dialer, 0, state, &reply), Err(DialFailure::Broken(_))));
    }
}
