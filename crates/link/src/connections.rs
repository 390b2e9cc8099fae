//! The connections by peer, and the peers that are gone. Memory is used only for peers with which there was traffic.
//!
//! The module knows nothing of what a connection does. Used by `endpoint`; uses `connection`.

use crate::connection::Connection;
use crate::ended_peers::EndedPeers;
use hawser_base::Peer;
use hawser_base::peer_table::PeerTable;

/// The connections of an endpoint. See the module.
pub struct Connections {
    /// For each peer the index of its connection plus one; 0 if the peer has no connection.
    indexes: PeerTable<u32>,
    connections: Vec<Option<Box<Connection>>>,
    /// The indexes of free entries in `connections`.
    free: Vec<u32>,
    /// Peers that are gone for good: their late frames open no path.
    ended: EndedPeers,
}

impl Connections {
    pub fn new() -> Connections {
        Connections { indexes: PeerTable::new(0), connections: Vec::new(), free: Vec::new(), ended: EndedPeers::new() }
    }

    #[inline]
    pub fn get(&self, peer: u32) -> Option<&Connection> {
        let index = self.indexes[Peer(peer)].checked_sub(1)?;
        self.connections[index as usize].as_deref()
    }

    #[inline]
    pub fn get_mut(&mut self, peer: u32) -> Option<&mut Connection> {
        let index = self.indexes[Peer(peer)].checked_sub(1)?;
        self.connections[index as usize].as_deref_mut()
    }

    /// Returns the connection with a peer, and creates it if there is none.
    pub fn connect(&mut self, peer: u32) -> &mut Connection {
        if self.indexes[Peer(peer)] == 0 {
            let index = self.free.pop().unwrap_or_else(|| {
                self.connections.push(None);
                self.connections.len() as u32 - 1
            });
            self.connections[index as usize] = Some(Box::new(Connection::new(peer)));
            self.indexes[Peer(peer)] = index + 1;
        }
        self.get_mut(peer).expect("it was made")
    }

    /// The number of entries for connections, used or free.
    pub fn capacity(&self) -> usize {
        self.connections.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Connection> {
        self.connections.iter().flatten().map(|connection| &**connection)
    }

    pub fn is_forgotten(&self, peer: u32) -> bool {
        self.ended.contains(Peer(peer))
    }

    /// Returns the other incarnation of this peer's process number that has a connection; None if there is none.
    pub fn other_incarnation(&self, peer: u32) -> Option<u32> {
        self.get(peer).map(Connection::peer).filter(|&other| other != peer)
    }

    /// Marks a peer as gone for good. Returns its connection, if there was one.
    pub fn forget(&mut self, peer: u32) -> Option<Box<Connection>> {
        self.ended.insert(Peer(peer));
        if self.other_incarnation(peer).is_some() {
            return None;
        }
        let index = self.indexes[Peer(peer)].checked_sub(1)?;
        self.indexes.reset(Peer(peer));
        self.free.push(index);
        self.connections[index as usize].take()
    }
}
