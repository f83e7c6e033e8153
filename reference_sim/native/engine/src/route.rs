//! The next link of a packet: the path with the fewest links. Among equal paths, the path with the scenario's
//! earliest links is chosen.

use std::collections::VecDeque;

use crate::scenario::Link;

/// The next link from each node to each other node.
#[derive(Debug)]
pub struct Routes {
    nodes: usize,
    /// The entry `next[to * nodes + from]`.
    next: Vec<Option<u32>>,
}

impl Routes {
    /// Build the routes. `links` connect nodes with numbers below `nodes`.
    #[must_use]
    pub fn new(nodes: usize, links: &[Link]) -> Self {
        let mut into: Vec<Vec<(u32, usize)>> = vec![Vec::new(); nodes];
        for (link, number) in links.iter().zip(0..) {
            if let Some(links) = into.get_mut(link.to as usize) {
                links.push((number, link.from as usize));
            }
        }
        let next = (0..nodes).flat_map(|to| next_links(to, &into)).collect();
        Routes { nodes, next }
    }

    /// Return the link at `from` towards `to`. Return None without a path or for the same node.
    #[must_use]
    pub fn next(&self, from: u32, to: u32) -> Option<u32> {
        let (from, to) = (from as usize, to as usize);
        self.next.get(to * self.nodes + from).copied().flatten()
    }
}

/// Search backwards from `to`, nearest nodes first.
fn next_links(to: usize, into: &[Vec<(u32, usize)>]) -> Vec<Option<u32>> {
    let mut next: Vec<Option<u32>> = vec![None; into.len()];
    let mut reached = VecDeque::from([to]);
    while let Some(node) = reached.pop_front() {
        for (link, from) in into.get(node).into_iter().flatten() {
            match next.get_mut(*from) {
                Some(slot) if slot.is_none() && *from != to => {
                    *slot = Some(*link);
                    reached.push_back(*from);
                }
                _ => {}
            }
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Queue;

    fn links(pairs: &[(u32, u32)]) -> Vec<Link> {
        let link = |&(from, to): &(u32, u32)| Link {
            name: String::new(),
            from,
            to,
            rate_bps: None,
            delay_ns: 1,
            queue: Queue::Unlimited,
            loss: Vec::new(),
            opens_at_once: false,
        };
        pairs.iter().map(link).collect()
    }

    #[test]
    fn the_path_with_the_fewest_links_is_taken() {
        let routes = Routes::new(4, &links(&[(0, 1), (1, 2), (2, 3), (0, 2), (3, 0)]));
        assert_eq!(routes.next(0, 3), Some(3));
        assert_eq!(routes.next(2, 3), Some(2));
        assert_eq!(routes.next(3, 1), Some(4));
    }

    #[test]
    fn the_first_of_two_equal_paths_is_taken() {
        let routes = Routes::new(2, &links(&[(0, 1), (0, 1)]));
        assert_eq!(routes.next(0, 1), Some(0));
    }

    #[test]
    fn a_link_has_no_reverse_path() {
        let routes = Routes::new(2, &links(&[(0, 1)]));
        assert_eq!(routes.next(1, 0), None);
        assert_eq!(routes.next(0, 0), None);
    }
}
