"""The evaluation beside the tables, with the rows of papers, and the items that a table gets most wrong."""

from __future__ import annotations

import numpy as np

from wordstill.errors import WordstillError
from wordstill.evaluation.report.published import published_for
from wordstill.evaluation.report.tables import title
from wordstill.explore.library import MOST_ANSWERS, Library, bounded
from wordstill.explore.replies import ItemError, ItemErrors, PublishedScores, Scores


class ScoreAnswers:
    """Scores. A method is an endpoint; its parameters are those of the address."""

    def __init__(self, library: Library) -> None:
        self.library = library

    def scores(self) -> Scores:
        """The evaluation that was loaded, with the rows of the papers."""
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
        """The pairs of a similarity set that a table ranks most unlike people, if the set is on this machine."""
        from wordstill.evaluation.tasks.similarity import SimilarityTask

        loaded = self.library.table(table)
        try:
            task = SimilarityTask(dataset)
            pairs = task.dataset.content
        except WordstillError as error:
            return ItemErrors(dataset, [], str(error))
        cosines = task.similarities(loaded.vectors)
        known = np.flatnonzero(~np.isnan(cosines))
        ranks = [np.argsort(np.argsort(some[known])) / max(1, len(known) - 1) for some in (pairs.gold, cosines)]
        errors = ranks[1] - ranks[0]
        worst = np.argsort(-np.abs(errors), kind="stable")[: bounded(limit, MOST_ANSWERS)].tolist()
        return ItemErrors(
            dataset,
            [
                ItemError(
                    pairs.first[known[place]],
                    pairs.second[known[place]],
                    float(pairs.gold[known[place]]),
                    float(cosines[known[place]]),
                    float(errors[place]),
                )
                for place in worst
            ],
            None,
        )
