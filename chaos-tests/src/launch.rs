//! How an engine is started: with faults inside it, around it, under it.

use std::fs;
use std::path::Path;

/// How a process is started, apart from its site.
#[derive(Debug, Clone, Default)]
pub struct Launch {
    /// `FAILPOINTS` of the `fail` crate: `enqueued=4*off->return` kills at the fifth passing.
    pub failpoints: Option<String>,
    /// One injection for strace, `rename:signal=KILL:when=3` or `fdatasync:error=EIO:when=2`.
    pub injection: Option<String>,
    /// A tmpfs of this many KiB over the state folder, in a mount namespace of its own. It ends with the process;
    /// [`Daemon::inside`] reaches into it.
    pub small_state_kib: Option<u32>,
    /// More environment variables.
    pub environment: Vec<(String, String)>,
}

impl Launch {
    /// A kill at the `passing`-th passing (from 1) of a named point.
    pub fn kill_at(point: &str, passing: u32) -> Self {
        Self { failpoints: Some(format!("{point}={}*off->return", passing - 1)), ..Self::default() }
    }

    /// The engine stands still for `pause_ms` at the `passing`-th passing (from 1) of a named point, once.
    pub fn pause_at(point: &str, passing: u32, pause_ms: u32) -> Self {
        let points = format!("{point}={}*off->1*sleep({pause_ms})->off", passing - 1);
        Self { failpoints: Some(points), ..Self::default() }
    }

    /// An injection into the `nth` call of a system call (or several, `rename,renameat2`): `signal=KILL`, `error=EIO`.
    /// strace counts for each thread by itself: saves on a pool of threads strike later than `nth` says.
    pub fn inject(call: &str, fault: &str, nth: u32) -> Self {
        Self { injection: Some(format!("{call}:{fault}:when={nth}")), ..Self::default() }
    }

    /// The program that runs before the binary and then becomes it: the process id stays the same throughout. With
    /// `--pdeathsig` the engine dies with the thread of the test.
    pub(crate) fn wrapping(&self, dir: &Path) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        if let Some(kib) = self.small_state_kib {
            let state = dir.join("state");
            let _ = fs::create_dir_all(&state);
            let script = format!("mount -t tmpfs -o size={kib}k,mode=700 none \"$0\" && exec \"$@\"");
            words.extend(["unshare", "-Urm", "sh", "-c", &script].map(str::to_owned));
            words.push(state.display().to_string());
        }
        words.extend(["setpriv", "--pdeathsig", "KILL"].map(str::to_owned));
        if let Some(injection) = &self.injection {
            let call = injection.split(':').next().unwrap_or_default();
            let trace = dir.join("strace.log").display().to_string();
            // -D: the tracer is the grandchild, so that the engine itself is our child.
            words.extend(["strace", "-D", "-f", "-qq", "-o", &trace].map(str::to_owned));
            words.extend([
                "-e".to_owned(),
                format!("trace={call}"),
                "-e".to_owned(),
                format!("inject={injection}"),
            ]);
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kill_at_the_first_passing_needs_no_off() {
        assert_eq!(Launch::kill_at("enqueued", 1).failpoints.as_deref(), Some("enqueued=0*off->return"));
        assert_eq!(Launch::kill_at("enqueued", 5).failpoints.as_deref(), Some("enqueued=4*off->return"));
    }

    #[test]
    fn strace_follows_the_tmpfs_so_that_the_engine_stays_our_child() {
        let launch = Launch { small_state_kib: Some(64), ..Launch::inject("rename", "signal=KILL", 3) };
        let folder = tempfile::tempdir().unwrap();

        let words = launch.wrapping(folder.path()).join(" ");

        assert!(words.starts_with("unshare -Urm sh -c mount"), "{words}");
        assert!(words.contains("setpriv --pdeathsig KILL strace -D -f"), "{words}");
        assert!(words.ends_with("-e trace=rename -e inject=rename:signal=KILL:when=3"), "{words}");
    }
}
