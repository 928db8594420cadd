//! Addresses that no request of this engine may reach, whoever wrote the URL: a cloud's metadata service answers there
//! with the credentials of the machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Metadata services outside the link-local ranges: Alibaba, Oracle, Azure's agent.
const METADATA_V4: [Ipv4Addr; 3] =
    [Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(192, 0, 0, 192), Ipv4Addr::new(168, 63, 129, 16)];
/// AWS over IPv6.
const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

/// Why `address` is never connected to, as the end of a sentence; `None` for an address that may be. Private ranges
/// and loopback may be: a URL in a file is the operator's. Addresses of version 4 written in version 6 count too.
pub fn forbidden_address(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => forbidden_v4(address),
        IpAddr::V6(address) => match embedded(address) {
            Some(inner) => forbidden_v4(inner),
            None => forbidden_v6(address),
        },
    }
}

/// Why `address` is not public, as the end of a sentence: loopback and the ranges of private networks, which a URL that
/// came through the API may not reach. For what is forbidden to everybody ask [`forbidden_address`].
pub fn private_address(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => private_v4(address),
        IpAddr::V6(address) => match embedded(address) {
            Some(inner) => private_v4(inner),
            None if address.is_loopback() => Some(LOOPBACK),
            // Unique local addresses, and the site-local ones they replaced.
            None => {
                let first = address.segments()[0];
                (first & 0xfe00 == 0xfc00 || first & 0xffc0 == 0xfec0).then_some(PRIVATE)
            }
        },
    }
}

const LOOPBACK: &str = "loopback";
const PRIVATE: &str = "in a private range";

fn private_v4(address: Ipv4Addr) -> Option<&'static str> {
    if address.is_loopback() {
        return Some(LOOPBACK);
    }
    let [a, b, c, _] = address.octets();
    // Shared between a provider and its customers (RFC 6598), protocol assignments, benchmarks.
    let is_inner = (a == 100 && b & 0xc0 == 64) || (a, b, c) == (192, 0, 0) || (a == 198 && b & 0xfe == 18);
    (address.is_private() || is_inner).then_some(PRIVATE)
}

fn forbidden_v4(address: Ipv4Addr) -> Option<&'static str> {
    if METADATA_V4.contains(&address) {
        return Some("a cloud's metadata service");
    }
    if address.is_link_local() {
        return Some("link-local, where metadata services are");
    }
    let is_nobody = address.octets()[0] == 0 || address.is_multicast() || address.is_broadcast();
    is_nobody.then_some("no single machine's")
}

fn forbidden_v6(address: Ipv6Addr) -> Option<&'static str> {
    if address == METADATA_V6 {
        return Some("a cloud's metadata service");
    }
    if address.is_unicast_link_local() {
        return Some("link-local, where metadata services are");
    }
    (address.is_unspecified() || address.is_multicast()).then_some("no single machine's")
}

/// The version 4 address inside: mapped (`::ffff:0:0/96`), translated (`64:ff9b::/96`), 6to4 (`2002::/16`).
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    if let Some(mapped) = address.to_ipv4_mapped() {
        return Some(mapped);
    }
    let [a, b, c, d, e, f, high, low] = address.segments();
    let of = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match [a, b, c, d, e, f] {
        [0x64, 0xff9b, 0, 0, 0, 0] => Some(of(high, low)),
        [0x2002, ..] => Some(of(b, c)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_forbidden(text: &str) -> bool {
        forbidden_address(text.parse().unwrap()).is_some()
    }

    #[test]
    fn metadata_services_are_forbidden_in_every_notation() {
        for bad in [
            "169.254.169.254",
            "169.254.0.1",
            "100.100.100.200",
            "192.0.0.192",
            "168.63.129.16",
            "fe80::1",
            "fd00:ec2::254",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "2002:a9fe:a9fe::1",
        ] {
            assert!(is_forbidden(bad), "{bad}");
        }
    }

    #[test]
    fn addresses_of_no_single_machine_are_forbidden() {
        for bad in ["0.0.0.0", "0.1.2.3", "255.255.255.255", "224.0.0.1", "::", "ff02::1"] {
            assert!(is_forbidden(bad), "{bad}");
        }
    }

    #[test]
    fn loopback_and_private_ranges_are_not_public_in_any_notation() {
        let is_private = |text: &str| private_address(text.parse().unwrap()).is_some();
        for inner in [
            "127.0.0.1",
            "10.0.0.7",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "100.64.0.1",
            "198.18.0.1",
            "192.0.0.8",
            "::1",
            "fd12::1",
            "fec0::1",
            "::ffff:10.0.0.7",
            "64:ff9b::a00:7",
            "2002:7f00:1::1",
        ] {
            assert!(is_private(inner), "{inner}");
        }
        for public in ["8.8.8.8", "172.32.0.1", "100.128.0.1", "192.0.2.1", "2001:db8::1", "2606:4700::1111"]
        {
            assert!(!is_private(public), "{public}");
        }
    }

    #[test]
    fn servers_of_the_operator_may_be_anywhere_else() {
        for good in
            ["127.0.0.1", "10.0.0.7", "192.168.1.1", "100.64.0.1", "::1", "fd12::1", "2001:db8::1", "8.8.8.8"]
        {
            assert!(!is_forbidden(good), "{good}");
        }
    }
}
