"""`python -m k2tui.demo.engine`: the simulated server by hand."""

from k2tui.demo.engine.server import entry

if __name__ == "__main__":
    entry()
