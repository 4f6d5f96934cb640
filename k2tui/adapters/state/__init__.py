"""`state.db`: what k2tui remembers on this side. The one place that knows SQLite."""
