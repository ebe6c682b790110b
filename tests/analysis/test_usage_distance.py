from __future__ import annotations

import pytest
from scipy.spatial.distance import jensenshannon

from wordstill.analysis.usage_distance import jensen_shannon
from wordstill.errors import UsageError


@pytest.mark.parametrize(("first", "second"), [([3, 1, 0], [1, 1, 2]), ([1, 0], [0, 5]), ([2, 2], [4, 4])])
def test_the_divergence_is_that_of_scipy(first, second):
    assert float(jensen_shannon(first, second)) == pytest.approx(jensenshannon(first, second, base=2) ** 2, abs=1e-12)


@pytest.mark.parametrize(("first", "second"), [([1, 2], [1, 2, 3]), ([0, 0], [1, 1]), ([-1, 2], [1, 1])])
def test_what_is_no_distribution_is_refused(first, second):
    with pytest.raises(UsageError, match="senses"):
        jensen_shannon(first, second)
