"""What k2tui costs, against limits that hold on a busy 2-core machine."""
