"""Runs in shards, by several processes or machines, and kept sums: start reading at `running`."""

from wordstill.scale.running import ScaleConfig, distill_in_shards

__all__ = ["ScaleConfig", "distill_in_shards"]
