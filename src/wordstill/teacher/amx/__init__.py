"""Linear layers, attention and norms in bfloat16 by a processor's matrix tiles (AMX), without torch's help.

torch leaves them to oneDNN, which some virtual machines keep from using them.
"""

from wordstill.teacher.amx.amx_layers import AmxLinear, with_amx
from wordstill.teacher.amx.amx_library import AmxUnavailable

__all__ = ["AmxLinear", "AmxUnavailable", "with_amx"]
