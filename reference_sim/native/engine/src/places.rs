//! The places of open connections, by number.

/// A list sorted by number. Numbers ascend with arrival, and few connections are open at a time.
#[derive(Debug, Default)]
pub struct Places {
    alive: Vec<(u32, u32)>,
    opened: u32,
}

impl Places {
    /// Return the number of the next connection.
    #[must_use]
    pub fn next_number(&self) -> u32 {
        self.opened
    }

    /// Assign a place to the next connection.
    pub fn open(&mut self, place: u32) {
        self.alive.push((self.opened, place));
        self.opened += 1;
    }

    /// Return the place of a connection, or None once it is finished.
    #[must_use]
    #[inline]
    pub fn get(&self, connection: u32) -> Option<u32> {
        let index = self.index(connection)?;
        self.alive.get(index).map(|(_, place)| *place)
    }

    pub fn close(&mut self, connection: u32) {
        if let Some(index) = self.index(connection) {
            self.alive.remove(index);
        }
    }

    fn index(&self, connection: u32) -> Option<usize> {
        let of = |entry: &(u32, u32)| entry.0;
        self.alive.binary_search_by_key(&connection, of).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finished_connection_has_no_place() {
        let mut places = Places::default();
        for place in [7, 8, 9] {
            places.open(place);
        }
        places.close(1);
        assert_eq!(
            [0, 1, 2, 3].map(|it| places.get(it)),
            [Some(7), None, Some(9), None]
        );
        assert_eq!(places.next_number(), 3);
    }
}
