"""What is carried to a node and run there: POSIX sh, and Python 3.8 that imports its siblings alone."""
