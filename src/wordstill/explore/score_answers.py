"""Endpoints for scores: an evaluation with published scores, and the items on which a table is most wrong."""

from __future__ import annotations

import numpy as np

from wordstill.errors import WordstillError, unknown_name
from wordstill.evaluation.data.catalog import DATASETS
from wordstill.evaluation.report.published import published_for
from wordstill.evaluation.report.tables import title
from wordstill.evaluation.tasks.analogy import AnalogyTask
from wordstill.evaluation.tasks.similarity import SimilarityTask
from wordstill.explore.library import MOST_ANSWERS, Library, bounded
from wordstill.explore.replies import ItemError, ItemErrors, PublishedScores, Scores, WrongAnswer
from wordstill.vectors.table import WordVectors

QUESTIONS = 300
"""Analogy questions to try, to find wrong answers."""


class ScoreAnswers:
    """Endpoints for scores; a method's parameters are those of the address."""

    def __init__(self, library: Library) -> None:
        self.library = library

    def scores(self) -> Scores:
        """The loaded evaluation, with published scores."""
        if self.library.scores is None:
            note = "No evaluation was found. Make one: wordstill evaluate TABLE --out TABLE, then open the page again."
            return Scores(None, {}, [], note)
        evaluation = dict(self.library.scores)
        sets = list(
            dict.fromkeys(score["dataset"] for table in evaluation["tables"].values() for score in table["scores"])
        )
        rows = []
        for row in published_for(sets):
            own = {name: row.scores[name] for name in sets if name in row.scores}
            rows.append(PublishedScores(row.source, row.model, row.protocol, own))
        return Scores(evaluation, {name: title(name) for name in sets}, rows, None)

    def errors(self, dataset: str, table: str = "", limit: int = 20) -> ItemErrors:
        """The pairs that a table ranks most differently from people, or the questions that it answers wrong."""
        # The page must never read files by path.
        if dataset not in DATASETS:
            raise unknown_name("data set", dataset, DATASETS)
        vectors, most = self.library.table(table).vectors, bounded(limit, MOST_ANSWERS)
        try:
            if DATASETS[dataset].task == AnalogyTask.kind:
                return ItemErrors(dataset, [], _wrong_answers(vectors, AnalogyTask(dataset), most), None)
            return ItemErrors(dataset, _misranked(vectors, SimilarityTask(dataset), most), [], None)
        except WordstillError as error:
            return ItemErrors(dataset, [], [], str(error))


def _misranked(vectors: WordVectors, task: SimilarityTask, most: int) -> list[ItemError]:
    pairs, cosines = task.dataset.content, task.similarities(vectors)
    known = np.flatnonzero(~np.isnan(cosines))
    ranks = [np.argsort(np.argsort(some[known])) / max(1, len(known) - 1) for some in (pairs.gold, cosines)]
    errors = ranks[1] - ranks[0]
    return [
        ItemError(
            pairs.first[known[place]],
            pairs.second[known[place]],
            float(pairs.gold[known[place]]),
            float(cosines[known[place]]),
            float(errors[place]),
        )
        for place in np.argsort(-np.abs(errors), kind="stable")[:most].tolist()
    ]


def _wrong_answers(vectors: WordVectors, task: AnalogyTask, most: int) -> list[WrongAnswer]:
    """Wrong answers to a sample of questions."""
    asked = [tuple(word.lower() for word in question) for question in task.dataset.content.words]
    known = [question for question in asked if all(word in vectors for word in question)]
    some = known[:: max(1, len(known) // QUESTIONS)]
    answers = [found[0][0] for found in vectors.analogy_batch([(a, b, c) for a, b, c, _ in some], topn=1)]
    wrong = [WrongAnswer(a, b, c, d, given) for (a, b, c, d), given in zip(some, answers) if given != d]
    return wrong[:: max(1, len(wrong) // most)][:most]
