//! The known properties of the machine of a record, by name, for people. An import knows none.
//!
//! It must not name a property that is not known. Used by `merge`, `page`, `csv`; uses the record.

use crate::record::MachineInfo;

pub fn known_properties(machine: &MachineInfo) -> Vec<(&'static str, String)> {
    let MachineInfo { host, processor, cores, memory_bytes, kernel, between } = machine;
    let number = |number: u64, text: String| if number > 0 { text } else { String::new() };
    let memory_gib = *memory_bytes as f64 / f64::from(1 << 30);
    let fields = [
        ("host", host.clone()),
        ("processor", processor.clone()),
        ("cores", number(*cores as u64, cores.to_string())),
        ("memory", number(*memory_bytes, format!("{memory_gib:.1} GiB"))),
        ("kernel", kernel.clone()),
        ("between the ends", between.clone()),
    ];
    fields.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}
