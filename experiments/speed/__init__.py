"""Speed and memory against a peer or a limit, one module for each benchmark."""
