//! A container whose items each have a place. Places are reused.

#[derive(Debug)]
pub struct Slab<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab {
            places: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slab<T> {
    /// Insert an item and return its place.
    #[inline]
    pub fn insert(&mut self, thing: T) -> u32 {
        if let Some(place) = self.free.pop() {
            if let Some(slot) = self.places.get_mut(place as usize) {
                *slot = Some(thing);
            }
            return place;
        }
        self.places.push(Some(thing));
        self.places.len() as u32 - 1
    }

    #[inline]
    pub fn remove(&mut self, place: u32) -> Option<T> {
        let thing = self.places.get_mut(place as usize)?.take()?;
        self.free.push(place);
        Some(thing)
    }

    #[must_use]
    #[inline]
    pub fn get(&self, place: u32) -> Option<&T> {
        self.places.get(place as usize)?.as_ref()
    }

    #[inline]
    pub fn get_mut(&mut self, place: u32) -> Option<&mut T> {
        self.places.get_mut(place as usize)?.as_mut()
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().flatten()
    }

    /// Return the number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Return the maximum number of items so far.
    #[must_use]
    pub fn places(&self) -> usize {
        self.places.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_place_is_reused() {
        let mut slab = Slab::default();
        let places = ["a", "b"].map(|thing| slab.insert(thing));
        assert_eq!(slab.remove(places[0]), Some("a"));
        assert_eq!(slab.remove(places[0]), None);
        assert_eq!(slab.insert("c"), places[0]);
        assert_eq!((slab.len(), slab.places()), (2, 2));
        assert_eq!(slab.get(places[0]), Some(&"c"));
    }
}
