"""Real connections on a loopback of their own, each made to show one pathology."""
