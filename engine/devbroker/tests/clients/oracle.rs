//! The oracle: append, then cut the connection before the answer, on every 7th Produce request.
//!
//! With idempotence a real client ends with every record once and in order; without, the same fault shows as duplicates.
//! The second half proves that the first could fail.

use super::programs::{broker_with, duplicates, numbers, python, values};

const RECORDS: usize = 1_000;
const CUT_EVERY: u32 = 7;

#[tokio::test]
async fn with_idempotence_every_record_is_there_once_and_in_order() {
    let broker = broker_with(&["t"]).await;
    broker.handle().faults().cut_every(CUT_EVERY);

    let count = RECORDS.to_string();
    let produced = python(&broker, &["produce", "t", &count, "enable.idempotence=true"]).await;

    assert_eq!(produced["delivered"], RECORDS);
    let cut = broker.handle().faults().counts().cut;
    assert!(cut >= 10, "the fault struck {cut} times");
    assert_eq!(values(&broker, "t"), numbers(RECORDS));
}

#[tokio::test]
async fn without_idempotence_the_same_fault_repeats_records() {
    let broker = broker_with(&["t"]).await;
    broker.handle().faults().cut_every(CUT_EVERY);

    let count = RECORDS.to_string();
    let produced = python(&broker, &["produce", "t", &count, "enable.idempotence=false"]).await;

    assert_eq!(produced["delivered"], RECORDS);
    let values = values(&broker, "t");
    let repeated = duplicates(&values);
    assert!(repeated > 0, "the fault shows");
    assert_eq!(values.len() - repeated, RECORDS, "nothing is lost all the same");
}
