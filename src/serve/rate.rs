//! How many records a second a client may send.
//!
//! Each client has a bucket that fills at the rate and holds what fills in one second. A request is
//! taken if anything is in the bucket, and the client owes the missing part. So a batch may be
//! larger than the bucket, and the client waits after it. Crates for this always refuse a request
//! that is larger than the bucket. A bucket is one number, the time at which it is full again: the
//! virtual scheduling of the generic cell rate algorithm (ITU-T I.371).

use crate::serve::problem::{Outcome, Problem};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::Instant;
use workers::locks::lock;

/// The most clients that have buckets of their own. Others share one.
pub const CLIENTS_MAX: usize = 65_536;
/// A second in nanoseconds: a bucket holds as much as fills in a second.
const SECOND: u64 = 1_000_000_000;

/// The limit of a server.
pub struct Rate {
    buckets: Option<Mutex<Buckets>>,
    begun: Instant,
}

impl Rate {
    /// This many records a second of each client, or any number.
    pub fn new(per_second: Option<u32>) -> Rate {
        let buckets =
            per_second.map(|per_second| Mutex::new(Buckets::new(per_second, CLIENTS_MAX)));
        Rate { buckets, begun: Instant::now() }
    }

    /// Takes `records` from the bucket of the client at `address`.
    ///
    /// # Errors
    ///
    /// 429, with the seconds until something is in the bucket.
    pub fn take(&self, address: IpAddr, records: usize) -> Outcome<()> {
        let Some(buckets) = &self.buckets else { return Ok(()) };
        let mut buckets = lock(buckets);
        buckets.take(client(address), records as u64, self.now()).map_err(|wait| {
            let detail = format!("a client may send {} records a second", buckets.per_second);
            Problem::busy(detail).after(wait.div_ceil(SECOND))
        })
    }

    /// Takes `records` more of a request that was taken, whatever is in the bucket. If these were
    /// refused, the client would have sent them in vain, and would have to pay for the request
    /// again.
    pub fn take_more(&self, address: IpAddr, records: usize) {
        if let Some(buckets) = &self.buckets {
            lock(buckets).draw(client(address), records as u64, self.now());
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// The key of the bucket for an address. The owner of one IPv6 address has all 2^64 addresses of
/// its network.
fn client(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_bits().into(),
        IpAddr::V6(address) => address.to_bits() >> 64 << 64,
    }
}

/// The buckets of all clients. Times are nanoseconds since any moment.
struct Buckets {
    per_second: u32,
    clients_max: usize,
    /// When the bucket of a client is full again. A client that is not in the map has a full
    /// bucket.
    full_at: HashMap<u128, u64>,
    /// When the shared bucket of all clients without a bucket of their own is full again.
    others_full_at: u64,
    swept_at: u64,
}

impl Buckets {
    fn new(per_second: u32, clients_max: usize) -> Buckets {
        Buckets { per_second, clients_max, full_at: HashMap::new(), others_full_at: 0, swept_at: 0 }
    }

    /// Takes `records` from the bucket of a client, or says how long it must wait.
    fn take(&mut self, client: u128, records: u64, now: u64) -> Result<(), u64> {
        match self.full_at(client, now) - now {
            wait if wait >= SECOND => Err(wait - SECOND + 1),
            _ => {
                self.draw(client, records, now);
                Ok(())
            }
        }
    }

    /// Whether a client has a bucket of its own, or there is room for one.
    fn has_place(&self, client: u128) -> bool {
        self.full_at.len() < self.clients_max || self.full_at.contains_key(&client)
    }

    /// When the bucket of a client is full again, `now` at the earliest.
    fn full_at(&mut self, client: u128, now: u64) -> u64 {
        if self.full_at.len() >= self.clients_max && now >= self.swept_at + SECOND {
            self.full_at.retain(|_, full_at| *full_at > now);
            self.swept_at = now;
        }
        let known = match self.has_place(client) {
            true => self.full_at.get(&client).copied().unwrap_or(0),
            false => self.others_full_at,
        };
        known.max(now)
    }

    /// Takes `records` from the bucket of a client, which may owe them.
    fn draw(&mut self, client: u128, records: u64, now: u64) {
        let full_at = self.full_at(client, now);
        let full_at = full_at.saturating_add((records * SECOND).div_ceil(self.per_second.into()));
        match self.has_place(client) {
            true => _ = self.full_at.insert(client, full_at),
            false => self.others_full_at = full_at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A rate at which a record fills in a whole number of nanoseconds.
    const PER_SECOND: u32 = 1000;

    proptest! {
        /// A request is taken exactly if its client has, since any moment before, drawn less than
        /// the bucket held and what has filled since; and a client that waits as long as it was
        /// told is taken.
        #[test]
        fn as_by_brute_force(
            requests in prop::collection::vec((0..3u128, 1..2500u64, 0..SECOND), 1..200)
        ) {
            let mut buckets = Buckets::new(PER_SECOND, 3);
            let (mut taken, mut now) = (Vec::<(u128, u64, u64)>::new(), 0);
            for (client, records, pause) in requests {
                now += pause;
                let own = || taken.iter().filter(move |of| of.0 == client);
                let drawn = |since: u64| -> u64 { own().filter(|of| of.2 >= since).map(|of| of.1).sum() };
                let each = SECOND / u64::from(PER_SECOND);
                let is_left = |since| drawn(since) * each < SECOND + (now - since);
                let outcome = buckets.take(client, records, now);
                prop_assert_eq!(outcome.is_ok(), own().all(|of| is_left(of.2)));
                if let Err(wait) = outcome {
                    prop_assert!(wait > 0);
                    now += wait - 1;
                    prop_assert!(buckets.take(client, records, now).is_err());
                    now += 1;
                    prop_assert!(buckets.take(client, records, now).is_ok());
                }
                taken.push((client, records, now));
            }
        }

        /// For any number of clients memory is bounded, and all clients without a bucket of their
        /// own together draw no more than one client.
        #[test]
        fn clients_are_bounded(clients in prop::collection::vec((0..1000u128, 0..SECOND / 4), 1..300)) {
            let mut buckets = Buckets::new(1, 8);
            let (mut now, mut shared) = (0, 0);
            for (client, pause) in clients {
                now += pause;
                let before = buckets.others_full_at;
                let is_taken = buckets.take(client, 1, now).is_ok();
                shared += u64::from(is_taken && buckets.others_full_at != before);
                prop_assert!(buckets.full_at.len() <= 8);
                prop_assert!(shared <= now / SECOND + 2, "{} by {}", shared, now);
            }
        }
    }

    /// A batch whose first record was taken is taken whole, and is paid for once, in the seconds
    /// after it: at one record a second a batch was refused each time after it was sent.
    #[test]
    fn batches_are_paid_for_once() {
        let mut buckets = Buckets::new(1, 8);
        for batch in 0..3 {
            let now = 500 * SECOND * batch;
            assert_eq!(buckets.take(7, 1, now), Ok(()), "batch {batch}");
            buckets.draw(7, 499, now);
            assert_eq!(buckets.take(7, 1, now + 499 * SECOND), Err(1));
        }
    }

    /// An IPv6 client has the same bucket by another address of its network, and an IPv4 client has
    /// the same bucket if the socket speaks IPv6.
    #[test]
    fn clients_by_address() {
        let of = |address: &str| client(address.parse().expect("an address"));
        assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff::9"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("192.0.2.1"), of("::ffff:192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    }
}
