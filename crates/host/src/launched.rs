//! The `Bootstrap` of a process that our launcher has started, or that runs alone: through the connection to the
//! agent and the segment, which the agent writes. Uses `boot::AgentConnection`; used by `join`.

use hawser_base::{Peer, Result};
use hawser_boot::{AgentConnection, Bootstrap, Identity, KvsKey, Notification};
use hawser_job::Segment;

/// A process that our launcher has started, or that runs alone.
pub struct LaunchedProcess {
    pub connection: AgentConnection,
    pub segment: Segment,
}

impl Bootstrap for LaunchedProcess {
    fn identity(&self) -> &Identity {
        self.connection.identity()
    }

    fn publish(&self, key: KvsKey, bytes: &[u8]) -> Result<()> {
        match key {
            KvsKey::BusinessCard => self.connection.publish(bytes),
        }
    }

    fn look_up(&self, peer: Peer, key: KvsKey) -> Option<Vec<u8>> {
        match key {
            KvsKey::BusinessCard => self.segment.business_card(peer),
        }
    }

    /// There is nothing to wait for here: the agent rings the doorbell for each business card that arrives.
    fn fence(&self) -> Result<()> {
        Ok(())
    }

    fn notify(&self, notification: Notification) -> bool {
        self.connection.notify(notification)
    }

    fn abort(&self, code: i32, text: &str) -> ! {
        self.connection.abort(code, text)
    }
}
