"""Parts of a text that are looked at by themselves: groups of documents, and folds of each group."""
