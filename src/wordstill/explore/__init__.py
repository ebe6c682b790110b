"""The page in the browser: a map of the vocabulary, words with example sentences, questions, and scores."""
