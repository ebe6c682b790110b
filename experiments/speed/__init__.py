"""Speed and memory compared with a peer or a limit, one module for each benchmark."""
