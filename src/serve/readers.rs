//! The threads that read requests, each with connections of its own.
//!
//! A runtime with many threads wakes another thread whenever a task wakes itself, for example when
//! it reads a body: for each request, although the other thread has nothing to do. So each thread
//! has a runtime of one thread, and a connection stays with the thread that it was given to.
//! Requests that share a connection are answered by other threads, see [`crate::serve::queue`].

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::runtime::{Builder, Handle};
use tokio::sync::watch;
use workers::error::{Error, Result};

/// Threads that read requests. When it is dropped, the threads end and abandon requests under way.
pub struct Readers {
    readers: Vec<Reader>,
    _end: watch::Sender<()>,
}

struct Reader {
    runtime: Handle,
    connections: Arc<AtomicUsize>,
}

/// A connection of a reader, until it is dropped.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Readers {
    /// This many threads.
    ///
    /// # Errors
    ///
    /// `Internal` if the system starts no more threads.
    pub fn start(threads: usize) -> Result<Readers> {
        let failed = |e: io::Error| Error::internal("cannot start threads").caused_by(e);
        let (end, ending) = watch::channel(());
        let start = |number| {
            let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
            let (handle, mut ending) = (runtime.handle().clone(), ending.clone());
            let read = move || {
                let _ = runtime.block_on(ending.changed());
                runtime.shutdown_background();
            };
            let thread = std::thread::Builder::new().name(format!("reader-{number}"));
            thread.spawn(read).map_err(failed)?;
            Ok(Reader { runtime: handle, connections: Arc::default() })
        };
        Ok(Readers { readers: (0..threads).map(start).collect::<Result<_>>()?, _end: end })
    }

    /// Lets the reader with the fewest connections run `serve` with this connection.
    pub fn give<F: Future<Output = ()> + Send>(
        &self,
        stream: TcpStream,
        serve: impl FnOnce(tokio::net::TcpStream) -> F + Send + 'static,
    ) {
        let count = |reader: &&Reader| reader.connections.load(Ordering::Relaxed);
        let Some(reader) = self.readers.iter().min_by_key(count) else { return };
        reader.connections.fetch_add(1, Ordering::Relaxed);
        let counted = Counted(reader.connections.clone());
        reader.runtime.spawn(async move {
            let _counted = counted;
            match tokio::net::TcpStream::from_std(stream) {
                Ok(stream) => serve(stream).await,
                Err(error) => tracing::warn!(%error, "cannot read from a connection"),
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::sync::Barrier;

    fn connection() -> TcpStream {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let client = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
        client.set_nonblocking(true).expect("set");
        client
    }

    /// As many connections as there are threads are served at the same time, even if each takes its
    /// whole thread, and a thread that is free again takes the next.
    #[test]
    fn connections_are_spread() {
        let readers = Readers::start(3).expect("started");
        for _ in 0..4 {
            // None continues before all three are here.
            let all = Arc::new(Barrier::new(4));
            for _ in 0..3 {
                let all = all.clone();
                readers.give(connection(), |_| async move { _ = all.wait() });
            }
            all.wait();
            while readers.readers.iter().any(|of| of.connections.load(Ordering::Relaxed) > 0) {
                std::thread::yield_now();
            }
        }
    }
}
