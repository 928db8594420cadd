//! Wrong keys, counted by the address they come from, so that guessing is slow.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Wrong keys an address may send at once.
const BURST: u32 = 10;

/// After this one more is let through.
const REFILL: Duration = Duration::from_secs(6);

/// Addresses that are remembered; past it the one that failed longest ago is forgotten.
const ADDRESSES_MAX: usize = 4096;

/// Who failed how often lately. While an address has none left, its keys are not even looked at: the answer to a right
/// one is the same as to a wrong one.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    spent: Mutex<BTreeMap<IpAddr, Spent>>,
}

#[derive(Debug, Clone, Copy)]
struct Spent {
    /// When the last failure of the burst will be forgiven.
    forgiven: Instant,
}

impl Failures {
    /// How long this address has to wait; `None` while it may try.
    pub(crate) fn wait(&self, peer: IpAddr, now: Instant) -> Option<Duration> {
        let spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let owed = spent.get(&network(peer))?.forgiven.saturating_duration_since(now);
        let over = owed.checked_sub(REFILL * (BURST - 1))?;
        (!over.is_zero()).then_some(over)
    }

    /// One more wrong key.
    pub(crate) fn count(&self, peer: IpAddr, now: Instant) {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let peer = network(peer);
        if spent.len() >= ADDRESSES_MAX && !spent.contains_key(&peer) {
            spent.retain(|_, one| one.forgiven > now);
            if spent.len() >= ADDRESSES_MAX {
                let oldest = spent.iter().min_by_key(|(_, one)| one.forgiven).map(|(peer, _)| *peer);
                oldest.map(|peer| spent.remove(&peer));
            }
        }
        let one = spent.entry(peer).or_insert(Spent { forgiven: now });
        one.forgiven = one.forgiven.max(now) + REFILL;
    }
}

/// Whoever has one IPv6 address has a /64 of them.
fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));

    #[test]
    fn after_ten_wrong_keys_an_address_waits_and_others_do_not() {
        let (failures, begin) = (Failures::default(), Instant::now());
        for _ in 0..BURST {
            assert_eq!(failures.wait(PEER, begin), None);
            failures.count(PEER, begin);
        }
        assert_eq!(failures.wait(PEER, begin), Some(REFILL));
        assert_eq!(failures.wait("10.0.0.2".parse().unwrap(), begin), None);
        assert_eq!(failures.wait(PEER, begin + REFILL), None);
        failures.count(PEER, begin + REFILL);
        assert_eq!(failures.wait(PEER, begin + REFILL), Some(REFILL));
        assert_eq!(failures.wait(PEER, begin + REFILL * 20), None);
    }

    #[test]
    fn a_neighbour_in_the_same_ipv6_network_is_the_same_guest() {
        let (failures, now) = (Failures::default(), Instant::now());
        for last in 0..BURST {
            failures.count(format!("2001:db8::{last}").parse().unwrap(), now);
        }
        assert!(failures.wait("2001:db8::ffff".parse().unwrap(), now).is_some());
        assert!(failures.wait("2001:db8:0:1::1".parse().unwrap(), now).is_none());
    }

    #[test]
    fn what_is_remembered_has_a_limit() {
        let (failures, now) = (Failures::default(), Instant::now());
        for number in 0..(ADDRESSES_MAX as u32 + 100) {
            failures.count(IpAddr::V4(number.into()), now + Duration::from_millis(u64::from(number)));
        }
        assert_eq!(failures.spent.lock().unwrap().len(), ADDRESSES_MAX);
    }
}
