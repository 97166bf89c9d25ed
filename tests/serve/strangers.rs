//! Clients that are slow, wrong, many or unknown are told so, and do not keep others from being
//! served.

use super::client::{Server, connect_from, reply, send};
use super::{NDJSON, asked, bench, problem};
use crate::texts::text;
use crate::workbench::number;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;

/// Lets this process, and those that it starts, have this many files open.
fn allow_files(files: u64) {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|now| now < files) {
        setrlimit(Resource::Nofile, Rlimit { current: Some(files), ..limit })
            .expect("`ulimit -Hn` is greater");
    }
}

/// Clients that are slow, wrong or many, with `PAGEFOLD_CONNECTIONS` connections, do not keep
/// others from being served, memory is bounded, and each is told what is wrong with its request.
#[test]
fn hostile_clients() {
    let connections = number("PAGEFOLD_CONNECTIONS", 350);
    allow_files(connections + 256);
    let bench = bench(8, "[read.limits]\nline_bytes_max = 100000\n");
    let server = Server::start(&bench, &[]);
    let served = || {
        let answer = server.post("/check", &asked(1)[0]);
        assert_eq!(
            (answer.status, answer.json()["verdict"].as_str()),
            (200, Some("identical")),
            "{answer:?}"
        );
    };
    let begin = |head: &str| -> TcpStream {
        let mut stream = server.connect().expect("accepted");
        stream.write_all(head.replace("HOST", &server.at.to_string()).as_bytes()).expect("written");
        stream
    };
    let post = "POST /check HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\n";
    served();
    let memory = || server.figure("pagefold_serve_memory_max_bytes");
    let before = memory();
    // They say nothing, the first letter, half a head, or half a body.
    let half_a_body = format!("{post}Content-Length: 1000\r\n\r\n{{\"url\":");
    let said = ["", "P", "POST /check HTTP/1.1\r\nHost:", &half_a_body];
    let held: Vec<TcpStream> =
        (0..connections as usize).map(|n| begin(said[n % said.len()])).collect();
    served();
    // A body over the limit, stated, and one that does not end.
    problem(
        &reply(begin(&format!("{post}Content-Length: 1073741824\r\n\r\n{{"))).expect("an answer"),
        413,
    );
    let mut endless = begin(&format!("{post}Transfer-Encoding: chunked\r\n\r\n"));
    let chunk = [&b"1000\r\n"[..], &[b'x'; 4096], b"\r\n"].concat();
    assert!((0..1 << 16).any(|_| endless.write_all(&chunk).is_err()), "it took 256 MiB");
    served();
    // Requests that make no sense.
    assert_eq!(
        problem(&server.send("POST", "/check", "application/json", b"{\"url\": "), 400)["reason"],
        "bad_json"
    );
    assert_eq!(
        problem(&server.post("/check", &json!({ "url": "http://a.example/" })), 422)["reason"],
        "no_text"
    );
    problem(&server.send("POST", "/check", "application/x-www-form-urlencoded", b"url=x"), 415);
    let always = server.send("POST", "/check?always=true", "application/json", b"{}");
    assert_eq!(
        problem(&always, 400)["detail"],
        "`always` is of POST /insert alone: nothing else inserts"
    );
    problem(&server.send("POST", "/check?date=soon", "text/plain", b"x"), 400);
    // The sign of a zone is a space in a URL, which nobody sees.
    let zone = server.send("POST", "/check?date=2026-05-01T12:00:00+08:00", "text/plain", b"x");
    assert!(problem(&zone, 400)["detail"].as_str().is_some_and(|said| said.contains("%2B")));
    let zone = server.send("POST", "/check?date=2026-05-01T12:00:00%2B08:00", "text/plain", b"x");
    assert_eq!(zone.status, 200, "{zone:?}");
    problem(&server.get("/check"), 405);
    problem(&server.get("/else"), 404);
    let many_rows = "{}\n".repeat(10_001);
    problem(&server.send("POST", "/check", NDJSON, many_rows.as_bytes()), 413);
    // A page in a browser of this machine.
    let close = "Connection: close\r\nContent-Length: 2\r\n\r\n{}";
    problem(
        &reply(begin(&format!("{post}Origin: http://site.example\r\n{close}"))).expect("an answer"),
        403,
    );
    let named = post.replace("HOST", "site.example");
    problem(&reply(begin(&format!("{named}{close}"))).expect("an answer"), 403);
    assert!(reply(begin("\x16\x03\x01 no HTTP\r\n\r\n")).is_ok_and(|reply| reply.status == 400));
    served();
    let grown = memory() - before;
    println!("{connections} connections: {before} bytes of memory, and {grown} more");
    assert!(grown < (32 << 20) as f64 + 65_536.0 * connections as f64, "{grown} bytes more");
    drop(held);
    assert!(server.stop().success());
}

/// A body with a `Content-Encoding` was answered as if its compressed bytes were the text. It is
/// refused, with the header in the message, as bodies are sent uncompressed.
#[test]
fn compressed_bodies_are_refused() {
    let bench = bench(8, "");
    let server = Server::start(&bench, &[]);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text(0, 0).as_bytes()).expect("in memory");
    let packed = encoder.finish().expect("in memory");
    let post = |encoding: &str, body: &[u8]| {
        let more = format!("Content-Encoding: {encoding}\r\n");
        send(server.at, "POST", "/check", &more, "text/plain", body).expect("an answer")
    };
    for encoding in ["gzip", "identity, zstd"] {
        let said = problem(&post(encoding, &packed), 415);
        let detail = said["detail"].as_str().expect("a text");
        assert!(detail.contains(&format!("Content-Encoding: {encoding}")), "{detail}");
        assert!(detail.contains("uncompressed"), "{detail}");
    }
    let plain = post("Identity", text(0, 0).as_bytes());
    assert_eq!(plain.json()["verdict"], "identical", "{plain:?}");
    let described = server.get("/openapi.json").json();
    for path in ["/check", "/insert", "/remove"] {
        let body = &described["paths"][path]["post"]["requestBody"]["description"];
        assert!(body.as_str().is_some_and(|body| body.contains("uncompressed")), "{path}: {body}");
    }
    assert!(server.stop().success());
}

/// An answer that came before the body closed the connection without saying so, and a client that
/// sends head and body apart lost its next request. A short body is read, so that the connection
/// stays. Where it is long, or does not come, the answer says that the connection closes.
#[test]
fn refused_bodies_are_read_or_close_the_connection() {
    let bench = bench(8, "");
    let server = Server::start(&bench, &[]);
    let begin = |more: &str| -> TcpStream {
        let head = format!("Host: {}\r\nContent-Type: text/css\r\n{more}\r\n\r\n", server.at);
        let mut stream = server.connect().expect("accepted");
        stream.write_all(format!("POST /check HTTP/1.1\r\n{head}").as_bytes()).expect("written");
        stream
    };
    let mut stream = begin("Content-Length: 10");
    // The server has the head, as one that came after it was answered.
    assert_eq!(server.get("/healthz").status, 200);
    stream.write_all(b"0123456789").expect("written");
    let next = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", server.at);
    let mut both = Vec::new();
    let _ = stream.write_all(next.as_bytes()).and_then(|()| stream.read_to_end(&mut both));
    let both = String::from_utf8_lossy(&both);
    assert!(both.starts_with("HTTP/1.1 415 ") && both.ends_with("\r\n\r\nok\n"), "{both}");
    assert_eq!(both.matches("connection: close").count(), 1, "{both}");
    for more in [
        "Content-Length: 1000000",
        "Content-Length: 10",
        "Content-Length: 10\r\nExpect: 100-continue",
        "Transfer-Encoding: chunked",
    ] {
        let refused = reply(begin(more)).expect("an answer");
        problem(&refused, 415);
        assert!(refused.head.contains("connection: close"), "{more}: {refused:?}");
    }
    // A body that is read leaves nothing, whatever the answer.
    let mut stream = server.connect().expect("accepted");
    let wrong = format!(
        "POST /check HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nTransfer-Encoding: \
         chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
        server.at
    );
    stream.write_all(format!("{wrong}{next}").as_bytes()).expect("written");
    let mut both = String::new();
    stream.read_to_string(&mut both).expect("two answers");
    assert!(both.starts_with("HTTP/1.1 400 ") && both.ends_with("\r\n\r\nok\n"), "{both}");
    assert!(server.stop().success());
}

/// Where all connections are taken a client with a request is served, and the connection that has
/// waited longest for its client is closed.
#[test]
fn idle_connections_make_room() {
    let bench = bench(8, "");
    // 256 of these are for other files than connections.
    let server = Server::start_with_files(&bench, 400);
    let mut held: Vec<TcpStream> = Vec::new();
    for _ in 0..4 {
        held.extend((0..144).map(|_| server.connect().expect("accepted")));
        assert_eq!(server.post("/check", &asked(1)[0]).json()["verdict"], "identical");
    }
    for mut idle in held.drain(..3 * 144) {
        assert!(!matches!(idle.read(&mut [0]), Ok(1..)), "an answer without a question");
    }
    assert!(server.stop().success());
}

/// A client that has sent more records than its rate is told when to come again, and other clients
/// are served meanwhile.
#[test]
fn a_client_has_a_rate() {
    let bench = bench(8, "");
    let server = Server::start(&bench, &["--client-rate", "1"]);
    // A batch may be larger than what a client may send in a second. These rows cost no time.
    let rows = vec![json!({}); 10_000];
    assert_eq!(server.batch("/check", &rows).len(), rows.len());
    for reply in [server.post("/check", &asked(1)[0]), server.get("/pages?url=http://h0.example/0")]
    {
        problem(&reply, 429);
        let after = reply.head.lines().find_map(|line| line.strip_prefix("retry-after: "));
        let after: usize = after.expect("when").parse().expect("seconds");
        assert!((1..=rows.len()).contains(&after), "{reply:?}");
    }
    assert_eq!(server.get("/readyz").status, 200);
    let mut other = connect_from(Ipv4Addr::new(127, 0, 0, 2), server.at).expect("accepted");
    let request = format!(
        "GET /pages?url=http://h0.example/0 HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
        server.at
    );
    other.write_all(request.as_bytes()).expect("written");
    assert_eq!(reply(other).expect("an answer").status, 200);
    assert!(server.stop().success());
}

/// If the server has a token, requests without it are refused, except health checks. A wrong token
/// was reported as a missing one.
#[test]
fn who_shows_no_token_is_not_answered() {
    let bench = bench(8, "");
    std::fs::write(bench.at("token"), "0123456789abcdef0123456789abcdef\n").expect("written");
    std::fs::set_permissions(bench.at("token"), std::fs::Permissions::from_mode(0o600))
        .expect("set");
    let server = Server::start(&bench, &["--token-file", "token"]);
    let question = &asked(1)[0];
    let refused = server.post("/check", question);
    let missing = problem(&refused, 401)["detail"].clone();
    assert!(refused.head.contains("www-authenticate: bearer"), "{refused:?}");
    assert_eq!((server.get("/healthz").status, server.get("/readyz").status), (200, 200));
    problem(&server.get("/openapi.json"), 401);
    let server = server.with_token("0123456789abcdef0123456789abcdeF");
    let wrong = problem(&server.post("/check", question), 401)["detail"].clone();
    let says = |said: &Value, what| said.as_str().is_some_and(|said| said.contains(what));
    assert!(says(&missing, "is wanted") && says(&wrong, "is not that of this server"), "{wrong}");
    let server = server.with_token("0123456789abcdef0123456789abcdef");
    assert_eq!(server.post("/check", question).json()["verdict"], "identical");
    assert!(server.stop().success());
}
