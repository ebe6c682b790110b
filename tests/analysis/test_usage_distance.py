from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cosine, jensenshannon

from wordstill.analysis.usage_distance import average_pairwise_distance, jensen_shannon
from wordstill.errors import UsageError


def test_the_average_distance_is_that_of_all_pairs():
    generator = np.random.default_rng(0)
    first, second = generator.normal(size=(7, 5)), generator.normal(size=(4, 5)) + 1
    expected = np.mean([cosine(one, other) for one in first for other in second])
    assert average_pairwise_distance(first, second) == pytest.approx(expected, abs=1e-6)
    assert average_pairwise_distance(first[:1], 3 * first[:1]) == pytest.approx(0, abs=1e-6)
    with pytest.raises(UsageError, match="got 7 and 0 uses"):
        average_pairwise_distance(first, second[:0])


@pytest.mark.parametrize(("first", "second"), [([3, 1, 0], [1, 1, 2]), ([1, 0], [0, 5]), ([2, 2], [4, 4])])
def test_the_divergence_is_that_of_scipy(first, second):
    assert jensen_shannon(first, second) == pytest.approx(jensenshannon(first, second, base=2) ** 2, abs=1e-12)


@pytest.mark.parametrize(("first", "second"), [([1, 2], [1, 2, 3]), ([0, 0], [1, 1]), ([-1, 2], [1, 1])])
def test_what_is_no_distribution_is_refused(first, second):
    with pytest.raises(UsageError, match="senses"):
        jensen_shannon(first, second)
