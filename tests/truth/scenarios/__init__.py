"""Real connections on an isolated loopback, each showing one pathology."""
