"""The same run in shards: by several processes, on several machines, and later with more text."""

from wordstill.scale.running import ScaleConfig, distill_in_shards

__all__ = ["ScaleConfig", "distill_in_shards"]
