"""Stores for the tests."""

import hexad
import pytest


@pytest.fixture
def store():
    """In memory."""
    with hexad.in_memory(capacity="256 MiB") as made:
        yield made


@pytest.fixture
def pool(tmp_path):
    """The directory of a small pool on files."""
    path = tmp_path / "pool"
    hexad.format(path, devices=6, size="64 MiB", preset="tiny")
    return path
