//! Opening again and again; libraries stay.

use picomq_connector_sdk::ffi::host::Closed;

use crate::support::{own_library, request, wait_for_lines};

#[tokio::test]
async fn two_hundred_reopenings_with_threads_and_thread_locals_end_well_b124() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dropped");
    let library = own_library("scripted");
    let config = format!(r#"{{"threads": true, "dropped": {path:?}}}"#);
    for round in 0..200 {
        let source = library.open(request(&config)).await.unwrap();
        assert_eq!(source.poll().await.unwrap().len(), 1);
        let closed = if round % 2 == 0 { source.close().await } else { source.destroy().await };
        assert_eq!(closed, Closed { leaked: false });
    }
    wait_for_lines(&path, 200);
}
