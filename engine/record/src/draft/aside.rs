//! A record that failed: nacked with its batch, left out, or filed once more as it came, for the dead-letter topic.

use std::io::Write as _;

use picomq_connector_sdk::Schema;
use picomq_connector_sdk::ffi::host::RecordView;

use super::{Draft, Place, header_bytes, span};
use crate::error::RouteFailure;
use crate::fault::Fault;
use crate::path::RecordPath;
use crate::policy::{Action, DeadLetters, RecordFault, error_header, header_message, header_position};
use crate::routed::{Entry, Extra, Span};
use crate::topics::TopicId;

/// A record that failed, with what is known of it.
pub(crate) struct Failed<'a> {
    pub(crate) record: RecordView<'a>,
    pub(crate) schema: Schema,
    pub(crate) place: Place,
    pub(crate) fault: Fault,
}

impl Draft {
    /// Does with a record what `[errors]` says; the draft holds nothing of it by now.
    ///
    /// # Errors
    /// Its batch is to be nacked: the policy says so, the ceiling is reached, the record does not fit into the
    /// dead-letter topic, or the fault is not the record's own.
    #[cold]
    pub(crate) fn settle(&mut self, path: &RecordPath, failed: &Failed<'_>) -> Result<(), RouteFailure> {
        let Failed { record, place, fault, .. } = failed;
        let failure = RouteFailure::of_record(fault, place.index as usize, record.id);
        if !fault.is_of_the_record() {
            return Err(failure);
        }
        let letters = match &path.policy.action {
            Action::Nack => return Err(failure),
            Action::Skip => None,
            Action::SetAside(letters) => Some(letters),
        };
        if letters.is_some() {
            let bytes = original_bytes(record);
            if bytes > path.record_bytes {
                return Err(failure.too_large_to_set_aside(bytes));
            }
        }
        if let Err(most) = path.policy.count() {
            return Err(failure.past_ceiling(most));
        }
        match letters {
            None => self.skipped += 1,
            Some(letters) => self.set_aside(path, letters, failed, &failure.message)?,
        }
        let (stage, code) = (fault.stage(), fault.code());
        self.faults.push(RecordFault { index: place.index, stage, code, message: failure.message });
        Ok(())
    }

    fn set_aside(
        &mut self,
        path: &RecordPath,
        letters: &DeadLetters,
        failed: &Failed<'_>,
        message: &str,
    ) -> Result<(), RouteFailure> {
        let Failed { record, place, .. } = failed;
        let before = self.arena.len();
        let extras = self.write_error_headers(path, letters, failed, message).map_err(|fault| {
            // The arena is full: that is a fault of the batch.
            RouteFailure::of_record(&fault, place.index as usize, record.id)
        })?;
        let names: usize = error_header::ALL.iter().map(|name| name.len()).sum();
        self.bytes += original_bytes(record) + (names + self.arena.len() - before) as u64;
        self.dead_letters += 1;
        let entry = Entry { record: place.index, payload: None, key: None, extras };
        self.file(letters.topic, entry, &path.topics);
        Ok(())
    }

    fn write_error_headers(
        &mut self,
        path: &RecordPath,
        letters: &DeadLetters,
        failed: &Failed<'_>,
        message: &str,
    ) -> Result<Span, Fault> {
        let Failed { record, schema, place, fault } = failed;
        let first = self.extras.len();
        let topic = self.meant.or(path.only_topic()).map(|topic: TopicId| path.topics.get(topic));
        for (name, number) in error_header::ALL.into_iter().zip(letters.names) {
            let start = self.arena.len();
            let out = &mut self.arena;
            match name {
                error_header::STAGE => out.extend_from_slice(fault.stage().as_str().as_bytes()),
                error_header::CODE => out.extend_from_slice(fault.code().as_bytes()),
                error_header::MESSAGE => out.extend_from_slice(header_message(message).as_bytes()),
                error_header::SOURCE => out.extend_from_slice(letters.source.as_bytes()),
                error_header::TOPIC => match topic {
                    Some(topic) => out.extend_from_slice(topic.name.as_bytes()),
                    None => continue,
                },
                error_header::POSITION => match record.id {
                    Some(id) => out.extend_from_slice(header_position(id).as_bytes()),
                    None => place.write_short(out),
                },
                error_header::TIMESTAMP => {
                    write!(out, "{}", path.policy.now.unix_ms).expect("memory takes every write");
                }
                _schema => out.extend_from_slice(schema.as_str().as_bytes()),
            }
            self.extras.push(Extra { name: number, value: span(start, self.arena.len())? });
        }
        span(first, self.extras.len())
    }
}

/// Payload, key, headers and id as the plugin gave them.
fn original_bytes(record: &RecordView<'_>) -> u64 {
    let key = record.key.map_or(0, <[u8]>::len);
    let payload = record.payload.map_or(0, <[u8]>::len);
    (payload + key + header_bytes(record)) as u64
}
