//! The partitions of the sender for which a partition of the receiver waits, and numbers that wrap around.

use super::*;

fn plan(partitions: u32, bytes: u64) -> PartitionPlan {
    PartitionPlan { partitions, bytes, first: 0 }
}

#[test]
fn a_partition_waits_for_all_that_have_bytes_of_it_and_for_no_other() {
    for (ours, theirs) in (0..=12u32).flat_map(|ours| (1..=12u32).map(move |theirs| (ours, theirs))) {
        for (length, total) in (0..=4u64).flat_map(|length| (0..=4u64).map(move |total| (length, total))) {
            let (plan, bytes) = (plan(ours, length), total * u64::from(theirs));
            for partition in 0..theirs {
                let place = u64::from(partition) * total..u64::from(partition + 1) * total;
                let touches = |n: &u32| {
                    let sent = u64::from(*n) * length..u64::from(*n + 1) * length;
                    sent.start < place.end && place.start < sent.end
                };
                let wanted: Vec<u32> = (0..ours).filter(touches).collect();
                let found: Vec<u32> = plan.covering_partitions(partition, theirs, bytes).collect();
                if wanted.is_empty() {
                    assert!(
                        length * total == 0 || found.len() == ours as usize,
                        "{plan:?} {partition}/{theirs} {bytes}"
                    );
                } else {
                    assert_eq!(found, wanted, "{plan:?} {partition}/{theirs} of {bytes}");
                }
            }
        }
    }
}

#[test]
fn partitions_without_bytes_are_as_those_with() {
    for (ours, theirs) in (1..=12).flat_map(|ours| (1..=12).map(move |theirs| (ours, theirs))) {
        let (empty, full) = (plan(ours, 0), plan(ours, u64::from(theirs)));
        let bytes = u64::from(ours) * u64::from(theirs);
        for partition in 0..theirs {
            assert_eq!(
                empty.covering_partitions(partition, theirs, 0),
                full.covering_partitions(partition, theirs, bytes)
            );
        }
    }
}

#[test]
fn the_largest_plan_does_not_overflow() {
    let (most, half) = (i32::MAX as u32, u64::MAX / 2);
    let plan = plan(most, half / u64::from(most));
    assert_eq!(plan.covering_partitions(most - 1, most, plan.total() as u64), most - 1..most);
    assert_eq!(plan.covering_partitions(0, 1, plan.total() as u64), 0..most);
}

#[test]
fn an_introduction_comes_back_as_it_was_and_nonsense_does_not() {
    let bytes = |plan: PartitionPlan| <[u8; PartitionPlan::BYTES]>::try_from(plan.encode()).unwrap();
    let good = PartitionPlan { partitions: 7, bytes: 1 << 40, first: i32::MAX as u32 - 6 };
    assert_eq!(PartitionPlan::decode(&bytes(good)), Some(good));
    assert_eq!((good.tag(0), good.tag(6)), (!(i32::MAX - 6), i32::MIN));
    assert_eq!(PartitionPlan::decode(&bytes(PartitionPlan { partitions: 8, ..good })), None);
    assert_eq!(PartitionPlan::decode(&bytes(PartitionPlan { bytes: 1 << 61, ..good })), None);
    assert_eq!(PartitionPlan::decode(&[0xff; PartitionPlan::BYTES]), None);
}

#[test]
fn numbers_in_use_are_passed_over() {
    let live = [10..20, 30..40, PARTITION_NUMBERS - 5..PARTITION_NUMBERS];
    let free = |next, count| free_numbers(next, count, live.iter().cloned());
    assert_eq!(free(0, 10), Some(0));
    assert_eq!(free(0, 11), Some(40));
    assert_eq!(free(15, 10), Some(20));
    assert_eq!(free(PARTITION_NUMBERS - 7, 2), Some(PARTITION_NUMBERS - 7));
    assert_eq!(free(PARTITION_NUMBERS - 7, 3), Some(0), "it goes round");
    assert_eq!(free(PARTITION_NUMBERS + 12, 1), Some(20));
    assert_eq!(free(3, PARTITION_NUMBERS - 45), Some(40));
    assert_eq!(free(3, PARTITION_NUMBERS - 44), None);
    assert_eq!(free_numbers(9, PARTITION_NUMBERS, std::iter::empty()), Some(0));
}
