//! Addresses of ports in lines between processes.
//!
//! The text of a line may be no address. Used by `net`, `layer` and `doctor`; uses `dev-ether`, which encodes
//! addresses as bytes.

use hawser_base::hex;
use hawser_dev_ether::port::PortAddress;

pub fn encode_address(address: &PortAddress) -> String {
    let mut bytes = Vec::new();
    address.encode(&mut bytes);
    hex::encode(&bytes)
}

pub fn decode_address(text: &str) -> Option<PortAddress> {
    PortAddress::decode(&hex::decode(text)?).ok().map(|(address, _)| address)
}
