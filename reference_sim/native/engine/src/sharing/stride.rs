//! Turns by stride scheduling with tickets (Waldspurger and Weihl 1995; Eggert 1999, sections 3.4 and 4).
//!
//! Each member has tickets. Its stride is inversely proportional to the tickets. The turn goes to the member
//! with the lowest pass, and adds the stride to that pass. A turn is one packet.

use crate::app::{Content, End};
use crate::stack::Scheduler;

/// Stride of one ticket: a constant that all ticket counts here divide with a small error (`stride1` of
/// Waldspurger and Weihl, section 2.1).
const STRIDE_OF_ONE_TICKET: u64 = 1 << 20;

/// Initial tickets of a connection with decaying tickets (Eggert 1999, section 4).
const DECAYING_TICKETS: u64 = 16;

/// Packet counts after which the tickets are halved.
const DECAY_AFTER_PACKETS: [u64; 4] = [5, 10, 20, 40];

/// The content kind of a connection, as the writer declared it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContentKind {
    Html,
    Java,
    Image,
    Ftp,
    /// No head was written yet, or a head of another kind, such as a request.
    #[default]
    Unknown,
}

impl ContentKind {
    /// Return the content kind that a head declares. None: the writer continues the previous content.
    ///
    /// The paper names four kinds. Java covers all other content that a page executes (class files, archives,
    /// scripts).
    #[must_use]
    pub fn of(parts: &[Content], is_file_transfer: bool) -> Option<Self> {
        if is_file_transfer {
            return Some(ContentKind::Ftp);
        }
        parts.iter().find_map(|part| match part {
            Content::Head { head, .. } => Some(head.media_type().map_or(
                ContentKind::Unknown,
                |media_type| match media_type {
                    "text/html" => ContentKind::Html,
                    _ if media_type.starts_with("image/") => ContentKind::Image,
                    _ if media_type.contains("java") => ContentKind::Java,
                    _ => ContentKind::Unknown,
                },
            )),
            Content::Text(_) | Content::Body { .. } => None,
        })
    }
}

/// A member's claim to turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tickets {
    /// Turns in this proportion.
    Some(u64),
    /// Turns before all members with numbered tickets, and in rotation among themselves.
    Infinite,
}

impl Tickets {
    /// Return the tickets of a member under one of the four policies (Eggert 1999, section 4).
    ///
    /// The paper gives no number for unknown content, which gets the minimum.
    #[must_use]
    pub fn of(policy: Scheduler, content: ContentKind, packets_sent: u64) -> Self {
        let by_content = match content {
            ContentKind::Html => 12,
            ContentKind::Java => 6,
            ContentKind::Image => 3,
            ContentKind::Ftp | ContentKind::Unknown => 1,
        };
        match policy {
            Scheduler::Fair => Tickets::Some(1),
            Scheduler::ContentDependent => Tickets::Some(by_content),
            Scheduler::HtmlPre if content == ContentKind::Html => Tickets::Infinite,
            Scheduler::HtmlPre => Tickets::Some(by_content),
            Scheduler::TicketDecay => {
                let decays = DECAY_AFTER_PACKETS
                    .iter()
                    .filter(|after| packets_sent >= **after)
                    .count();
                Tickets::Some(DECAYING_TICKETS >> decays)
            }
        }
    }

    fn stride(self) -> u64 {
        match self {
            Tickets::Some(count) => STRIDE_OF_ONE_TICKET / count.max(1),
            Tickets::Infinite => STRIDE_OF_ONE_TICKET,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Client {
    member: End,
    content: ContentKind,
    packets_sent: u64,
    pass: u64,
}

/// The members of an ensemble and their passes.
#[derive(Clone, Debug)]
pub struct Stride {
    policy: Scheduler,
    /// Members in joining order.
    clients: Vec<Client>,
    /// Pass of the member with the last turn.
    global_pass: u64,
}

impl Stride {
    #[must_use]
    pub fn new(policy: Scheduler) -> Self {
        Stride {
            policy,
            clients: Vec::new(),
            global_pass: 0,
        }
    }

    /// Add a member. Its first turn is due with the next turns of the others.
    pub fn join(&mut self, member: End) {
        self.clients.push(Client {
            member,
            content: ContentKind::Unknown,
            packets_sent: 0,
            pass: self.global_pass,
        });
    }

    pub fn leave(&mut self, member: End) {
        self.clients.retain(|client| client.member != member);
    }

    pub fn set_content(&mut self, member: End, content: ContentKind) {
        if let Some(client) = self.client(member) {
            client.content = content;
        }
    }

    /// Return all members, the member with the turn first. The caller skips members without data.
    #[must_use]
    pub fn turns(&self) -> Vec<End> {
        let mut order: Vec<_> = self
            .clients
            .iter()
            .enumerate()
            .map(|(joined, client)| {
                let is_later = self.tickets(client) != Tickets::Infinite;
                (is_later, self.due(client), joined, client.member)
            })
            .collect();
        order.sort_unstable();
        order.into_iter().map(|(.., member)| member).collect()
    }

    /// Charge a member for its turn.
    pub fn charge(&mut self, member: End) {
        let (policy, global_pass) = (self.policy, self.global_pass);
        let Some(client) = self.client(member) else {
            return;
        };
        let due = client.pass.max(global_pass);
        let tickets = Tickets::of(policy, client.content, client.packets_sent);
        client.pass = due + tickets.stride();
        client.packets_sent += 1;
        if tickets != Tickets::Infinite {
            self.global_pass = due;
        }
    }

    /// Return the effective pass of a member. A member without data has no claim to missed turns and counts
    /// as newly joined (`client_leave` and `client_join` of Waldspurger and Weihl, without their fraction of
    /// a turn).
    fn due(&self, client: &Client) -> u64 {
        client.pass.max(self.global_pass)
    }

    fn tickets(&self, client: &Client) -> Tickets {
        Tickets::of(self.policy, client.content, client.packets_sent)
    }

    fn client(&mut self, member: End) -> Option<&mut Client> {
        self.clients
            .iter_mut()
            .find(|client| client.member == member)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::truth::Side;

    fn member(connection: u32) -> End {
        End {
            connection,
            side: Side::Server,
        }
    }

    /// Return how many of the next turns each member takes, if all have data.
    fn shares(stride: &mut Stride, turns: usize, members: &[u32]) -> Vec<usize> {
        let mut taken = vec![0; members.len()];
        for _ in 0..turns {
            let member = *stride
                .turns()
                .iter()
                .find(|member| members.contains(&member.connection))
                .unwrap();
            stride.charge(member);
            taken[members
                .iter()
                .position(|m| *m == member.connection)
                .unwrap()] += 1;
        }
        taken
    }

    #[test]
    fn fair_members_take_turns_from_when_they_join_until_they_leave() {
        let mut stride = Stride::new(Scheduler::Fair);
        stride.join(member(7));
        assert_eq!(shares(&mut stride, 100, &[7]), [100]);
        stride.join(member(8));
        assert_eq!(shares(&mut stride, 100, &[7, 8]), [50, 50]);
        stride.join(member(9));
        assert_eq!(shares(&mut stride, 99, &[7, 8, 9]), [33, 33, 33]);
        stride.leave(member(9));
        assert_eq!(shares(&mut stride, 100, &[7, 8]), [50, 50]);
    }

    #[test]
    fn content_decides_in_the_proportion_12_to_6_to_3_to_1() {
        let mut stride = Stride::new(Scheduler::ContentDependent);
        let kinds = [
            ContentKind::Html,
            ContentKind::Java,
            ContentKind::Image,
            ContentKind::Ftp,
        ];
        for (number, kind) in (0..).zip(kinds) {
            stride.join(member(number));
            stride.set_content(member(number), kind);
        }
        assert_eq!(shares(&mut stride, 220, &[0, 1, 2, 3]), [120, 60, 30, 10]);
    }

    #[test]
    fn tickets_halve_after_the_5th_10th_20th_and_40th_packet() {
        let tickets = |packets| Tickets::of(Scheduler::TicketDecay, ContentKind::Html, packets);
        let expected = [
            (0, 16),
            (4, 16),
            (5, 8),
            (9, 8),
            (10, 4),
            (19, 4),
            (20, 2),
            (39, 2),
            (40, 1),
            (1000, 1),
        ];
        for (packets, count) in expected {
            assert_eq!(tickets(packets), Tickets::Some(count), "{packets} packets");
        }
    }

    #[test]
    fn a_new_connection_overtakes_one_whose_tickets_decayed() {
        let mut stride = Stride::new(Scheduler::TicketDecay);
        stride.join(member(0));
        shares(&mut stride, 100, &[0]);
        stride.join(member(1));
        // The limit is the point at which its own strides (5 of 1/16, 5 of 1/8, then 1/4) sum to the other's
        // one.
        assert_eq!(shares(&mut stride, 11, &[0, 1]), [0, 11]);
        shares(&mut stride, 100, &[0, 1]);
        assert_eq!(shares(&mut stride, 100, &[0, 1]), [50, 50]);
    }

    #[test]
    fn html_precedes_other_content_and_shares_with_html() {
        let mut stride = Stride::new(Scheduler::HtmlPre);
        for (number, kind) in [
            (0, ContentKind::Image),
            (1, ContentKind::Html),
            (2, ContentKind::Java),
            (3, ContentKind::Html),
        ] {
            stride.join(member(number));
            stride.set_content(member(number), kind);
        }
        assert_eq!(shares(&mut stride, 40, &[0, 1, 2, 3]), [0, 20, 0, 20]);
        assert_eq!(
            shares(&mut stride, 30, &[0, 2]),
            [10, 20],
            "when it is done"
        );
    }

    #[test]
    fn a_member_without_data_does_not_catch_up() {
        let mut stride = Stride::new(Scheduler::Fair);
        stride.join(member(0));
        stride.join(member(1));
        assert_eq!(shares(&mut stride, 1000, &[0]), [1000]);
        assert_eq!(shares(&mut stride, 100, &[0, 1]), [50, 50]);
    }
}
