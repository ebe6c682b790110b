"""What methods that take steps share: examples, negatives, losses, and the one step of a table's rows."""
