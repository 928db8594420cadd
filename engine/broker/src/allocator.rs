//! Bounds for glibc's allocator, from which librdkafka and the plugins take their memory; why these, and what they are
//! worth: docs/decisions/0021.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
const BOUNDS: [(libc::c_int, libc::c_int); 3] = [
    // Arenas of the process: a record is taken on one thread and given back on another.
    (libc::M_ARENA_MAX, 4),
    // What is as large, as a plugin's batch is, goes back to the system as soon as it is freed.
    (libc::M_MMAP_THRESHOLD, 512 << 10),
    // So much may lie free at the end of an arena.
    (libc::M_TRIM_THRESHOLD, 4 << 20),
];

/// Bounds what the C library's allocator holds back. For the beginning of the process, before it has threads. Does
/// nothing where that is another C library than glibc.
pub fn bound_allocator() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        let is_taken = crate::native::set_allocator(&BOUNDS);
        debug_assert!(is_taken, "glibc refuses numbers that its manual allows");
    }
}
