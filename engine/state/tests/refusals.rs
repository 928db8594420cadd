//! I8: a state that cannot be read is refused by name, never taken for a fresh start.

use std::path::Path;

use pico_actors::ports::{OpenFailure, OpenKind};
use pico_state::{FileStore, encode};

use crate::support::{key, open};

/// Opens `orders` beside the state file that `place` put there, and gives the refusal.
async fn refusal(place: impl FnOnce(&Path)) -> OpenFailure {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("orders.state");
    place(&file);

    let refused = FileStore::open_folder(folder.path()).unwrap().open(&key("orders")).await.unwrap_err();

    let failure = OpenFailure::from(refused);
    assert_eq!(failure.kind, OpenKind::State);
    assert!(failure.cause.message.contains(&file.display().to_string()), "{}", failure.cause.message);
    assert!(failure.cause.message.contains("remove the file"), "{}", failure.cause.message);
    failure
}

fn bytes(content: Vec<u8>) -> impl FnOnce(&Path) {
    move |file| std::fs::write(file, content).unwrap()
}

#[tokio::test]
async fn no_file_is_a_fresh_start() {
    let folder = tempfile::tempdir().unwrap();

    let (_lease, loaded) = open(folder.path()).await;

    assert_eq!((loaded.number, loaded.state), (0, None));
    assert!(!folder.path().join("orders.state").exists());
}

#[tokio::test]
async fn an_empty_file_is_refused() {
    let failure = refusal(bytes(Vec::new())).await;

    assert!(failure.cause.message.contains("is empty"), "{}", failure.cause.message);
}

#[tokio::test]
async fn a_file_cut_in_the_header_is_refused() {
    let failure = refusal(bytes(encode(1, 2, b"position")[..20].to_vec())).await;

    assert!(failure.cause.message.contains("cut short: 20 of 36 bytes"), "{}", failure.cause.message);
}

#[tokio::test]
async fn a_file_cut_in_the_state_is_refused() {
    let failure = refusal(bytes(encode(1, 2, b"position")[..40].to_vec())).await;

    assert!(failure.cause.message.contains("cut short: 40 of 44 bytes"), "{}", failure.cause.message);
}

#[tokio::test]
async fn a_file_with_a_changed_byte_is_refused() {
    let mut content = encode(1, 2, b"position");
    content[40] ^= 1;

    let failure = refusal(bytes(content)).await;

    assert!(failure.cause.message.contains("checksum"), "{}", failure.cause.message);
}

#[tokio::test]
async fn a_file_with_bytes_behind_its_end_is_refused() {
    let failure = refusal(bytes([encode(1, 2, b"position"), vec![0; 3]].concat())).await;

    assert!(failure.cause.message.contains("3 bytes too many"), "{}", failure.cause.message);
}

#[tokio::test]
async fn a_foreign_file_is_refused() {
    let failure = refusal(bytes(b"{\"lsn\": 1234}".to_vec())).await;

    assert!(failure.cause.message.contains("not a state file of this engine"), "{}", failure.cause.message);
}

#[tokio::test]
async fn a_newer_file_is_refused() {
    let mut content = encode(1, 2, b"position");
    content[8] = 7;

    let failure = refusal(bytes(content)).await;

    assert!(failure.cause.message.contains("format version 7"), "{}", failure.cause.message);
}

#[tokio::test]
async fn a_file_larger_than_any_state_is_refused_unread() {
    let failure = refusal(|file| std::fs::File::create(file).unwrap().set_len(1 << 40).unwrap()).await;

    assert!(failure.cause.message.contains("1099511627776 bytes"), "{}", failure.cause.message);
}

#[tokio::test]
async fn a_link_is_not_followed() {
    let failure = refusal(|file| std::os::unix::fs::symlink("/etc/passwd", file).unwrap()).await;

    assert!(failure.cause.message.contains("not a regular file"), "{}", failure.cause.message);
}

#[tokio::test]
async fn a_folder_in_its_place_is_refused() {
    let failure = refusal(|file| std::fs::create_dir(file).unwrap()).await;

    assert!(failure.cause.message.contains("not a regular file"), "{}", failure.cause.message);
}

#[tokio::test]
async fn a_pipe_in_its_place_is_refused_without_waiting_for_a_writer() {
    let failure = refusal(|file| {
        let made = std::process::Command::new("mkfifo").arg(file).status().unwrap();
        assert!(made.success());
    })
    .await;

    assert!(failure.cause.message.contains("not a regular file"), "{}", failure.cause.message);
}

#[tokio::test]
async fn a_refused_file_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("orders.state");
    std::fs::write(&file, b"precious").unwrap();

    let store = FileStore::open_folder(folder.path()).unwrap();
    store.open(&key("orders")).await.unwrap_err();

    assert_eq!(std::fs::read(&file).unwrap(), b"precious");
}

#[tokio::test]
async fn a_refused_source_can_be_opened_once_its_file_is_mended() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("orders.state");
    std::fs::write(&file, b"").unwrap();
    let store = FileStore::open_folder(folder.path()).unwrap();
    store.open(&key("orders")).await.unwrap_err();

    std::fs::write(&file, encode(1, 2, b"position")).unwrap();
    let (_lease, loaded) = store.open(&key("orders")).await.unwrap();

    assert_eq!(loaded.state.as_deref(), Some(&b"position"[..]));
}
