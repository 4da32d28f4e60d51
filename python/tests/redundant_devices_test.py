"""Pools without parity, on devices that are said to be redundant themselves."""

import os

import hexad
import pytest


@pytest.fixture
def plain(tmp_path):
    pool = tmp_path / "pool"
    hexad.mkfs(pool, devices=2, profile="2+0", size="64 MiB", preset="tiny", redundant_devices=True)
    return pool


def test_they_have_to_be_said_to_be(tmp_path):
    with pytest.raises(hexad.InvalidArgumentError, match="2[+]0 has no parity"):
        hexad.mkfs(tmp_path / "pool", devices=2, profile="2+0", size="64 MiB", preset="tiny")
    assert not os.path.exists(tmp_path / "pool" / "drive0")
    with pytest.raises(TypeError, match="redundant_devices"):
        hexad.mkfs(tmp_path / "one", devices=1, profile="1+0", redundant_devices="yes")


def test_a_store_without_parity(plain):
    data = os.urandom(300_000)
    with hexad.open(plain) as store:
        store.put("object", data)
        status = store.status()
        assert status["redundant_devices"] and status["parity_cells"] == 0
        assert status["faults_tolerated"] == 0 and status["health"] == "ok"
        assert store.effective_options()["redundant_devices"][0] == "true"
        assert store.effective_options()["codec"][0] == "none"
        assert store.fsck(deep=True)["errors"] == 0
    with hexad.open(plain) as store:
        assert store.get("object") == data


def test_each_device_is_needed(plain):
    with hexad.open(plain) as store:
        store.put("object", b"bytes")
    os.rename(plain / "drive1", plain / "away")
    with pytest.raises(hexad.UnavailableError, match="drive1"):
        hexad.open(plain)
    os.rename(plain / "away", plain / "drive1")
    with hexad.open(plain) as store:
        assert store.get("object") == b"bytes"
