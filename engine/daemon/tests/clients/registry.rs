//! The registry of `registry.py` as a process, with a certificate of its own.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::interpreter::interpreter;
use crate::support::Folder;

/// Who may ask.
pub(crate) const USER: &str = "connector:s3cret-of-the-registry";

/// A running registry. Dropping it ends it.
pub(crate) struct Registry {
    child: Child,
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Registry {
    /// Starts one whose certificate is the folder's `registry.pem`.
    pub(crate) fn start(folder: &Folder) -> Registry {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let certificate = folder.write("registry.pem", &made.cert.pem());
        let key = folder.write("registry.key", &made.signing_key.serialize_pem());
        let mut command = Command::new(interpreter());
        command.arg(script("registry.py")).args([certificate, key]).arg(USER);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = lines.next().expect("it prints its port").unwrap().parse().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = requests.clone();
        std::thread::spawn(move || {
            lines.map_while(Result::ok).for_each(|line| seen.lock().unwrap().push(line))
        });
        Registry { child, port, requests }
    }

    pub(crate) fn url(&self) -> String {
        format!("https://localhost:{}", self.port)
    }

    /// The `schema_registry` of a block, with more of its keys.
    pub(crate) fn table(&self, more: &str) -> String {
        let (user, password) = USER.split_once(':').unwrap();
        format!(
            "schema_registry = {{ url = \"{}\", username = \"{user}\", password = \"{password}\", \
             tls = {{ ca_file = \"../registry.pem\" }}{more} }}\n",
            self.url()
        )
    }

    /// Every request so far: method, path, status.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// What `read.py` says.
    pub(crate) fn read(&self, folder: &Folder, arguments: &[&str], input: &str) -> Value {
        let certificate = folder.path().join("registry.pem");
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", "90"]).arg(interpreter()).arg(script("read.py")).arg(self.url());
        command.arg(certificate).arg(USER).args(arguments).current_dir(folder.path());
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_owned();
        let writing = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
        let output = child.wait_with_output().unwrap();
        drop(writing.join());
        serde_json::from_slice(&checked("read.py", output)).unwrap()
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn script(name: &str) -> String {
    format!("{}/tests/clients/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// What a program printed; panics with its complaint if it failed.
pub(crate) fn checked(what: &str, output: Output) -> Vec<u8> {
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: {}\n{complaint}", output.status);
    output.stdout
}
