//! What the safe binding lacks: produce by topic handle, metadata of the topics in use, topic creation with the
//! broker's own words. The only unsafe code of the engine's adapters.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use rdkafka::bindings as rd;
use rdkafka::producer::Producer as _;
use rdkafka::types::RDKafkaErrorCode as Code;
use rdkafka::types::RDKafkaRespErr::{self, RD_KAFKA_RESP_ERR_NO_ERROR as NO_ERROR};

use crate::answers::{Creation, Seen};
use crate::context::Producer;
use crate::message::Message;

/// A topic as its client knows it.
pub(crate) struct Handle(NonNull<rd::rd_kafka_topic_t>, Arc<Producer>);

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: our own reference, given back once; the producer, the other field, outlives this call.
        unsafe { rd::rd_kafka_topic_destroy(self.0.as_ptr()) }
    }
}

impl Handle {
    pub(crate) fn open(producer: &Arc<Producer>, name: &CStr) -> Result<Handle, Code> {
        // SAFETY: a live client; the name is copied; null: the client's topic settings.
        let topic = unsafe { rd::rd_kafka_topic_new(native(producer), name.as_ptr(), ptr::null_mut()) };
        Ok(Handle(NonNull::new(topic).ok_or(Code::InvalidTopic)?, producer.clone()))
    }

    /// Enqueues copies in order up to the first refusal, unless that was for size: how many went in, why no more.
    pub(crate) fn produce(&self, partition: i32, messages: &mut [Message<'_>]) -> (usize, Option<Code>) {
        let (topic, copy) = (self.0.as_ptr(), rd::RD_KAFKA_MSG_F_COPY);
        let (first, count) = (messages.as_mut_ptr().cast(), messages.len() as i32);
        // SAFETY: `Message` is transparent, so this is an array of `count` messages; what they borrow is copied.
        let accepted = unsafe { rd::rd_kafka_produce_batch(topic, partition, copy, first, count) };
        (accepted as usize, messages.iter().find_map(|message| result(message.0.err).err()))
    }

    /// Enqueues a copy of one record with headers and a timestamp (0: now).
    pub(crate) fn produce_one<'h>(
        &self,
        (partition, timestamp_ms): (i32, i64),
        message: &Message<'_>,
        headers: impl Iterator<Item = (&'h str, &'h [u8])>,
    ) -> Result<(), Code> {
        use rd::rd_kafka_vtype_t::*;
        let m = &message.0;
        // SAFETY: header bytes are copied by their lengths; each tag has the arguments that librdkafka's manual
        // gives it; payload and key are copied. It owns the list of headers unless it answers with an error.
        unsafe {
            let list = rd::rd_kafka_headers_new(headers.size_hint().0.max(1));
            for (name, value) in headers {
                let (name, name_len) = (name.as_ptr().cast(), name.len() as isize);
                rd::rd_kafka_header_add(list, name, name_len, value.as_ptr().cast(), value.len() as isize);
            }
            #[rustfmt::skip]
            let error = rd::rd_kafka_producev(
                native(&self.1), RD_KAFKA_VTYPE_RKT, self.0.as_ptr(), RD_KAFKA_VTYPE_PARTITION, partition,
                RD_KAFKA_VTYPE_MSGFLAGS, rd::RD_KAFKA_MSG_F_COPY, RD_KAFKA_VTYPE_VALUE, m.payload, m.len,
                RD_KAFKA_VTYPE_KEY, m.key, m.key_len, RD_KAFKA_VTYPE_OPAQUE, m._private,
                RD_KAFKA_VTYPE_TIMESTAMP, timestamp_ms, RD_KAFKA_VTYPE_HEADERS, list, RD_KAFKA_VTYPE_END,
            );
            result(error).inspect_err(|_| rd::rd_kafka_headers_destroy(list))
        }
    }
}

/// What the broker says of every topic with a handle: how many partitions it has, or why it cannot be had.
pub(crate) fn metadata(producer: &Producer, wait_ms: i32) -> Result<Vec<Seen>, Code> {
    // SAFETY: on success `found` holds `topic_cnt` topics with terminated names, and is ours until destroyed.
    unsafe {
        let mut found = ptr::null();
        result(rd::rd_kafka_metadata(native(producer), 0, ptr::null_mut(), &mut found, wait_ms))?;
        let topics = (0..(*found).topic_cnt as usize).map(|at| *(*found).topics.add(at));
        let seen = topics.map(|t| (text(t.topic), result(t.err).map(|()| t.partition_cnt))).collect();
        rd::rd_kafka_metadata_destroy(found);
        Ok(seen)
    }
}

/// Asks for topics of one partition, each with its settings, in one request, and waits while `is_wanted`.
pub(crate) fn create_topics<'t>(
    producer: &Producer,
    topics: impl Iterator<Item = (&'t CStr, &'t [(CString, CString)])>,
    replication: i32,
    is_wanted: impl Fn() -> bool,
) -> Result<Vec<Creation>, Code> {
    // SAFETY: strings are terminated and copied, and so is the list of topics. The queue may go before the answer,
    // which is then dropped by the library. The results and their strings live until the event is destroyed.
    unsafe {
        let mut asked = Vec::new();
        for (name, settings) in topics {
            asked.push(rd::rd_kafka_NewTopic_new(name.as_ptr(), 1, replication, ptr::null_mut(), 0));
            for (name, value) in settings {
                rd::rd_kafka_NewTopic_set_config(asked[asked.len() - 1], name.as_ptr(), value.as_ptr());
            }
        }
        let queue = rd::rd_kafka_queue_new(native(producer));
        rd::rd_kafka_CreateTopics(native(producer), asked.as_mut_ptr(), asked.len(), ptr::null(), queue);
        rd::rd_kafka_NewTopic_destroy_array(asked.as_mut_ptr(), asked.len());
        let mut event: *mut rd::rd_kafka_event_t = ptr::null_mut();
        while event.is_null() && is_wanted() {
            event = rd::rd_kafka_queue_poll(queue, 100);
        }
        rd::rd_kafka_queue_destroy(queue);
        let event = NonNull::new(event).ok_or(Code::OperationTimedOut)?.as_ptr();
        let (whole, mut count, mut answers) = (result(rd::rd_kafka_event_error(event)), 0, Vec::new());
        if whole.is_ok() {
            let list = rd::rd_kafka_event_CreateTopics_result(event);
            let list = rd::rd_kafka_CreateTopics_result_topics(list, &mut count);
            for topic in (0..count).map(|at| *list.add(at)) {
                let words = || text(rd::rd_kafka_topic_result_error_string(topic));
                let refused = result(rd::rd_kafka_topic_result_error(topic)).map_err(|code| (code, words()));
                answers.push((text(rd::rd_kafka_topic_result_name(topic)), refused));
            }
        }
        rd::rd_kafka_event_destroy(event);
        whole.map(|()| answers)
    }
}

/// SAFETY: `words` is a terminated string, as every name and message of librdkafka is.
unsafe fn text(words: *const c_char) -> String {
    unsafe { CStr::from_ptr(words) }.to_string_lossy().into_owned()
}

fn result(error: RDKafkaRespErr) -> Result<(), Code> {
    if error == NO_ERROR { Ok(()) } else { Err(error.into()) }
}

fn native(producer: &Producer) -> *mut rd::rd_kafka_t {
    producer.client().native_ptr()
}

/// Sets numbers of glibc's allocator; whether it took them all.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn set_allocator(bounds: &[(i32, i32)]) -> bool {
    // SAFETY: each call sets one number, under the allocator's lock; a refusal changes nothing.
    bounds.iter().all(|(what, most)| unsafe { libc::mallopt(*what, *most) } == 1)
}
