"""The page: a map of the vocabulary, words with the sentences behind them, questions, and scores."""
