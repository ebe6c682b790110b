"""Linear layers, attention and norms in bfloat16 on a CPU's matrix tiles (AMX), without torch.

torch uses oneDNN for these, which cannot use the tiles on some virtual machines.
"""

from wordstill.teacher.amx.amx_layers import AmxLinear, with_amx
from wordstill.teacher.amx.amx_library import AmxUnavailable

__all__ = ["AmxLinear", "AmxUnavailable", "with_amx"]
