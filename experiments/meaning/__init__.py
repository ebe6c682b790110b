"""Scores of word meanings in context: triples, distillers, development data, tasks."""
