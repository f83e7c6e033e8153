"""Real HTTP/2 with a known culprit: its cost against a twin without it, and its findings."""
