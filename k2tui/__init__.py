"""k2tui: the control room, in a terminal, of people who serve large language models over SSH."""

__version__ = "0.1.0"
