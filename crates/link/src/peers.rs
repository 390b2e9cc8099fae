//! Which peers there is a connection with, and which are gone: room for those alone that were spoken to.
//!
//! Nothing here knows what a connection does. Before it: `endpoint`; after it: `connection`.

use crate::connection::Connection;
use crate::ended::Ended;
use hawser_base::Peer;
use hawser_base::paged::Paged;

/// See the module.
pub struct Peers {
    /// One more than the place of a peer's connection; 0 without one.
    places: Paged<u32>,
    connections: Vec<Option<Box<Connection>>>,
    free: Vec<u32>,
    /// Those that are gone for good: what still comes of them opens nothing.
    ended: Ended,
}

impl Peers {
    pub fn new() -> Peers {
        Peers { places: Paged::new(0), connections: Vec::new(), free: Vec::new(), ended: Ended::new() }
    }

    #[inline]
    pub fn get(&self, peer: u32) -> Option<&Connection> {
        let place = self.places[Peer(peer)].checked_sub(1)?;
        self.connections[place as usize].as_deref()
    }

    #[inline]
    pub fn get_mut(&mut self, peer: u32) -> Option<&mut Connection> {
        let place = self.places[Peer(peer)].checked_sub(1)?;
        self.connections[place as usize].as_deref_mut()
    }

    /// The connection with a peer, which is made if there is none.
    pub fn connect(&mut self, peer: u32) -> &mut Connection {
        if self.places[Peer(peer)] == 0 {
            let place = self.free.pop().unwrap_or_else(|| {
                self.connections.push(None);
                self.connections.len() as u32 - 1
            });
            self.connections[place as usize] = Some(Box::new(Connection::new(peer)));
            self.places[Peer(peer)] = place + 1;
        }
        self.get_mut(peer).expect("it was made")
    }

    /// How many connections there are, and places of former ones.
    pub fn places(&self) -> usize {
        self.connections.len()
    }

    pub fn all(&self) -> impl Iterator<Item = &Connection> {
        self.connections.iter().flatten().map(|connection| &**connection)
    }

    pub fn is_forgotten(&self, peer: u32) -> bool {
        self.ended.has(Peer(peer))
    }

    /// Whom there is a connection with under the number of a peer that has another life.
    pub fn namesake(&self, peer: u32) -> Option<u32> {
        self.get(peer).map(Connection::peer).filter(|&other| other != peer)
    }

    /// The peer is gone for good. Its connection, if there was one.
    pub fn forget(&mut self, peer: u32) -> Option<Box<Connection>> {
        self.ended.note(Peer(peer));
        if self.namesake(peer).is_some() {
            return None;
        }
        let place = self.places[Peer(peer)].checked_sub(1)?;
        self.places.give_back(Peer(peer));
        self.free.push(place);
        self.connections[place as usize].take()
    }
}
