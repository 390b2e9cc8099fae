//! What is known of the machine that a record is of, by name, as people read it. An import knows nothing of it.
//!
//! It must not name what is not known. Before it: the record; after it: `merge`, `page`, `csv`.

use crate::record::Machine;

pub fn known(machine: &Machine) -> Vec<(&'static str, String)> {
    let Machine { host, processor, cores, memory_bytes, kernel, between } = machine;
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
