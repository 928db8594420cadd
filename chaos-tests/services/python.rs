//! The Python interpreter that has what `python.txt` names. A file and no crate: tests of crates that know nobody take
//! it in by its path.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

/// Below the top of the workspace, which is above every package.
const SCRIPT: &str = "chaos-tests/services/python.sh";

/// Its path. The packages are installed on first use.
///
/// # Panics
/// When they cannot be.
pub(crate) fn interpreter() -> &'static str {
    static INTERPRETER: OnceLock<String> = OnceLock::new();
    INTERPRETER.get_or_init(|| {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|folder| folder.join(SCRIPT));
        let script =
            scripts.into_iter().find(|script| script.exists()).expect("the workspace has the script");
        let output = Command::new(script).output().expect("the script runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("a path in UTF-8").trim().to_owned()
    })
}
