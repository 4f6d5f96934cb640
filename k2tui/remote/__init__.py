"""What is carried to a node and run there: POSIX sh. Imports nothing of k2tui."""
