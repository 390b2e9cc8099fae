//! Which seeds a run tries: `SIM_SEED=N SIM_SEEDS=K` are K from N on; a seed alone is that one (`make sim`).

use std::ops::Range;

/// `unasked`: how many from 1 on, of a run that names none.
pub fn seeds(unasked: u64) -> Range<u64> {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    let first = number("SIM_SEED").unwrap_or(1);
    first..first + number("SIM_SEEDS").unwrap_or(if number("SIM_SEED").is_some() { 1 } else { unasked })
}
