//! The choices of `method` as a table for people (`hawser-info --methods`): for each situation, the method by length.
//!
//! The table has no rules of its own: it calls the functions of `method` at each length at which their result can
//! change. Used by `node`; uses `method`.

use super::limits::ProtocolLimits;
use super::method::{self, Announcement, RestMethod, SendFacts, SendMethod};

/// A route as a sender sees it.
#[derive(Clone, Copy, Debug)]
pub struct RouteFigures {
    pub limits: ProtocolLimits,
    /// Longest payload that is best sent in one packet, in bytes (`SendFacts::packet`).
    pub packet: u64,
    /// Payload that is best sent in the first packet of an eager stream, in bytes (`SendFacts::first`).
    pub first: u64,
}

/// A row of the table: the method in one situation, by the length of the message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MethodRow {
    pub situation: &'static str,
    /// Each method with the shortest length, in bytes, from which on it is used; the first one from 0 on.
    pub methods: Vec<(u64, String)>,
}

/// Returns how a message of a length goes in a situation; None if the situation does not occur on the route.
type MethodOf = fn(&RouteFigures, u64) -> Option<String>;

/// The situations, each with its method.
const SITUATIONS: [(&str, MethodOf); 7] = [
    ("the send comes first", |route, bytes| Some(route.name(&route.facts(bytes)))),
    ("the receive comes first", |route, bytes| {
        let is_announced = method::announces(&route.limits, bytes, false) == Announcement::Rtr;
        Some(route.name(&SendFacts { rtr_capacity: is_announced.then_some(bytes), ..route.facts(bytes) }))
    }),
    ("one of many nonblocking sends", |route, bytes| {
        let name = || route.name(&route.facts(bytes));
        let is_joined = method::is_joined(&route.limits, bytes);
        let occurs = route.limits.join_below > 0;
        occurs.then(|| if is_joined { "eager stream, joined with others".to_owned() } else { name() })
    }),
    ("no credit is left", |route, bytes| Some(route.name(&SendFacts { credit: 0, ..route.facts(bytes) }))),
    ("MPI_Ssend", |route, bytes| Some(route.name(&SendFacts { sync: true, ..route.facts(bytes) }))),
    ("sent from memory of MPI_Alloc_mem", |route, bytes| {
        let is_readable = bytes >= route.limits.read_from;
        let occurs = route.limits.read_from < ProtocolLimits::NEVER;
        occurs.then(|| route.name(&SendFacts { is_readable, ..route.facts(bytes) }))
    }),
    ("received in memory of MPI_Alloc_mem", |route, bytes| {
        let is_writable = bytes >= route.limits.write_from;
        let is_written =
            is_writable && matches!(method::of_send(&route.limits, &route.facts(bytes)), SendMethod::Rendezvous { .. });
        let occurs = route.limits.read_from < ProtocolLimits::NEVER;
        occurs.then(|| if is_written { "remote write".to_owned() } else { route.name(&route.facts(bytes)) })
    }),
];

impl RouteFigures {
    /// The facts of a send without anything special: with credit and space, and without an RTR.
    fn facts(&self, bytes: u64) -> SendFacts {
        let RouteFigures { limits, packet, first } = *self;
        SendFacts {
            bytes,
            sync: false,
            is_readable: bytes >= limits.private_read_from,
            has_space: true,
            credit: limits.credit,
            rtr_capacity: None,
            packet,
            first,
        }
    }

    fn name(&self, facts: &SendFacts) -> String {
        let (name, rest) = match method::of_send(&self.limits, facts) {
            SendMethod::Eager | SendMethod::EagerStream { .. }
                if method::is_device_stream(&self.limits, facts.bytes) =>
            {
                ("eager stream, in one call where that measures faster", 0)
            }
            SendMethod::Eager => ("eager", 0),
            SendMethod::EagerStream { first_bytes } => ("eager stream", facts.bytes - first_bytes),
            SendMethod::RtrReply { first_bytes } => ("RTR reply", facts.bytes - first_bytes),
            SendMethod::Rendezvous { first_bytes } => ("rendezvous", facts.bytes - first_bytes),
            SendMethod::RemoteRead => ("remote read", 0),
            SendMethod::WaitForSpace => ("wait for space", 0),
        };
        if !facts.is_readable && facts.bytes >= self.limits.copy_trial_from {
            return format!("{name}, or remote read where that takes less time");
        }
        match method::of_rest(&self.limits, rest, true, false) {
            RestMethod::ZeroCopy => format!("{name}, zero-copy where TCP carries most"),
            RestMethod::Pieces => name.to_owned(),
        }
    }

    /// The lengths at which a method may change.
    fn boundaries(&self) -> Vec<u64> {
        let ProtocolLimits {
            packet,
            eager,
            first,
            rtr_from,
            reply_from,
            read_from,
            private_read_from,
            copy_trial_from,
            write_from,
            zero_copy_from,
            stream_from,
            join_below,
            ..
        } = self.limits;
        let longest = [self.packet, packet, eager, first, self.first];
        let reads = [read_from, private_read_from, copy_trial_from];
        let shortest = [rtr_from, reply_from, write_from, zero_copy_from, stream_from];
        // The rest of a message is as much shorter as its first packet has bytes.
        let rests = [first, self.first, packet, self.packet].map(|sent| zero_copy_from.saturating_add(sent));
        let mut all = vec![0, 1, join_below];
        all.extend(longest.map(|length| length + 1));
        all.extend(reads.into_iter().chain(shortest).chain(rests).filter(|&from| from < ProtocolLimits::NEVER));
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// Returns the table of a route.
pub fn table(route: &RouteFigures) -> Vec<MethodRow> {
    let boundaries = route.boundaries();
    let row = |&(situation, method): &(&'static str, MethodOf)| {
        let named = boundaries.iter().map(|&from| Some((from, method(route, from)?)));
        let mut methods: Vec<(u64, String)> = named.collect::<Option<_>>()?;
        methods.dedup_by(|later, earlier| later.1 == earlier.1);
        Some(MethodRow { situation, methods })
    };
    SITUATIONS.iter().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use method::PollBeforeSend;

    const SHORT: ProtocolLimits = ProtocolLimits {
        packet: 40,
        eager: 100,
        first: 16,
        rtr_from: 60,
        reply_from: 80,
        read_from: 41,
        private_read_from: ProtocolLimits::NEVER,
        copy_trial_from: ProtocolLimits::NEVER,
        write_from: 70,
        zero_copy_from: 130,
        stream_from: 50,
        join_below: 0,
        credit: 800,
    };
    const NEVER: u64 = ProtocolLimits::NEVER;
    const JOINING: ProtocolLimits = ProtocolLimits { join_below: 70, read_from: NEVER, ..SHORT };
    /// Trials decide from 60 bytes on whether the receiver reads a message, which it always does from 121 bytes on.
    const PRIVATE: ProtocolLimits = ProtocolLimits { private_read_from: 121, copy_trial_from: 60, ..SHORT };

    fn routes() -> Vec<RouteFigures> {
        let limits = [
            SHORT,
            ProtocolLimits { rtr_from: 101, reply_from: 101, read_from: NEVER, ..SHORT },
            ProtocolLimits { rtr_from: 0, reply_from: 0, zero_copy_from: NEVER, stream_from: NEVER, ..SHORT },
            ProtocolLimits { rtr_from: NEVER, first: 0, zero_copy_from: 0, ..SHORT },
            JOINING,
            PRIVATE,
        ];
        let figures =
            |limits| [(40, 16), (10, 10), (60, 16)].map(|(packet, first)| RouteFigures { limits, packet, first });
        limits.into_iter().flat_map(figures).collect()
    }

    /// The table says of every length what is chosen for it.
    #[test]
    fn no_method_changes_within_a_row() {
        for route in routes() {
            let table = table(&route);
            for (situation, method) in SITUATIONS {
                let Some(row) = table.iter().find(|row| row.situation == situation) else {
                    assert_eq!(method(&route, 0), None);
                    continue;
                };
                for bytes in 0..400 {
                    let told = &row.methods.iter().rfind(|&&(from, _)| from <= bytes).unwrap().1;
                    assert_eq!(Some(told), method(&route, bytes).as_ref(), "{route:?}: {situation}, {bytes} bytes");
                }
            }
        }
    }

    #[test]
    fn precedence_and_memory_change_the_method() {
        let rows = table(&RouteFigures { limits: SHORT, packet: 40, first: 16 });
        let methods = |situation: &str| -> Vec<(u64, &str)> {
            let row = rows.iter().find(|row| row.situation == situation).unwrap();
            row.methods.iter().map(|(from, name)| (*from, &name[..])).collect()
        };
        const ZERO_COPY: &str = "rendezvous, zero-copy where TCP carries most";
        let first = [(0, "eager"), (41, "eager stream"), (101, "rendezvous"), (146, ZERO_COPY)];
        assert_eq!(methods("the send comes first"), first);
        let reply = [
            (0, "eager"),
            (41, "eager stream"),
            (80, "RTR reply"),
            (130, "RTR reply, zero-copy where TCP carries most"),
        ];
        assert_eq!(methods("the receive comes first"), reply);
        assert_eq!(methods("no credit is left"), [(0, "rendezvous"), (130, ZERO_COPY)]);
        assert_eq!(methods("sent from memory of MPI_Alloc_mem"), [(0, "eager"), (41, "remote read")]);
        assert_eq!(
            methods("received in memory of MPI_Alloc_mem"),
            [(0, "eager"), (41, "eager stream"), (101, "remote write")]
        );
    }

    #[test]
    fn private_memory_is_read_where_one_copy_is_better() {
        let rows = table(&RouteFigures { limits: PRIVATE, packet: 40, first: 16 });
        let methods: Vec<(u64, &str)> = rows[0].methods.iter().map(|(from, name)| (*from, &name[..])).collect();
        const TRIED: &str = "eager stream, or remote read where that takes less time";
        assert_eq!(methods[..3], [(0, "eager"), (41, "eager stream"), (60, TRIED)]);
        assert_eq!(methods[methods.len() - 1], (121, "remote read"));
    }

    /// An RTR would only delay a message that the receiver reads, and a poll for one the sender.
    #[test]
    fn a_message_that_is_read_is_neither_announced_nor_polled_for() {
        let announced = |bytes| method::announces(&PRIVATE, bytes, false) == Announcement::Rtr;
        assert_eq!([59, 60, 120, 121].map(announced), [false, true, true, false]);
        let poll = |is_readable| move |bytes| method::poll_before_send(&PRIVATE, bytes, is_readable);
        assert_eq!([79, 80].map(poll(false)), [PollBeforeSend::ForCredit, PollBeforeSend::ForRtr]);
        assert_eq!([60, 200].map(poll(true)), [PollBeforeSend::None; 2]);
    }

    #[test]
    fn many_sends_are_joined_where_the_device_joins() {
        let rows = |limits| table(&RouteFigures { limits, packet: 40, first: 16 });
        let joining = rows(JOINING);
        let row = joining.iter().find(|row| row.situation == "one of many nonblocking sends").unwrap();
        let begins: Vec<(u64, &str)> = row.methods[..3].iter().map(|(from, name)| (*from, &name[..])).collect();
        let own = "eager stream, in one call where that measures faster";
        assert_eq!(begins, [(0, "eager"), (1, "eager stream, joined with others"), (70, own)]);
        assert!(rows(SHORT).iter().all(|row| row.situation != "one of many nonblocking sends"));
    }

    #[test]
    fn a_device_with_a_method_of_its_own_is_asked_where_memory_cannot_be_read() {
        for (packet, before) in [(40, &[(0, "eager"), (41, "eager stream")][..]), (60, &[(0, "eager")])] {
            let limits = ProtocolLimits { packet, read_from: NEVER, ..SHORT };
            let rows = table(&RouteFigures { limits, packet, first: 16 });
            let methods: Vec<(u64, &str)> = rows[0].methods.iter().map(|(from, name)| (*from, &name[..])).collect();
            let begins = [before, &[(50, "eager stream, in one call where that measures faster")]].concat();
            assert_eq!((&methods[..begins.len()], methods[begins.len()].0), (&begins[..], 101));
        }
    }
}
