from __future__ import annotations

import pytest
import torch

from wordstill.teacher.attention import DistanceBias, attend_texts, windows_of

LENGTHS = [
    [1], [3], [100], [3, 3, 3], [2, 2, 60, 60, 7], [48, 48, 49, 49], [5, 70, 5, 5, 150, 1],
    [150, 33, 17, 16, 4, 4, 4, 3, 3, 1], [63, 1, 1], [64, 65],
]  # fmt: skip


def slowly(query, key, value, lengths, scale, causal=False, table=None, reach=None):
    """Softmax, text by text and head by head."""
    result, start = torch.empty(query.shape[1], query.shape[0], value.shape[2]), 0
    shared = len(query) // len(key)
    for n in lengths:
        place = slice(start, start + n)
        for head in range(len(query)):
            scores = scale * query[head, place] @ key[head // shared, place].T
            for i, j in ((i, j) for i in range(n) for j in range(n)) if table is not None else ():
                scores[i, j] += table[head, j - i + table.shape[1] // 2]
            if reach is not None:
                far = (torch.arange(n)[:, None] - torch.arange(n)).abs() >= reach
                scores = scores.masked_fill(far, -torch.inf)
            if causal:
                scores = scores.masked_fill(torch.ones(n, n).triu(1).bool(), -torch.inf)
            result[place, head] = torch.softmax(scores, dim=1) @ value[head // shared, place]
        start += n
    return result


def tensors(rows, heads=3, width=8, spread=1.0):
    torch.manual_seed(0)
    # As transformers gives them: heads lie side by side in a row.
    return [spread * torch.randn(rows, heads, width).transpose(0, 1) for _ in range(3)]


@pytest.mark.parametrize("causal", [False, True], ids=["whole", "causal"])
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_it_is_attention(lengths, causal):
    given = tensors(sum(lengths))
    result = attend_texts(*given, lengths, 0.3, causal=causal)
    torch.testing.assert_close(result, slowly(*given, lengths, 0.3, causal))


@pytest.mark.parametrize("causal", [False, True], ids=["whole", "causal"])
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_keys_of_neighbors_that_fill_a_step_are_not_seen(lengths, causal):
    """As in bfloat16, but in float32, so that a key that should not be seen shows."""
    given, aligned = tensors(sum(lengths)), (torch.float32,)
    windows = windows_of(tuple(lengths), causal, torch.float32, torch.device("cpu"), aligned)
    result = attend_texts(*given, lengths, 0.3, causal=causal, aligned=aligned)
    sizes = [window.keys.stop - window.keys.start for window in windows]
    single = [window.texts.stop - window.texts.start in lengths for window in windows]
    assert all(n % 16 == 0 or n == sum(lengths) or (causal and one) for n, one in zip(sizes, single))
    torch.testing.assert_close(result, slowly(*given, lengths, 0.3, causal))


@pytest.mark.parametrize("causal", [False, True], ids=["whole", "causal"])
def test_heads_of_keys_that_serve_several(causal):
    lengths = [70, 6, 5, 60]
    query, *_ = tensors(sum(lengths), heads=4)
    _, key, value = tensors(sum(lengths), heads=2)
    result = attend_texts(query, key, value, lengths, 0.3, causal=causal)
    torch.testing.assert_close(result, slowly(query, key, value, lengths, 0.3, causal))


@pytest.mark.parametrize("causal", [False, True], ids=["whole", "causal"])
@pytest.mark.parametrize(("biased", "reach"), [(True, None), (False, 5), (True, 20)])
@pytest.mark.parametrize("aligned", [(), (torch.float32,)], ids=["as it is", "with keys of neighbors"])
def test_what_is_added_by_distance(biased, reach, causal, aligned):
    lengths = [70, 3, 9, 2, 50]
    given = tensors(sum(lengths))
    table = torch.randn(3, 2 * 70 - 1) if biased else None
    bias = DistanceBias(table, reach, {})
    first, again = (attend_texts(*given, lengths, 0.3, causal=causal, bias=bias, aligned=aligned) for _ in range(2))
    torch.testing.assert_close(first, slowly(*given, lengths, 0.3, causal, table, reach))
    assert torch.equal(first, again)


def test_short_texts_are_read_together():
    windows = windows_of((30, 30, 5, 60, 2, 2), False, torch.float32, torch.device("cpu"))
    assert [(w.texts.start, w.texts.stop) for w in windows] == [(0, 60), (60, 65), (65, 129)]
    assert [w.mask is None for w in windows] == [False, True, False]


def test_texts_with_too_many_scores():
    given = tensors(200)
    result = attend_texts(*given, [60, 61, 79], 0.3, most_scores=3 * 60 * 60)
    torch.testing.assert_close(result, slowly(*given, [60, 61, 79], 0.3))


@pytest.mark.parametrize("most_scores", [None, 3 * 60 * 60], ids=["usual", "few"])
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_it_is_attention_in_bfloat16(lengths, most_scores):
    given = [tensor.bfloat16() for tensor in tensors(sum(lengths))]
    result = attend_texts(*given, lengths, 0.3, most_scores=most_scores)
    exact = slowly(*(tensor.float() for tensor in given), lengths, 0.3)
    assert result.dtype == torch.bfloat16
    torch.testing.assert_close(result.float(), exact, rtol=0.02, atol=0.02)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("shift", [40.0, -40.0], ids=["too large", "too small"])
def test_scores_whose_exponentials_are_not_finite_or_vanish(shift, dtype):
    query, key, value = tensors(130)
    query[..., 0], key[..., 0] = 20.0, shift
    query, key, value = (tensor.to(dtype).float() for tensor in (query, key, value))
    result = attend_texts(query.to(dtype), key.to(dtype), value.to(dtype), [60, 70], 1.0).float()
    tolerance = 1e-4 if dtype == torch.float32 else 0.02
    expected = slowly(query, key, value, [60, 70], 1.0)
    torch.testing.assert_close(result, expected, rtol=tolerance, atol=tolerance)
    assert torch.isfinite(result).all()
