//! The macro `state_machine!`, which declares the events of a state machine, with the state before and after each, in
//! one table.
//!
//! The states are an enum of the module that owns the machine; a state may have data. The macro makes a method for
//! each event. No other code may assign a state. The tables are drawn in docs/protocol.md (`make machines`), and
//! `crates/imports/tests/machines.rs` checks that each state can be reached and that the drawings are current.
//!
//! # Example
//!
//! ```
//! #[derive(Debug, PartialEq)]
//! enum DoorState {
//!     Closed,
//!     Open { by: u32 },
//! }
//!
//! hawser_base::state_machine! {
//!     impl DoorState {
//!         start Closed;
//!         /// Somebody opens the door.
//!         opened(Closed => Open { by: u32 });
//!         /// The door is closed by a person or the wind.
//!         closed(Open => Closed);
//!     }
//! }
//!
//! let mut door = DoorState::Closed;
//! assert!(!door.closed(), "the event does not exist in this state");
//! assert!(door.opened(7));
//! assert_eq!(door, DoorState::Open { by: 7 });
//! ```

/// Declares a state machine. The module has an example.
///
/// `start` names the states in which a machine may begin. Each event has one or more transitions, separated by
/// commas. A transition names the states before the event, separated by `|`, and after `=>` the state after the
/// event, with the data of that state. The event's method takes these data. If the event has a transition from the
/// current state, the method changes the state and returns true; otherwise it changes nothing and returns false.
#[macro_export]
macro_rules! state_machine {
    (
        impl $machine:ident {
            start $($start:ident)|+;
            $(
                $(#[$meta:meta])*
                $event:ident(
                    $($($from:ident)|+ => $to:ident $({ $($field:ident: $type:ty),+ $(,)? })?),+ $(,)?
                );
            )+
        }
    ) => {
        // This line does not compile if a name after `start` is no state.
        const _: fn(&$machine) -> bool = |state| matches!(state, $($machine::$start { .. })|+);

        impl $machine {
            $(
                $(#[$meta])*
                pub fn $event(&mut self $($($(, $field: $type)+)?)+) -> bool {
                    match self {
                        $($($machine::$from { .. })|+ => *self = $machine::$to $({ $($field),+ })?,)+
                        // This arm is never reached if the event has a transition from every state.
                        #[allow(unreachable_patterns, reason = "an event may exist in every state")]
                        _ => return false,
                    }
                    true
                }
            )+
        }
    };
}

#[cfg(test)]
mod tests {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum LampState {
        Off,
        On { watts: u32 },
        Broken(u8),
        Thrown,
    }

    state_machine! {
        impl LampState {
            start Off | On;
            /// The switch is turned to a power.
            switched(Off | On => On { watts: u32 });
            /// Somebody throws the lamp away; in a dark room it is only switched off.
            thrown(On => Off, Broken | Off => Thrown);
        }
    }

    #[test]
    fn an_event_changes_the_states_that_it_names_and_no_other() {
        let mut lamp = LampState::Off;
        assert!(lamp.switched(40));
        assert!(lamp.switched(60), "an event may lead to the state in which it comes");
        assert_eq!(lamp, LampState::On { watts: 60 });
        assert!(lamp.thrown());
        assert_eq!(lamp, LampState::Off, "an event leads where its state says");
        for mut before in [LampState::Broken(3), LampState::Off] {
            assert!(before.thrown());
            assert_eq!(before, LampState::Thrown);
        }
        for before in [LampState::Broken(3), LampState::Thrown] {
            let mut after = before;
            assert!(!after.switched(1), "{before:?}");
            assert_eq!(after, before);
        }
    }
}
