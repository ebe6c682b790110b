from __future__ import annotations

import pytest


@pytest.fixture(scope="module", autouse=True)
def no_sync(request):
    """Hundreds of small files need not reach the disk; test_files.py looks at that."""
    if request.path.name == "test_files.py":
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wordstill.core.files._sync", lambda path: None)
        yield
