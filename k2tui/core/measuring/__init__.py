"""A server's figures: from its counters, gauges and histograms to what is shown."""
