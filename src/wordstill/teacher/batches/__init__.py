"""What the teacher reads at one time: planned, made and sent to its device."""
