//! The connections by peer, and the peers that are gone. Memory is used only for peers with which there was traffic.
//!
//! The module knows nothing of what a connection does. Used by `endpoint`; uses `connection`.

use crate::connection::Connection;
use crate::ended::Ended;
use hawser_base::Peer;
use hawser_base::paged::Paged;

/// The connections of an endpoint. See the module.
pub struct Peers {
    /// The place of a peer's connection plus one; 0 without one.
    places: Paged<u32>,
    connections: Vec<Option<Box<Connection>>>,
    free: Vec<u32>,
    /// Peers that are gone for good: their late frames open no path.
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

    /// Returns the connection with a peer, and creates it if there is none.
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

    /// The number of places for connections, used or free.
    pub fn places(&self) -> usize {
        self.connections.len()
    }

    pub fn all(&self) -> impl Iterator<Item = &Connection> {
        self.connections.iter().flatten().map(|connection| &**connection)
    }

    pub fn is_forgotten(&self, peer: u32) -> bool {
        self.ended.has(Peer(peer))
    }

    /// Returns the peer of another incarnation that has a connection under the number of this one.
    pub fn namesake(&self, peer: u32) -> Option<u32> {
        self.get(peer).map(Connection::peer).filter(|&other| other != peer)
    }

    /// Marks a peer as gone for good. Returns its connection, if there was one.
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
