//! The methods of transfer for each kind of peer, as `hawser-info --methods` shows them, and the limits of a route from
//! which they follow.
//!
//! It opens no device: the limits are those that the devices of a rank on this host would report. Used by the root of
//! this crate, which makes a rank's limits from those of its devices, and by `launch`; uses `p2p::matching`.

use crate::params;
use hawser_base::param::Param;
use hawser_base::{Error, Peer, Result};
use hawser_dev_ether::EtherDevice;
use hawser_dev_shm::ShmDevice;
use hawser_device::{Device, DeviceLimits, Fragmentation, Loopback, PREFIX_MAX};
use hawser_job::HostFacts;
use hawser_p2p::matching::ProtocolLimits;
use hawser_p2p::matching::method_table::{MethodRow, RouteFigures, table};
use hawser_p2p::wire::EAGER_FIRST_PREFIX;

/// The MTUs, in bytes, for which the methods between hosts are shown: usual Ethernet, and jumbo frames.
const SHOWN_MTUS: [usize; 2] = [1500, 9000];

/// Returns the limits of the route by a device. Both ends of a route get the same: they follow from the job-wide
/// parameters (`job_settings`) and from what the device has alike on both ends.
pub(crate) fn route_limits(device: &DeviceLimits) -> Result<ProtocolLimits> {
    let packet = params::PACKET.number()?.min((device.packet - PREFIX_MAX) as u64);
    let eager = params::EAGER.number_or(device.eager as u64)?.max(packet);
    let window_max = if params::EAGER.text().is_empty() { params::WINDOW_MAX_BYTES } else { u64::MAX };
    let credit = params::WINDOW.number_or(window_max.min(params::WINDOW_EAGERS * eager))?.max(eager);
    let offer_from = params::OFFER_FROM.number_or(eager + 1)?;
    let join_max = params::JOIN.number_or(device.join_max as u64)?.min(device.join_max as u64).min(eager);
    let at_least = |least: u64, from: Option<usize>| from.map_or(ProtocolLimits::NEVER, |from| least.max(from as u64));
    Ok(ProtocolLimits {
        packet,
        eager,
        first: packet.min(params::FIRST.number()?),
        rtr_from: if params::RTR.flag()? { offer_from } else { ProtocolLimits::NEVER },
        reply_from: offer_from,
        read_from: at_least(packet + 1, device.remote_read_from),
        private_read_from: one_copy_from(device.private_read_from, packet, eager),
        copy_trial_from: one_copy_from(device.copy_trial_from, packet, eager),
        write_from: packet + 1,
        zero_copy_from: at_least(0, device.zero_copy_from),
        stream_from: at_least(1, device.stream_from),
        join_below: if join_max > 0 { offer_from.min(join_max + 1) } else { 0 },
        credit,
    })
}

/// Returns the length, in bytes, from which a message is, or may be, read from the sender's private memory; `from` is
/// the device's. If the user has named no such length, the lengths that the user has named for other methods hold.
fn one_copy_from(from: Option<usize>, packet: u64, eager: u64) -> u64 {
    let Some(from) = from else { return ProtocolLimits::NEVER };
    let from = (packet + 1).max(from as u64);
    let is_given = |param: &Param| !param.text().is_empty();
    if is_given(&hawser_dev_shm::PROCESS_VM_FROM) {
        from
    } else if is_given(&params::OFFER_FROM) {
        ProtocolLimits::NEVER
    } else if is_given(&params::EAGER) {
        from.max(eager + 1)
    } else {
        from
    }
}

/// Returns the methods to peers of a kind, which is the name of the device that reaches them (`devices`), for this
/// process's parameters: one table with its title, or several if the route has several forms. `ranks`: the number of
/// ranks on this host, of which `facts` are known.
pub fn tables(kind: &str, facts: &HostFacts, ranks: usize) -> Result<Vec<(String, Vec<MethodRow>)>> {
    let shown = |title: String, device: DeviceLimits| Ok((title, table(&figures(&device)?)));
    match kind {
        Loopback::NAME => Ok(vec![shown("to the rank itself (self)".into(), Loopback::new(Peer(0)).limits())?]),
        ShmDevice::NAME => {
            let title = format!("to a rank of the same host (shm), {ranks} ranks on the host");
            Ok(vec![shown(title, hawser_dev_shm::limits(facts, ranks))?])
        }
        EtherDevice::NAME => {
            let title = |mtu| format!("to a rank of another host (ether), MTU {mtu}");
            SHOWN_MTUS.iter().map(|&mtu| shown(title(mtu), hawser_dev_ether::limits_by_mtu(mtu))).collect()
        }
        _ => {
            let kinds = crate::devices().collect::<Vec<_>>().join(", ");
            let text = format!("\"{kind}\" is no kind of peer; choose one of {kinds}");
            Err(Error::new(hawser_base::Class::Arg, text))
        }
    }
}

/// Returns a route as `p2p::send` sees it if the device is free.
fn figures(device: &DeviceLimits) -> Result<RouteFigures> {
    let limits = route_limits(device)?;
    let packet = (device.max_single_packet() - EAGER_FIRST_PREFIX) as u64;
    let first = match device.fragmentation {
        Fragmentation::Frames(_) => packet,
        Fragmentation::Pages(_) => limits.first,
    };
    Ok(RouteFigures { limits, packet, first })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_peer_has_tables_and_no_other() {
        for kind in crate::devices() {
            let tables = tables(kind, &HostFacts::default(), 2).unwrap();
            assert!(!tables.is_empty() && tables.iter().all(|(_, rows)| rows.len() >= 4), "{kind}");
        }
        let error = tables("tcp", &HostFacts::default(), 2).unwrap_err();
        assert_eq!(error.cause(), "\"tcp\" is no kind of peer; choose one of self, shm, ether");
    }

    /// `dev-ether` keeps as many bytes for a peer as the peer's credit has (`RETAINED_MAX_BYTES`).
    #[test]
    fn the_credit_between_hosts_is_what_a_sender_keeps() {
        let credit = |device: DeviceLimits| route_limits(&device).unwrap().credit;
        assert_eq!(credit(hawser_dev_ether::limits_by_mtu(1500)), hawser_dev_ether::RETAINED_MAX_BYTES as u64);
        assert_eq!(credit(hawser_dev_shm::limits(&HostFacts::default(), 2)), 1 << 20);
    }

    #[test]
    fn a_packet_is_a_frame_between_hosts_and_a_piece_in_memory() {
        let begins = |kind| {
            let tables = tables(kind, &HostFacts::default(), 2).unwrap();
            tables.iter().map(|(_, rows)| rows[0].methods[1].0).collect::<Vec<_>>()
        };
        assert_eq!(begins("shm"), [(16 << 10) + 1]);
        assert!(matches!(begins("ether")[..], [short, long] if short < 1500 && 8000 < long && long < 9000));
    }
}
