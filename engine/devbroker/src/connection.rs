//! One client connection: frames in, answers out, one request at a time and in order, as Kafka's own broker does it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use crate::api::{self, Outcome, Peer};
use crate::faults::FaultKnobs;
use crate::node::Node;

const LENGTH_BYTES: usize = 4;
/// How much is made ready for a frame before its bytes arrive, so that a length alone takes no memory.
const READ_STEP_BYTES: usize = 64 << 10;
/// A client that takes no answer for so long is disconnected.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
enum End {
    #[error("the client closed it")]
    Closed,
    #[error("no request for too long")]
    Idle,
    #[error("the client does not take its answers")]
    Unread,
    #[error("a frame of {0} bytes")]
    FrameSize(i64),
    #[error("{0}")]
    Request(#[from] api::BadRequest),
    #[error("a fault was injected")]
    Fault,
    #[error("input or output failed: {0}")]
    Io(#[from] io::Error),
}

/// Serves a connection until it ends, the broker goes down or stops.
pub(crate) async fn run(node: Arc<Node>, stream: TcpStream, address: SocketAddr) {
    let serving = Connection::open(node.clone(), stream, address);
    tokio::select! {
        end = serving => tracing::debug!(peer = %address, %end, "connection ended"),
        () = down(&node.faults) => {
            node.faults.count_refused();
            tracing::debug!(peer = %address, "connection cut, the broker plays dead");
        }
    }
}

async fn down(faults: &FaultKnobs) {
    // The sender lives in the knobs, so the only way out is the value.
    let _ = faults.watch_down().wait_for(|down| down.is_down(Instant::now())).await;
}

struct Connection {
    node: Arc<Node>,
    stream: TcpStream,
    peer: Peer,
    input: BytesMut,
}

impl Connection {
    async fn open(node: Arc<Node>, stream: TcpStream, address: SocketAddr) -> End {
        let local = match stream.set_nodelay(true).and_then(|()| stream.local_addr()) {
            Ok(local) => local,
            Err(error) => return End::Io(error),
        };
        let peer = Peer { address, local };
        let mut connection = Self { node, stream, peer, input: BytesMut::new() };
        loop {
            if let Err(end) = connection.serve_one().await {
                return end;
            }
        }
    }

    async fn serve_one(&mut self) -> Result<(), End> {
        let node = self.node.clone();
        let frame = tokio::select! {
            frame = timeout(node.config.idle_max, self.read_frame()) => match frame {
                Ok(frame) => frame?,
                Err(_) => return Err(End::Idle),
            },
            () = node.stopped() => return Err(End::Closed),
        };
        match api::answer(&self.node, self.peer, frame).await? {
            Outcome::Silent => Ok(()),
            Outcome::Cut => Err(End::Fault),
            Outcome::Answer(answer) => self.send(&answer).await,
        }
    }

    async fn send(&mut self, answer: &[u8]) -> Result<(), End> {
        let fault = self.node.faults.on_answer();
        if fault.is_swallowed {
            return Ok(());
        }
        if !fault.delay.is_zero() {
            tokio::time::sleep(fault.delay).await;
        }
        match timeout(WRITE_TIMEOUT, self.stream.write_all(answer)).await {
            Ok(written) => Ok(written?),
            Err(_) => Err(End::Unread),
        }
    }

    async fn read_frame(&mut self) -> Result<Bytes, End> {
        self.read_until(LENGTH_BYTES).await?;
        let announced = (&self.input[..LENGTH_BYTES]).get_i32();
        let length = usize::try_from(announced)
            .ok()
            .filter(|length| *length <= self.node.config.frame_bytes_max)
            .ok_or(End::FrameSize(announced.into()))?;
        self.read_until(LENGTH_BYTES + length).await?;
        self.input.advance(LENGTH_BYTES);
        Ok(self.input.split_to(length).freeze())
    }

    async fn read_until(&mut self, length: usize) -> Result<(), End> {
        while self.input.len() < length {
            let missing = length - self.input.len();
            self.input.reserve(missing.min(READ_STEP_BYTES));
            if self.stream.read_buf(&mut self.input).await? == 0 {
                return Err(End::Closed);
            }
        }
        Ok(())
    }
}
