"""Statistics that tcptrace prints for a set of times."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(slots=True)
class Times:
    """Minimum (in which zero means none), maximum and sums, in microseconds."""

    least: int = 0
    most: int = 0
    total: float = 0.0
    squares: float = 0.0
    count: int = 0
    had_zero: bool = False

    def add(self, time: int) -> None:
        self.had_zero |= time == 0
        if self.least == 0 or time < self.least:
            self.least = time
        self.most = max(self.most, time)
        self.total += time
        self.squares += float(time) * time
        self.count += 1

    def mean(self) -> float:
        return self.total / (self.count + 0.0001)

    def deviation(self) -> float:
        if self.count <= 2:
            return 0.0
        variance = (self.squares - self.total * self.total / self.count) / (self.count - 1)
        return math.sqrt(variance) if variance >= 0 else math.nan
