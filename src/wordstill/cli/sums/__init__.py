"""Commands and options of runs in shards, and of the sums that they keep."""
