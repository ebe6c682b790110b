"""What measures wordstill, and what turns the measurements into tables: see README.md."""
