"""Scores of word vectors: intrinsic tasks, trained classifiers and taggers, retrofitting."""
