"""Linear layers, attention and norms in bfloat16 by a processor's matrix tiles (AMX), without torch's help.

torch leaves them to oneDNN, which some virtual machines keep from using them.
"""

from wordstill.teacher.precision.tiles.kernel import NoTiles
from wordstill.teacher.precision.tiles.linear import TileLinear
from wordstill.teacher.precision.tiles.model import with_tiles

__all__ = ["NoTiles", "TileLinear", "with_tiles"]
