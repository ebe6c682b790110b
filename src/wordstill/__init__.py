"""wordstill distils contextual language models into word vectors that stay still."""

__version__ = "0.1.0"
