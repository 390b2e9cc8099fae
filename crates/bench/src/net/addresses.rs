//! Addresses of ports in lines between processes.
//!
//! The text of a line may be no address. Used by `near`, `far` and `doctor`; uses `dev-ether`, which has their bytes.

use crate::hex;
use hawser_dev_ether::port::Address;

pub fn written(address: &Address) -> String {
    let mut bytes = Vec::new();
    address.encode(&mut bytes);
    hex::written(&bytes)
}

pub fn read(text: &str) -> Option<Address> {
    Address::decode(&hex::read(text)?).ok().map(|(address, _)| address)
}
