//! The connections of a process, by lane and peer.

use crate::mesh::connection::Connection;
use crate::mesh::handshake::Lane;

/// The connections to every peer by index; none to this process itself.
#[derive(Default)]
pub(super) struct Connections {
    pub(super) data: Vec<Option<Connection>>,
    pub(super) beat: Vec<Option<Connection>>,
}

impl Connections {
    pub(super) fn of(&mut self, lane: Lane) -> &mut Vec<Option<Connection>> {
        match lane {
            Lane::Data => &mut self.data,
            Lane::Beat => &mut self.beat,
        }
    }

    /// The peers without all of their connections.
    pub(super) fn missing(&self, index: usize) -> Vec<usize> {
        let lacks = |&peer: &usize| {
            peer != index && (self.data[peer].is_none() || self.beat[peer].is_none())
        };
        (0..self.data.len()).filter(lacks).collect()
    }
}
