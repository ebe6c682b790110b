"""Speed and memory beside a peer or a limit, one module for each benchmark."""
