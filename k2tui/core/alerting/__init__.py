"""Rules over readings: which hold, since when, and what to say."""
