use std::sync::mpsc::{Receiver, channel};

use super::*;
use crate::ports::free_port;

/// A server that answers every byte with the same byte and tells what it got.
fn echo() -> (u16, Receiver<u8>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let sender = sender.clone();
            thread::spawn(move || {
                let mut byte = [0];
                while stream.read_exact(&mut byte).is_ok() {
                    sender.send(byte[0]).unwrap();
                    let _ = stream.write_all(&byte);
                }
            });
        }
    });
    (port, receiver)
}

fn proxied() -> (Proxy, TcpStream, Receiver<u8>) {
    let (upstream, seen) = echo();
    let ports = Proxied { listen: free_port(), upstream };
    let proxy = Proxy::start(ports).unwrap();
    let client = TcpStream::connect(("127.0.0.1", ports.listen)).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    (proxy, client, seen)
}

fn got(seen: &Receiver<u8>) -> u8 {
    seen.recv_timeout(Duration::from_secs(5)).expect("the broker's side got a byte")
}

#[test]
fn held_bytes_arrive_after_the_client_has_gone() {
    let (proxy, mut client, seen) = proxied();
    client.write_all(b"a").unwrap();
    assert_eq!(got(&seen), b'a');

    proxy.hold();
    client.write_all(b"bc").unwrap();
    drop(client);
    assert!(seen.recv_timeout(Duration::from_millis(100)).is_err(), "nothing passes a hold");
    proxy.release();

    assert_eq!((got(&seen), got(&seen)), (b'b', b'c'));
}

#[test]
fn a_cut_after_n_bytes_lets_exactly_n_pass() {
    let (proxy, mut client, seen) = proxied();

    proxy.cut_requests_after(3);
    client.write_all(b"abcdef").unwrap();

    assert_eq!([got(&seen), got(&seen), got(&seen)], *b"abc");
    let mut rest = Vec::new();
    let _ = client.read_to_end(&mut rest);
    assert!(seen.try_recv().is_err(), "the fourth byte never arrives");
}

#[test]
fn swallowed_answers_leave_the_request_at_the_broker() {
    let (proxy, mut client, seen) = proxied();

    proxy.swallow_responses(true);
    client.write_all(b"a").unwrap();
    assert_eq!(got(&seen), b'a');
    client.set_read_timeout(Some(Duration::from_millis(100))).unwrap();

    assert!(client.read_exact(&mut [0]).is_err(), "no answer comes back");
}

#[test]
fn an_append_is_cut_in_place_of_its_answer() {
    let (proxy, mut client, seen) = proxied();
    // The echo answers with the request itself: as an answer, its first four bytes are the correlation id.
    let ask: Vec<u8> = [&8_u32.to_be_bytes()[..], &[0, 0, 0, 0, 0, 0, 0, 0]].concat();
    client.write_all(&ask).unwrap();
    let mut answer = vec![0; ask.len()];
    client.read_exact(&mut answer).unwrap();

    proxy.cut_after_append(1);
    client.write_all(&ask).unwrap();

    let mut rest = Vec::new();
    let _ = client.read_to_end(&mut rest);
    assert!(rest.len() < ask.len(), "the answer is not whole: {rest:?}");
    assert_eq!(proxy.appends_cut(), 1);
    let arrived: Vec<u8> = (0..2 * ask.len()).map(|_| got(&seen)).collect();
    assert_eq!(arrived, [&ask[..], &ask[..]].concat(), "the second request reached the broker whole");
}

#[test]
fn a_closed_proxy_frees_its_port() {
    let (proxy, client, _seen) = proxied();
    let listen = proxy.listen;
    drop((proxy, client));

    crate::wait::wait_for("the port", Duration::from_secs(5), || {
        TcpListener::bind(("127.0.0.1", listen)).map(drop).map_err(|error| error.to_string())
    })
    .unwrap();
}
