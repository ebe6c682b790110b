"""Norms: what a file says, and nested cross-validation against a slow one."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from wordstill import WordVectors
from wordstill.analysis.ratings import LEAST_WORDS, PENALTIES, Ratings, predict_norms, read_ratings
from wordstill.errors import DataError, UsageError


def make_table(words=90, dim=5, seed=0):
    matrix = np.random.default_rng(seed).standard_normal((words, dim)).astype(np.float32)
    return WordVectors([f"w{number}" for number in range(words)], matrix)


def make_ratings(table, count=60, noise=0.3, seed=1):
    """A planted direction with noise, for the first words."""
    random = np.random.default_rng(seed)
    units = table.matrix / np.linalg.norm(table.matrix, axis=1, keepdims=True)
    values = 4 + units[:count] @ random.standard_normal(table.dim) + noise * random.standard_normal(count)
    return Ratings(("valence",), table.words[:count], values[:, None].astype(np.float64))


def ridge(vectors, gold, penalty, of):
    mean, level = vectors.mean(axis=0), gold.mean()
    centered = vectors - mean
    weights = np.linalg.solve(centered.T @ centered + penalty * np.eye(vectors.shape[1]), centered.T @ (gold - level))
    return level + (of - mean) @ weights


def test_predictions_are_those_of_a_slow_nested_cross_validation(monkeypatch):
    penalties = PENALTIES[8:17:2]
    monkeypatch.setattr("wordstill.analysis.ratings.PENALTIES", penalties)
    table = make_table()
    ratings = make_ratings(table)
    (norm,) = predict_norms(table, ratings, folds=3, seed=4).norms
    vectors = table.matrix.astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rated, gold = vectors[:60], ratings.values[:, 0]

    def best_penalty(inside):
        def left_out(penalty):
            return sum(
                (ridge(rated[rest], gold[rest], penalty, rated[one]) - gold[one]) ** 2
                for one in inside
                for rest in [[other for other in inside if other != one]]
            )

        return min(penalties, key=left_out)

    for part in np.array_split(np.random.default_rng(4).permutation(60), 3):
        inside = [number for number in range(60) if number not in part]
        expected = ridge(rated[inside], gold[inside], best_penalty(inside), rated[part])
        np.testing.assert_allclose(norm.predicted[part], expected, rtol=1e-6)
    expected = ridge(rated, gold, best_penalty(list(range(60))), vectors[60:])
    np.testing.assert_allclose(norm.predicted[60:], expected, rtol=1e-5)
    assert norm.error == pytest.approx(np.abs(norm.predicted[:60] - gold).mean())


def test_a_planted_direction_is_found_and_noise_is_not():
    table = make_table(400, 8)
    (found,) = predict_norms(table, make_ratings(table, 300)).norms
    assert found.pearson > 0.6
    assert found.pearson_interval.low < found.pearson < found.pearson_interval.high
    noise = Ratings(("noise",), table.words[:300], np.random.default_rng(0).standard_normal((300, 1)))
    (none,) = predict_norms(table, noise).norms
    assert abs(none.pearson) < 0.2


def test_words_are_found_in_lower_case_averaged_by_row_and_counted():
    table = make_table()
    ratings = make_ratings(table)
    more = Ratings(
        ("valence",),
        (*ratings.words, "W0", "nowhere"),
        np.vstack([ratings.values, [[ratings.values[0, 0] + 2]], [[1]]]),
    )
    found = predict_norms(table, more)
    assert found.missing == ("nowhere",)
    assert found.norms[0].given[0] == pytest.approx(ratings.values[0, 0] + 1)
    assert found.norms[0].used == 60


def test_the_csv_has_every_word_and_the_given_ratings(tmp_path):
    matrix = make_table().matrix
    table = WordVectors(["a,b", 'quote"d', *(f"w{number}" for number in range(2, 90))], matrix)
    found = predict_norms(table, make_ratings(table))
    found.save(tmp_path / "norms.csv")
    rows = list(csv.reader((tmp_path / "norms.csv").open(encoding="utf-8", newline="")))
    assert rows[0] == ["word", "valence", "valence_given"]
    assert [row[0] for row in rows[1:]] == list(table.words)
    assert float(rows[1][2]) == pytest.approx(found.norms[0].given[0], rel=1e-5)
    assert rows[-1][2] == ""
    with pytest.raises(UsageError, match="exists already"):
        found.save(tmp_path / "norms.csv")


def test_columns_are_chosen_and_missing_ratings_skipped(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("id,Word,V.Mean,A.Mean\n1,sun,8,3\n2,war,1,NA\n3,sun,6,5\n")
    ratings = read_ratings(tmp_path / "ratings.csv#word,v.mean,a.mean")
    assert (ratings.names, ratings.words, ratings.repeated) == (("v.mean", "a.mean"), ("sun", "war"), 1)
    np.testing.assert_array_equal(ratings.values, [[7, 4], [1, np.nan]])
    assert read_ratings(tmp_path / "ratings.csv#2,3").names == ("column_3",)


def test_a_plain_file_has_a_word_and_a_rating(tmp_path):
    path = tmp_path / "ratings.tsv"
    path.write_text("word\trating\nsun\t8.5\nice cream\t7\n")
    ratings = read_ratings(path)
    assert (ratings.names, ratings.words) == (("rating",), ("sun", "ice cream"))
    for text, name in {
        "item,Beauty\nsun,8\n": "Beauty",
        "sun,8\nwar,1\n": "rating",
        "sun,NA\nwar,1\n": "rating",
    }.items():
        path.write_text(text)
        assert read_ratings(path).names == (name,)


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("word,rating\nsun,8\nwar,bad\n", "", r"ratings.csv:3: the rating 'rating' is 'bad', expected a number"),
        (
            "word,rating\nsun,8\n",
            "#word,valence",
            r"there is no column 'valence'. The first line has: 'word', 'rating'",
        ),
        ("word,joy,fear\nsun,8,1\n", "", r"which column is the rating: 'word', 'joy', 'fear'. .*ratings.csv#word,joy"),
        ("", "", "has no ratings"),
        ("word,rating\n,8\n", "", "ratings.csv:2: there is no word"),
        ("word,rating\nsun,8,9\n", "", "got 3 field"),
    ],
)
def test_bad_files_are_one_line(tmp_path, text, columns, message):
    (tmp_path / "ratings.csv").write_text(text)
    with pytest.raises(DataError, match=message) as error:
        read_ratings(tmp_path / f"ratings.csv{columns}")
    assert "\n" not in str(error.value)


def test_too_few_ratings_and_all_one_value_are_refused():
    table = make_table()
    with pytest.raises(DataError, match=f"has 20 words with the rating 'valence', expected {LEAST_WORDS} or more"):
        predict_norms(table, make_ratings(table, 20))
    with pytest.raises(DataError, match="Every rating 'valence' is 3"):
        predict_norms(table, Ratings(("valence",), table.words, np.full((90, 1), 3.0)))
    with pytest.raises(UsageError, match="folds must be 2 or more"):
        predict_norms(table, make_ratings(table), folds=1)
