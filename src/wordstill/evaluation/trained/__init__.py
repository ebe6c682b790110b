"""Tasks that train: sentence classification, tagging, and the parent model trained further.

Nothing is imported here: the registry of data sets uses the readers of this package, and training needs
packages that reading does not. ``classification``, ``tagging`` and ``finetuned`` hold the tasks, ``config``
their settings.
"""
