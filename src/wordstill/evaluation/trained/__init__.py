"""Tasks that train: sentence classification, tagging, and fine-tuning of the teacher.

``classification``, ``tagging`` and ``finetuned`` have the tasks, ``config`` their settings. Nothing is imported here,
because training needs more packages than the rest of `wordstill.evaluation`.
"""
