//! A rank for the launcher's tests: attaches as an MPI library does, then acts as its argument requests.
#![forbid(unsafe_code)]

use hawser_base::Peer;
use hawser_boot::{AgentConnection, Notification};
use hawser_job::{RankPhase, Segment, WaitPeer, WaitReason, WaitTag};
use hawser_os::{clock, host, signals};
use std::process::{Command, exit};
use std::sync::atomic::Ordering::SeqCst;
use std::thread::sleep;
use std::time::Duration;

struct Rank {
    world: AgentConnection,
    segment: Segment,
}

impl Rank {
    fn attach() -> Rank {
        let mut world = hawser_boot::attach().unwrap_or_else(|error| fail(error.cause()));
        let segment = match world.take_segment() {
            Some(fd) => Segment::open(fd),
            None => Segment::alone(),
        };
        let segment = segment.unwrap_or_else(|error| fail(error.cause()));
        segment.name_counters(&["bells rung", "barriers"]);
        Rank { world, segment }
    }

    /// Attaches as MPI_Init does: no rank leaves before all have attached.
    fn init() -> Rank {
        let rank = Rank::attach();
        rank.barrier();
        rank.segment.rank(rank.world.identity().local_rank as usize).set_phase(RankPhase::Running);
        rank
    }

    fn barrier(&self) {
        let count = self.segment.flags(0);
        let flag = count.word(0, 0, 0);
        let size = self.world.identity().local_size;
        let goal = flag.fetch_add(1, SeqCst) / size * size + size;
        let own_page = self.segment.rank(self.world.identity().local_rank as usize);
        for peer in 0..size as usize {
            self.segment.rank(peer).doorbell().ring();
            own_page.counters().add(0, 1);
        }
        let doorbell = own_page.doorbell();
        while flag.load(SeqCst) < goal {
            let armed = doorbell.arm();
            if flag.load(SeqCst) < goal {
                doorbell.sleep(armed, None);
            }
        }
        own_page.counters().add(1, 1);
    }

    fn finalize(&self) {
        self.barrier();
        self.finalize_alone();
    }

    /// Sleeps until local rank `peer` has ended.
    fn wait_for_end(&self, peer: usize) {
        let doorbell = self.segment.rank(self.world.identity().local_rank as usize).doorbell();
        let (exit_log, peer) = (self.segment.exit_log(), self.segment.process_in(peer).expect("a rank's local slot"));
        while !exit_log.has_ended(peer) {
            let armed = doorbell.arm();
            if !exit_log.has_ended(peer) {
                doorbell.sleep(armed, None);
            }
        }
    }

    fn finalize_alone(&self) {
        self.segment.rank(self.world.identity().local_rank as usize).set_phase(RankPhase::Finalized);
        self.world.notify(Notification::Left);
    }

    /// Publishes a business card, and sleeps until those of all ranks have arrived.
    fn exchange_cards(&self) -> Vec<String> {
        let (world, own_page) = (&self.world, self.segment.rank(self.world.identity().local_rank as usize));
        let business_card = format!("card {} of {}", world.identity().rank, self.segment.host());
        world.publish(business_card.as_bytes()).unwrap_or_else(|error| fail(error.cause()));
        let doorbell = own_page.doorbell();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        (0..world.identity().size)
            .map(|rank| {
                loop {
                    let armed = doorbell.arm();
                    match self.segment.business_card(Peer(rank)) {
                        Some(bytes) => break text(bytes),
                        None => doorbell.sleep(armed, None),
                    };
                }
            })
            .collect()
    }

    /// Sleeps in a call for ever.
    fn receive(&self, peer: WaitPeer, tag: i32) -> ! {
        let reason = WaitReason {
            since_ns: clock::now_ns(),
            call: "MPI_Recv",
            communicator: "MPI_COMM_WORLD",
            peer,
            tag: WaitTag::Is(tag),
            ..WaitReason::default()
        };
        let page = self.segment.rank(self.world.identity().local_rank as usize);
        page.wait().begin(&reason);
        loop {
            let armed = page.doorbell().arm();
            page.doorbell().sleep(armed, None);
        }
    }
}

fn fail(text: &str) -> ! {
    eprintln!("rank: {text}");
    exit(9)
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize| words.get(i).and_then(|w| w.parse::<i32>().ok()).unwrap_or(0);
    match words.first().map_or("", String::as_str) {
        // Prints its identity, then leaves in good order.
        "hello" => {
            let rank = Rank::init();
            let world = &rank.world;
            let (app, program) = (world.identity().appnum, world.identity().program_size);
            println!("rank {} of {} app {app:?} of {program}", world.identity().rank, world.identity().size);
            rank.finalize();
        }
        // Prints every rank's business card, and whether all ranks have the same secret.
        "cards" => {
            let rank = Rank::init();
            let secret = rank.world.identity().secret;
            println!("{} {:?} {}", rank.exchange_cards().join(", "), secret, u128::from_ne_bytes(secret.0));
            rank.finalize();
        }
        // Rank 1 begins another session, "once" or to leave again, before its agent has received that all had left.
        "back" => {
            let rank = Rank::init();
            let (world, segment) = (&rank.world, &rank.segment);
            rank.exchange_cards();
            let pause = |ms| sleep(Duration::from_millis(ms));
            let once = words[1] == "once";
            if world.identity().rank == 0 {
                pause(500);
                rank.finalize_alone();
                if !once {
                    pause(200);
                    world.notify(Notification::Back);
                    pause(1200);
                    rank.finalize_alone();
                }
                return;
            }
            let agent = std::os::unix::process::parent_id() as i32;
            rank.finalize_alone();
            pause(250);
            signals::send(agent, signals::SIGSTOP).expect("the agent is our parent");
            pause(750);
            segment.set_all_finalized(false);
            if !once {
                world.notify(Notification::Back);
                rank.finalize_alone();
            }
            signals::send(agent, signals::SIGCONT).expect("the agent is our parent");
            pause(250);
            if once {
                world.notify(Notification::Back);
                pause(250);
            }
            println!("all are away: {}", segment.all_finalized());
            if once {
                rank.finalize_alone();
            }
            let doorbell = segment.rank(world.identity().local_rank as usize).doorbell();
            while !segment.all_finalized() {
                let armed = doorbell.arm();
                if !segment.all_finalized() {
                    doorbell.sleep(armed, None);
                }
            }
        }
        "late" => {
            let rank = Rank::init();
            sleep(Duration::from_millis(1200));
            println!("rank {} is done", rank.world.identity().rank);
            rank.finalize();
        }
        // Waits until a peer has ended, and prints that.
        "widow" => {
            let rank = Rank::init();
            if rank.world.identity().rank == 1 {
                rank.finalize_alone();
                return;
            }
            rank.wait_for_end(1);
            println!("rank 1 has ended");
            rank.finalize_alone();
        }
        // Waits for the next rank, in a ring.
        "ring" => {
            let rank = Rank::init();
            rank.receive(WaitPeer::Rank((rank.world.identity().rank + 1) % rank.world.identity().size), number(1));
        }
        "compute" => {
            let _rank = Rank::init();
            sleep(Duration::from_secs(1000));
        }
        // The named rank acts by the rest of the line, the others wait for it.
        "one" => {
            let rank = Rank::init();
            match rank.world.identity().rank == number(1) as u32 {
                true => act(&rank, &words[2], number(3)),
                false => rank.receive(WaitPeer::Rank(number(1) as u32), 0),
            }
        }
        // Returns without MPI_Finalize, each rank some milliseconds after the one before it; rank 0 with a code.
        "leave" => {
            let rank = Rank::init();
            sleep(Duration::from_millis(u64::from(rank.world.identity().rank) * number(1) as u64));
            exit(if rank.world.identity().rank == 0 { number(2) } else { 0 })
        }
        // Attaches to a job whose other ranks never do.
        "attach" => {
            let _rank = Rank::attach();
            sleep(Duration::from_secs(1000));
        }
        // Attaches, then waits for one of those ranks.
        "await" => Rank::attach().receive(WaitPeer::Rank(number(1) as u32), 0),
        "finalize-then" => {
            let rank = Rank::init();
            rank.finalize();
            act(&rank, &words[1], number(2));
        }
        // Starts children that try all they can to escape, then waits.
        "daemons" => {
            let rank = Rank::init();
            let script =
                "setsid sh -c 'sleep 1001 & sleep 1002' & (setsid sleep 1003 &); nohup sleep 1004 >/dev/null 2>&1 &";
            Command::new("sh").args(["-c", script]).status().unwrap_or_else(|e| fail(&e.to_string()));
            rank.barrier();
            println!("started");
            rank.receive(WaitPeer::Any, 0);
        }
        other => fail(&format!("no act {other}")),
    }
}

fn act(rank: &Rank, act: &str, number: i32) {
    match act {
        "exit" => exit(number),
        // Sends it repeatedly: Rust's own handler of SIGSEGV only removes itself the first time.
        "signal" => loop {
            let _ = signals::send(host::pid(), number);
            sleep(Duration::from_millis(10));
        },
        "abort" => rank.world.abort(number, "MPI_Abort(MPI_COMM_WORLD) was called"),
        other => fail(&format!("no act {other}")),
    }
}
