//! The users of the transport and their lanes, which are the same in all processes of the host.
//!
//! A user is known by its name (`mpi`, `pm`, `madeleine`). The first process of the host that opens a user appends a
//! word to a table: a number made of the name, and the number of lanes. A user's lanes begin where those of the
//! previous user end. Therefore every process finds the same lanes for a user, in whatever order it opens its users,
//! and even if it opens only some of them. Each word is written at once, by a compare-and-swap: a process that dies
//! meanwhile leaves a whole entry or none. An entry is never removed. On other hosts a user may have other lanes;
//! devices exchange them (`dev-ether`). Used by `transport`.

use crate::layout::LANES_MAX;
use crate::segment::Segment;
use crate::text;
use hawser_base::{Class, Error, LANES, Lane, Region, Result, fnv};
use hawser_os::map::PAGE;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

/// The name of the user that has the first lanes, which no other user can get.
pub const MPI: &str = "mpi";

/// The longest name of a user, in bytes.
pub const NAME_MAX: usize = 16;

/// Maximum users of a host beside MPI.
const USERS_MAX: usize = LANES_MAX - LANES;

/// Offset of the users' words in the header page, and offset of the users' names behind the words. The names are for
/// reports, and to distinguish names whose numbers are equal.
const AT: usize = 2048;
const NAMES: usize = AT + USERS_MAX * 8;
const _: () = assert!(NAMES + USERS_MAX * NAME_MAX <= PAGE && NAME_MAX.is_multiple_of(8));

/// The number of bits of a word that hold how many lanes the user has; above them is the number made of its name.
const LANE_BITS: u32 = 8;

/// Returns a number made of a name, never 0. Its lowest LANE_BITS bits are 0.
fn number(name: &str) -> u64 {
    let hash = fnv::hash(name);
    (hash ^ hash >> (u64::BITS - LANE_BITS)) << LANE_BITS | 1 << LANE_BITS
}

fn refusal(text: String) -> Error {
    Error::new(Class::Arg, text)
}

/// Checks a user's name and number of lanes. A name must be printable ASCII without spaces, because it stands in
/// messages and in lines for people.
fn check(name: &str, lanes: usize) -> Result<()> {
    if name.is_empty() || name.len() > NAME_MAX || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(refusal(format!(
            "{name:?} is not a valid name of a transport user; a name has 1 to {NAME_MAX} printable ASCII \
             characters"
        )));
    }
    if lanes == 0 {
        return Err(refusal(format!("user {name} requests no lanes; it needs at least one")));
    }
    Ok(())
}

impl Segment {
    /// Returns the first of the `lanes` lanes of a user: of the lanes that another process of the host has assigned
    /// to the user, or of new ones. The error is Class::Arg if the name is not allowed, if the user has another
    /// number of lanes, or if too few lanes are left.
    pub fn lanes_of(&self, name: &str, lanes: usize) -> Result<Lane> {
        check(name, lanes)?;
        if name == MPI {
            return match lanes {
                LANES => Ok(Lane(0)),
                _ => Err(refusal(format!("user {MPI} has {LANES} lanes, and {lanes} are requested"))),
            };
        }
        let (header, most) = (self.header(), self.layout().lanes);
        let wanted = number(name) | lanes.min(u8::MAX.into()) as u64;
        let mut first = LANES;
        for place in 0..USERS_MAX {
            let word = header.u64(AT + place * 8);
            // Pairs with the AcqRel below: a process that sees a user sees the users before it.
            let mut found = word.load(Acquire);
            if found == 0 {
                if first + lanes > most {
                    break;
                }
                match word.compare_exchange(0, wanted, AcqRel, Acquire) {
                    Ok(_) => {
                        text::write(&header, NAMES + place * NAME_MAX, NAME_MAX, name);
                        return Ok(Lane(first as u8));
                    }
                    Err(other) => found = other,
                }
            }
            let its = (found & ((1 << LANE_BITS) - 1)) as usize;
            if found >> LANE_BITS == wanted >> LANE_BITS && first + its <= most {
                return check_same_user(&header, place, (name, lanes), its).map(|()| Lane(first as u8));
            }
            first = (first + its).min(most);
        }
        Err(refusal(format!(
            "user {name} requests {lanes} lanes, and {} of the job's {most} are left; open it with fewer lanes, or \
             open fewer users",
            most.saturating_sub(first)
        )))
    }

    /// Returns the names of the users beside MPI, for reports.
    pub fn users(&self) -> Vec<String> {
        let header = self.header();
        let places = (0..USERS_MAX).take_while(|place| header.u64(AT + place * 8).load(Acquire) != 0);
        places.map(|place| text::read(&header, NAMES + place * NAME_MAX, NAME_MAX)).collect()
    }
}

/// Checks that the user at index `place` of the table, which has `its` lanes, is the user `name` with `lanes` lanes.
/// Its name may still be empty, because the process that has written the word may not have written the name yet.
fn check_same_user(header: &Region, place: usize, (name, lanes): (&str, usize), its: usize) -> Result<()> {
    let other = text::read(header, NAMES + place * NAME_MAX, NAME_MAX);
    if !other.is_empty() && !name.starts_with(&other) {
        return Err(refusal(format!("users {name} and {other} have the same hash; give one of them another name")));
    }
    if its != lanes {
        return Err(refusal(format!(
            "user {name} has {its} lanes in other processes of this host, and {lanes} are requested here; request {its}"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::LANES_OF_OTHERS;
    use std::sync::atomic::Ordering::Release;

    /// Makes one segment as two processes have it.
    fn two() -> [Segment; 2] {
        let made = Segment::alone().unwrap();
        let open = Segment::open(made.fd().try_clone_to_owned().unwrap()).unwrap();
        [made, open]
    }

    #[test]
    fn processes_that_open_users_in_unlike_order_come_to_the_same_lanes() {
        let [one, other] = two();
        let lanes = |segment: &Segment, name: &str, lanes| segment.lanes_of(name, lanes).unwrap().index();
        assert_eq!((lanes(&one, "pm", 2), lanes(&one, "madeleine", 1)), (LANES, LANES + 2));
        assert_eq!((lanes(&other, "mplite", 3), lanes(&other, "madeleine", 1)), (LANES + 3, LANES + 2));
        assert_eq!((lanes(&one, "mplite", 3), lanes(&other, "pm", 2)), (LANES + 3, LANES));
        assert_eq!((lanes(&one, MPI, LANES), lanes(&one, "pm", 2)), (0, LANES), "asked again");
        assert_eq!(other.users(), ["pm", "madeleine", "mplite"]);
    }

    #[test]
    fn what_cannot_be_had_says_why_and_leaves_the_rest() {
        let [one, other] = two();
        let told = |name, lanes| one.lanes_of(name, lanes).unwrap_err().cause().to_owned();
        one.lanes_of("pm", 2).unwrap();
        let expected = "user pm has 2 lanes in other processes of this host, and 3 are requested here; request 2";
        assert_eq!(told("pm", 3), expected);
        let most = LANES + LANES_OF_OTHERS;
        let expected = format!(
            "user other requests 7 lanes, and 6 of the job's {most} are left; open it with fewer lanes, or open fewer \
             users"
        );
        assert_eq!(told("other", 7), expected);
        assert_eq!(other.lanes_of("other", 6).unwrap().index(), LANES + 2);
        assert!(told("third", 1).contains("and 0 of the job's"));
        assert_eq!(told(MPI, 1), "user mpi has 8 lanes, and 1 are requested");
        for wrong in ["", "a b", "seventeen_letters", "\u{e4}"] {
            assert!(told(wrong, 1).contains("is not a valid name"), "{wrong}");
        }
        assert_eq!(told("pm2", 0), "user pm2 requests no lanes; it needs at least one");
        assert_eq!(
            told("pm2", 999),
            format!(
                "user pm2 requests 999 lanes, and 0 of the job's {most} are left; open it \
                                              with fewer lanes, or open fewer users"
            )
        );
    }

    #[test]
    fn processes_that_open_users_at_once_come_to_the_same_lanes() {
        for _ in 0..50 {
            let names = ["a", "b", "c", "d", "e"];
            let both = two();
            let open = |segment: &Segment, turn: usize| -> Vec<Lane> {
                (0..names.len()).map(|at| segment.lanes_of(names[(at + turn) % names.len()], 1).unwrap()).collect()
            };
            std::thread::scope(|scope| {
                both.iter().enumerate().for_each(|(turn, segment)| drop(scope.spawn(move || open(segment, 2 * turn))));
            });
            let [one, other] = both.each_ref().map(|segment| open(segment, 0));
            assert_eq!(one, other);
            let mut places: Vec<_> = one.iter().map(|lane| lane.index()).collect();
            places.sort_unstable();
            assert_eq!(places, (LANES..LANES + names.len()).collect::<Vec<_>>());
        }
    }

    /// Any process of the job may write anything there.
    #[test]
    fn scribbled_words_lead_to_no_lane_that_there_is_not() {
        let segment = Segment::alone().unwrap();
        for word in [u64::MAX, 0xff, 1 << LANE_BITS, number("pm") | 0xff] {
            segment.header().u64(AT).store(word, Release);
            let found = ["pm", "other"].map(|name| segment.lanes_of(name, 1));
            assert!(found.iter().flatten().all(|lane| lane.index() < segment.layout().lanes), "{found:?}");
        }
    }
}
