//! A record in the shape in which librdkafka takes it.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr;

use rdkafka::types::RDKafkaMessage as Raw;
use rdkafka::types::RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR as NO_ERROR;

/// One record in librdkafka's own layout, borrowing its bytes.
#[repr(transparent)]
pub(crate) struct Message<'a>(pub(crate) Raw, PhantomData<&'a [u8]>);

impl<'a> Message<'a> {
    pub(crate) fn new(payload: Option<&'a [u8]>, key: Option<&'a [u8]>, opaque: usize) -> Message<'a> {
        let (payload, len) = payload.map_or((ptr::null_mut(), 0), |b| (b.as_ptr() as *mut _, b.len()));
        let (key, key_len) = key.map_or((ptr::null_mut(), 0), |b| (b.as_ptr() as *mut _, b.len()));
        let (err, rkt, _private) = (NO_ERROR, ptr::null_mut(), opaque as *mut c_void);
        Message(Raw { err, rkt, partition: 0, payload, len, key, key_len, offset: 0, _private }, PhantomData)
    }
}
