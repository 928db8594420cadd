//! Plugins that do not come from our SDK: what they may do, and what they may get wrong.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::calls::HOST;
use super::*;
use crate::Verdict;
use crate::ffi::abi::{
    ABI, Descriptor, Functions, NO_TIME, RawBatch, RawBytes, RawHeader, RawOpen, RawOutcome, RawRecord,
    RawToken, capability, outcome, schema,
};
use crate::ffi::slots::Slots;

/// What a poll of a test does.
type OnPoll = dyn Fn(&Arc<Foreign>, RawToken) + Send + Sync;

/// A source whose polls are a closure of the test; the configuration is its number.
struct Foreign {
    on_poll: Box<OnPoll>,
    released: AtomicU32,
}

static FOREIGN: Slots<Arc<Foreign>> = Slots::new();

/// A batch as a C program would lay it out: the table first, then what it points to.
#[repr(C)]
struct Table {
    raw: RawBatch,
    owner: Arc<Foreign>,
    records: Vec<RawRecord>,
    headers: Vec<RawHeader>,
}

fn table(owner: &Arc<Foreign>, records: Vec<RawRecord>, headers: Vec<RawHeader>) -> Box<Table> {
    let raw = RawBatch {
        size: size_of::<RawBatch>() as u32,
        schema: schema::JSON,
        records: records.as_ptr(),
        records_count: records.len() as u64,
        state: RawBytes::NONE,
    };
    Box::new(Table { raw, owner: Arc::clone(owner), records, headers })
}

fn complete(token: RawToken, kind: u32, batch: Option<Box<Table>>) {
    let raw = RawOutcome {
        size: size_of::<RawOutcome>() as u32,
        kind,
        text: RawBytes::of(b"said so \xff"),
        instance: 0,
        batch: batch.map_or(std::ptr::null_mut(), |batch| Box::into_raw(batch).cast()),
    };
    // SAFETY: a whole outcome, alive for the call, whose batch is given away.
    unsafe { (HOST.complete)(token, &raw) };
}

unsafe extern "C" fn open(call: *const RawOpen, token: RawToken) {
    // SAFETY: the host passes a whole request, alive for the call.
    let config = unsafe { (*call).config.text() };
    let raw = RawOutcome {
        size: size_of::<RawOutcome>() as u32,
        kind: outcome::DONE,
        text: RawBytes::NONE,
        instance: config.parse().unwrap(),
        batch: std::ptr::null_mut(),
    };
    // SAFETY: a whole outcome, alive for the call.
    unsafe { (HOST.complete)(token, &raw) };
}

unsafe extern "C" fn poll(instance: u64, token: RawToken) {
    let foreign = FOREIGN.get(instance).unwrap();
    (foreign.on_poll)(&foreign, token);
}

unsafe extern "C" fn resolve(_: u64, _: u32, token: RawToken) {
    complete(token, outcome::DONE, None);
}

unsafe extern "C" fn interrupt(_: u64) {}

unsafe extern "C" fn end(_: u64, token: RawToken) {
    complete(token, outcome::DONE, None);
}

unsafe extern "C" fn release(batch: *mut RawBatch) {
    // SAFETY: given away by `complete` above, and the host gives it back once.
    let table = unsafe { Box::from_raw(batch.cast::<Table>()) };
    table.owner.released.fetch_add(1, Ordering::SeqCst);
}

/// A function table that ends before the optional entries.
static FUNCTIONS: Functions = Functions {
    size: std::mem::offset_of!(Functions, command) as u32,
    open: Some(open),
    poll: Some(poll),
    resolve: Some(resolve),
    interrupt: Some(interrupt),
    close: Some(end),
    destroy: Some(end),
    release: Some(release),
    command: None,
    describe_state: None,
    maintain: None,
    call_off: None,
};

fn library() -> Arc<Library> {
    static LIBRARY: OnceLock<Arc<Library>> = OnceLock::new();
    let make = || {
        let descriptor: &'static Descriptor = Box::leak(Box::new(Descriptor {
            abi: ABI,
            size: size_of::<Descriptor>() as u32,
            capabilities: capability::UNWINDS | capability::OWN_RUNTIME,
            name: RawBytes::of(b"foreign"),
            version: RawBytes::of(b"1"),
            config_schema: RawBytes::of(b"{}"),
            functions: &raw const FUNCTIONS,
        }));
        Library::register(descriptor, PathBuf::from("foreign")).unwrap()
    };
    Arc::clone(LIBRARY.get_or_init(make))
}

async fn source(
    on_poll: impl Fn(&Arc<Foreign>, RawToken) + Send + Sync + 'static,
) -> (Arc<Foreign>, Instance) {
    let foreign = Arc::new(Foreign { on_poll: Box::new(on_poll), released: AtomicU32::new(0) });
    let number = FOREIGN.insert(Arc::clone(&foreign));
    (foreign, library().open(request(number)).await.unwrap())
}

fn request(number: u64) -> OpenRequest {
    OpenRequest {
        key: "foreign".to_owned(),
        config_json: number.to_string(),
        state: None,
        mode: Mode::Run,
        limits: Limits { batch_records: 3, batch_bytes: 100 },
        record_bytes: 1_000_000,
        open_timeout: Duration::from_secs(1),
        verdict_timeout: Duration::from_secs(1),
        host: Arc::new(TracingSink::new("foreign")),
    }
}

fn released(foreign: &Foreign) -> u32 {
    foreign.released.load(Ordering::SeqCst)
}

fn payload(bytes: &'static [u8]) -> RawRecord {
    RawRecord { payload: bytes.as_ptr(), payload_bytes: bytes.len() as u32, ..RawRecord::EMPTY }
}

/// Polls once; whatever came must have been given back by the end.
async fn refused(records: Vec<RawRecord>, headers: Vec<RawHeader>, change: fn(&mut RawBatch)) -> PollError {
    let parts = std::sync::Mutex::new(Some((records, headers)));
    let (foreign, source) = source(move |foreign, token| {
        let (mut records, headers) = parts.lock().unwrap().take().unwrap();
        if !headers.is_empty() {
            (records[0].headers, records[0].headers_count) = (headers.as_ptr(), headers.len() as u32);
        }
        let mut table = table(foreign, records, headers);
        change(&mut table.raw);
        complete(token, outcome::DONE, Some(table));
    })
    .await;
    let error = source.poll().await.unwrap_err();
    assert_eq!(released(&foreign), 1, "{error}");
    error
}

fn is_broken(error: &PollError, what: &str) -> bool {
    matches!(error, PollError::Panicked(text) if text.contains(what))
}

#[tokio::test]
async fn a_batch_of_a_foreign_plugin_is_read_in_place_and_given_back_once() {
    let (foreign, source) = source(|foreign, token| {
        let full = RawRecord { key: b"k".as_ptr(), key_bytes: 1, timestamp_ms: 7, ..payload(b"{}") };
        let empty = payload(b"");
        complete(token, outcome::DONE, Some(table(foreign, vec![full, empty, RawRecord::EMPTY], vec![])));
    })
    .await;
    let batch = source.poll().await.unwrap();
    assert_eq!((batch.len(), batch.bytes(), released(&foreign)), (3, 3, 0));
    let full = batch.record(0);
    assert_eq!((full.payload, full.key, full.timestamp_ms), (Some(&b"{}"[..]), Some(&b"k"[..]), Some(7)));
    assert_eq!((batch.record(1).payload, batch.record(2).payload), (Some(&b""[..]), None));
    drop(batch);
    assert_eq!(released(&foreign), 1);
}

#[tokio::test]
async fn a_second_completion_finds_nothing_and_its_batch_is_given_back() {
    let (foreign, source) = source(|foreign, token| {
        for _ in 0..3 {
            complete(token, outcome::DONE, Some(table(foreign, vec![payload(b"1")], vec![])));
        }
    })
    .await;
    let batch = source.poll().await.unwrap();
    assert_eq!(released(&foreign), 2);
    drop(batch);
    assert_eq!(released(&foreign), 3);
}

#[tokio::test]
async fn an_old_token_does_not_complete_the_next_call() {
    let old = Arc::new(OnceLock::new());
    let remembered = Arc::clone(&old);
    let (foreign, source) = source(move |foreign, token| {
        let first = *remembered.get_or_init(|| token);
        if first != token {
            complete(first, outcome::PANICKED, Some(table(foreign, vec![], vec![])));
        }
        complete(token, outcome::DONE, Some(table(foreign, vec![payload(b"1")], vec![])));
    })
    .await;
    drop(source.poll().await.unwrap());
    source.resolve(Verdict::Ack).await.unwrap();
    assert_eq!(source.poll().await.unwrap().len(), 1);
    assert!(old.get().is_some());
    assert_eq!(released(&foreign), 3);
}

#[tokio::test]
async fn a_completion_nobody_waits_for_gives_its_batch_back() {
    let (foreign, source) = source(|foreign, token| {
        let foreign = Arc::clone(foreign);
        std::thread::spawn(move || {
            std::thread::park_timeout(Duration::from_millis(50));
            complete(token, outcome::DONE, Some(table(&foreign, vec![payload(b"1")], vec![])));
        });
    })
    .await;
    drop(source.poll());
    while released(&foreign) == 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_completion_with_an_invented_token_is_harmless() {
    complete(RawToken { library: u32::MAX, reserved: 0, call: u64::MAX }, outcome::DONE, None);
    complete(RawToken { library: 0, reserved: 0, call: 0 }, outcome::DONE, None);
}

#[tokio::test]
async fn broken_tables_are_refused_by_name_and_end_the_instance() {
    let one = || vec![payload(b"1")];
    assert!(is_broken(&refused(one(), vec![], |raw| raw.schema = 77).await, "unknown schema 77"));
    assert!(is_broken(&refused(one(), vec![], |raw| raw.size = 8).await, "8 bytes"));
    assert!(is_broken(
        &refused(one(), vec![], |raw| raw.records = std::ptr::null()).await,
        "without a table"
    ));
    for hole in [
        RawRecord { payload_bytes: 1, ..RawRecord::EMPTY },
        RawRecord { key_bytes: 1, ..payload(b"1") },
        RawRecord { id_bytes: 1, ..payload(b"1") },
        RawRecord { headers_count: 1, ..payload(b"1") },
    ] {
        let error = refused(vec![payload(b"1"), hole], vec![], |_| {}).await;
        assert!(is_broken(&error, "record 1 has bytes at a null pointer"), "{error}");
    }
}

#[tokio::test]
async fn text_that_is_no_text_is_refused() {
    let id = RawRecord { id: b"\xff".as_ptr(), id_bytes: 1, ..payload(b"1") };
    assert!(is_broken(&refused(vec![id], vec![], |_| {}).await, "the id of record 0 is not UTF-8"));
    let header = |name: &'static [u8]| RawHeader {
        name: name.as_ptr(),
        value: b"v".as_ptr(),
        name_bytes: name.len() as u32,
        value_bytes: 1,
    };
    let error = refused(vec![payload(b"1")], vec![header(b"good"), header(b"\xff")], |_| {}).await;
    assert!(is_broken(&error, "a header name of record 0 is not UTF-8"), "{error}");
    let hole = RawHeader { value: std::ptr::null(), ..header(b"good") };
    assert!(is_broken(&refused(vec![payload(b"1")], vec![hole], |_| {}).await, "null pointer"));
}

#[tokio::test]
async fn the_limits_are_checked_on_this_side_too() {
    let error = refused(vec![payload(b"1"); 4], vec![], |_| {}).await;
    assert!(matches!(&error, PollError::Limit(text) if text.contains("4 records")), "{error:?}");
    let error = refused(vec![payload(&[b'x'; 60]); 2], vec![], |_| {}).await;
    assert!(matches!(&error, PollError::Limit(text) if text.contains("120 bytes")), "{error:?}");
    // A count that would need all memory is refused before anything of it is read.
    let error = refused(vec![payload(b"1")], vec![], |raw| raw.records_count = u64::MAX).await;
    assert!(matches!(error, PollError::Limit(_)), "{error:?}");
}

#[tokio::test]
async fn headers_keep_their_order_and_the_last_of_a_name_is_found() {
    let (_foreign, source) = source(|foreign, token| {
        let header = |value: &'static [u8]| RawHeader {
            name: b"n".as_ptr(),
            value: value.as_ptr(),
            name_bytes: 1,
            value_bytes: value.len() as u32,
        };
        let headers = vec![header(b"first"), header(b"")];
        let record = RawRecord { headers: headers.as_ptr(), headers_count: 2, ..payload(b"1") };
        complete(token, outcome::DONE, Some(table(foreign, vec![record], headers)));
    })
    .await;
    let batch = source.poll().await.unwrap();
    let record = batch.record(0);
    assert_eq!(record.headers().collect::<Vec<_>>(), [("n", &b"first"[..]), ("n", &b""[..])]);
    assert_eq!((record.header("n"), record.header("other")), (Some(&b""[..]), None));
    assert_eq!(record.event_time_ns, None);
    assert_eq!(NO_TIME, i64::MIN);
}

#[tokio::test]
async fn an_answer_that_makes_no_sense_ends_the_instance() {
    for kind in [outcome::DONE, outcome::UNKNOWN, 77] {
        let (_foreign, source) = source(move |_, token| complete(token, kind, None)).await;
        assert!(matches!(source.poll().await, Err(PollError::Panicked(_))), "{kind}");
        assert!(
            matches!(source.poll().await, Err(PollError::Panicked(text)) if text.contains("failed before"))
        );
    }
}

#[tokio::test]
async fn a_text_that_is_not_utf8_is_shown_as_far_as_it_goes() {
    let (_foreign, source) = source(|_, token| complete(token, outcome::TRANSIENT, None)).await;
    let error = source.poll().await.unwrap_err();
    assert!(matches!(&error, PollError::Transient(text) if text == "said so \u{fffd}"), "{error:?}");
}

#[tokio::test]
async fn optional_calls_that_are_missing_are_unknown() {
    let (_foreign, source) = source(|_, token| complete(token, outcome::TRANSIENT, None)).await;
    assert!(matches!(source.command("any", "{}").await, Err(CommandError::Unknown(_))));
    assert!(matches!(library().describe_state(b"").await, Err(CommandError::Unknown(_))));
    let stopped = library().maintain(request(0), "any", "{}").await;
    assert!(library().check(request(0)).await.is_ok(), "an older plugin cannot say, which is no fault");
    assert!(matches!(stopped, Err(CommandError::Unknown(_))));
}
