//! Every predefined type of both ABIs has its row, with the size that its handle encodes.

use hawser_datatype::Basic;
use std::collections::HashMap;

/// Names and values of the datatype handles of one ABI's table.
fn handles(file: &str) -> Vec<(String, i64)> {
    let path = format!("{}/../abi/tables/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let rows = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let types = rows.filter(|row| row[3] == "handle:datatype" && row[0] != "MPI_DATATYPE_NULL");
    types.map(|row| (row[0].to_owned(), row[1].parse().unwrap())).collect()
}

/// The row of a name or of the name that it is a synonym of.
fn row(name: &str) -> Basic {
    let name = match name {
        "MPI_LONG_LONG" => "MPI_LONG_LONG_INT",
        "MPI_C_FLOAT_COMPLEX" => "MPI_C_COMPLEX",
        name => name,
    };
    *Basic::ALL.iter().find(|b| b.name() == name).unwrap_or_else(|| panic!("{name} has no row"))
}

#[test]
fn every_type_of_the_mpich_abi_has_a_row_of_its_size() {
    let handles = handles("mpich_constants.tsv");
    assert!(handles.len() > 70, "{} handles read", handles.len());
    for (name, value) in handles {
        // Builtin handles (0x4c......) hold the size in bits 8 to 15.
        if value >> 24 == 0x4c {
            assert_eq!(row(&name).size(), value as u64 >> 8 & 0xff, "{name}");
        } else {
            assert_eq!(row(&name).elements(), 2, "{name} is a pair");
        }
    }
}

#[test]
fn every_type_of_the_standard_abi_has_a_row_of_its_size() {
    let handles = handles("abi_constants.tsv");
    assert!(handles.len() > 60, "{} handles read", handles.len());
    let mut rows: HashMap<i64, Basic> = HashMap::new();
    for (name, value) in handles {
        let basic = row(&name);
        assert_eq!(*rows.entry(value).or_insert(basic), basic, "{name} is a synonym");
        // Handles from 0x240 on hold the binary logarithm of the size in bits 3 to 5.
        if value >= 0x240 {
            assert_eq!(basic.size(), 1 << (value >> 3 & 7), "{name}");
        }
    }
}

#[test]
fn no_row_is_in_neither_abi() {
    let both = [handles("mpich_constants.tsv"), handles("abi_constants.tsv")].concat();
    for basic in Basic::ALL {
        assert!(both.iter().any(|(name, _)| row(name) == *basic), "{}", basic.name());
    }
}
