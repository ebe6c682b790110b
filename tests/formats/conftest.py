from __future__ import annotations

import pytest


@pytest.fixture(scope="module", autouse=True)
def no_sync():
    """Hundreds of small files need not reach the disk; tests/core/test_files.py looks at that."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wordstill.core.files._sync", lambda path: None)
        yield
