//! What the system knows about this process and this machine, read from `/proc`.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Two looks closer than this give shares that are mostly rounding.
const BETWEEN_LOOKS_MIN: Duration = Duration::from_millis(250);

/// A look at the process and the machine. Where `/proc` does not answer, the figures are zero.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Usage {
    /// CPU time the process used, in seconds.
    pub(crate) cpu_seconds: f64,
    /// CPU time all processes used, in seconds.
    pub(crate) machine_used_seconds: f64,
    /// CPU time the machine had, used or not, in seconds of all cores together.
    pub(crate) machine_all_seconds: f64,
    /// Memory of the process that is in RAM, in bytes.
    pub(crate) resident_bytes: u64,
    /// Memory of the machine, in bytes.
    pub(crate) total_bytes: u64,
    /// Memory that programs could still have, in bytes.
    pub(crate) available_bytes: u64,
    /// Threads of the process.
    pub(crate) threads: u64,
    /// Open file descriptors.
    pub(crate) open_files: u64,
}

impl Usage {
    /// Looks now. Reads five small files of `/proc`; they do not touch a disk.
    pub(crate) fn now() -> Usage {
        let read = |name: &str| std::fs::read_to_string(name).unwrap_or_default();
        let (status, memory) = (read("/proc/self/status"), read("/proc/meminfo"));
        let ticks_per_second = rustix::param::clock_ticks_per_second() as f64;
        let machine = machine_ticks(&read("/proc/stat"));
        Usage {
            cpu_seconds: process_ticks(&read("/proc/self/stat")) as f64 / ticks_per_second,
            machine_used_seconds: machine.used as f64 / ticks_per_second,
            machine_all_seconds: machine.all as f64 / ticks_per_second,
            resident_bytes: kibibytes(&status, "VmRSS:"),
            total_bytes: kibibytes(&memory, "MemTotal:"),
            available_bytes: kibibytes(&memory, "MemAvailable:"),
            threads: number(&status, "Threads:"),
            open_files: std::fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64),
        }
    }
}

/// CPU in per cent, between two looks.
#[derive(Debug)]
pub(crate) struct Meter {
    last: Mutex<(Instant, Usage, Percent)>,
}

/// Shares of CPU time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Percent {
    /// Of this process; 100 is one core.
    pub(crate) process: f64,
    /// Of the machine; 100 is all cores.
    pub(crate) machine: f64,
}

impl Meter {
    /// Begins with a look now.
    pub(crate) fn new() -> Meter {
        Meter { last: Mutex::new((Instant::now(), Usage::now(), Percent::default())) }
    }

    /// Looks again, and tells the shares since the look before.
    pub(crate) fn read(&self) -> (Usage, Percent) {
        let (at, usage) = (Instant::now(), Usage::now());
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let elapsed = at.duration_since(last.0);
        if elapsed < BETWEEN_LOOKS_MIN {
            return (usage, last.2);
        }
        let percent = between(last.1, usage, elapsed);
        *last = (at, usage, percent);
        (usage, percent)
    }
}

fn between(before: Usage, now: Usage, elapsed: Duration) -> Percent {
    let machine = now.machine_all_seconds - before.machine_all_seconds;
    Percent {
        process: 100.0 * (now.cpu_seconds - before.cpu_seconds) / elapsed.as_secs_f64(),
        machine: match machine > 0.0 {
            true => 100.0 * (now.machine_used_seconds - before.machine_used_seconds) / machine,
            false => 0.0,
        },
    }
}

/// When the process began, on both clocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Started {
    wall: SystemTime,
    monotonic: Instant,
}

impl Started {
    /// Now.
    pub(crate) fn now() -> Started {
        Started { wall: SystemTime::now(), monotonic: Instant::now() }
    }

    /// Since the epoch.
    pub(crate) fn since_epoch(self) -> Duration {
        self.wall.duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    /// How long it runs.
    pub(crate) fn elapsed(self) -> Duration {
        self.monotonic.elapsed()
    }
}

/// User and system time of `/proc/self/stat`. The name in parentheses may hold blanks and parentheses.
fn process_ticks(stat: &str) -> u64 {
    const USER_AFTER_NAME: usize = 11;
    let Some((_, fields)) = stat.rsplit_once(')') else { return 0 };
    fields
        .split_whitespace()
        .skip(USER_AFTER_NAME)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum()
}

#[derive(Debug, PartialEq, Eq)]
struct MachineTicks {
    used: u64,
    all: u64,
}

/// The first line of `/proc/stat`: user nice system idle iowait irq softirq steal; guest time is contained in user.
fn machine_ticks(stat: &str) -> MachineTicks {
    const FIELDS: usize = 8;
    let fields = stat.lines().next().unwrap_or_default().split_whitespace().skip(1).take(FIELDS);
    let ticks: Vec<u64> = fields.map(|field| field.parse().unwrap_or(0)).collect();
    let all = ticks.iter().sum();
    // Neither idle time nor waiting for a disk is use.
    let unused: u64 = ticks.iter().skip(3).take(2).sum();
    MachineTicks { used: all - unused, all }
}

fn kibibytes(text: &str, name: &str) -> u64 {
    number(text, name) * 1024
}

fn number(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()).and_then(|word| word.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_process_cannot_shift_its_fields() {
        let stat = "42 (a) b (c) S 1 42 42 0 -1 4194560 100 0 0 0 70 30 5 6 20 0 4 0 100 1 2";
        assert_eq!(process_ticks(stat), 100);
    }

    #[test]
    fn idle_time_and_waiting_for_a_disk_are_not_used_time() {
        let ticks = machine_ticks("cpu  10 1 5 1000 500 2 3 4 7 0\ncpu0 1 1 1");
        assert_eq!(ticks, MachineTicks { used: 25, all: 1525 });
    }

    #[test]
    fn shares_are_of_the_time_between_two_looks() {
        let before = Usage {
            cpu_seconds: 10.0,
            machine_used_seconds: 100.0,
            machine_all_seconds: 1000.0,
            ..Usage::default()
        };
        let now = Usage {
            cpu_seconds: 11.0,
            machine_used_seconds: 103.0,
            machine_all_seconds: 1004.0,
            ..Usage::default()
        };
        assert_eq!(between(before, now, Duration::from_secs(2)), Percent { process: 50.0, machine: 75.0 });
    }

    #[test]
    fn this_process_has_memory_threads_and_files() {
        let usage = Usage::now();
        assert!(usage.resident_bytes > 1_000_000 && usage.total_bytes > usage.resident_bytes);
        assert!(usage.threads >= 1 && usage.open_files >= 3);
    }
}
