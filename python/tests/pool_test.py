"""Making pools, and opening them: twice, without some devices, by their paths."""

import os
import pickle
import shutil

import hexad
import pytest


def test_a_pool_stays_and_survives_lost_devices(pool):
    with hexad.open(pool) as store:
        store.put("a", b"x" * 100_000)
        assert store.path == str(pool)
    os.remove(pool / "drive1")
    os.remove(pool / "drive4")
    with hexad.open(str(pool), read_only=True) as store:
        assert store.get("a") == b"x" * 100_000
        assert store.status()["faults_tolerated"] == 0
        with pytest.raises(hexad.ReadOnlyError):
            store.put("b", b"")
    os.remove(pool / "drive0")
    with pytest.raises(hexad.UnavailableError):
        hexad.open(pool)
    seen = hexad.inspect(pool)
    assert seen["health"] == "unavailable"
    assert [device["id"] for device in seen["devices"]] == list(range(7))


def test_opening_by_devices(pool):
    devices = [pool / f"drive{i}" for i in range(6)]
    with hexad.open(devices=devices, fast=[pool / "fast"]) as store:
        store.put("a", b"x")
    with pytest.raises(ValueError):
        hexad.open(pool, devices=devices)
    with pytest.raises(ValueError):
        hexad.open()


def test_opening_twice_shares_the_store(pool):
    first = hexad.open(pool)
    second = hexad.open(os.path.relpath(pool))
    reader = hexad.open(pool, read_only=True)
    first.put("a", b"x")
    assert second.get("a") == b"x" and reader.get("a") == b"x"
    with pytest.raises(hexad.ReadOnlyError):
        reader.put("a", b"y")
    with pytest.raises(ValueError, match="other options"):
        hexad.open(pool, cache_size=0)
    first.close()
    first.close()
    with pytest.raises(hexad.ClosedError):
        first.get("a")
    assert second.get("a") == b"x"
    second.close()
    reader.close()
    with hexad.open(pool, cache_size="1 MiB", read_only=True) as only:
        assert only.get("a") == b"x"
        with hexad.open(pool) as writer:  # python/tests/open_twice_test.py has more
            writer.put("a", b"z")
        assert only.get("a") == b"z"


@pytest.mark.parametrize("moved", [False, True])
def test_a_pool_made_where_an_open_one_was_is_another(pool, moved):
    with hexad.open(pool) as old:
        old.put("old", b"1")
        if moved:
            os.rename(pool, f"{pool}.moved")
        else:
            shutil.rmtree(pool)
        hexad.format(pool, devices=6, size="64 MiB", preset="tiny")
        with hexad.open(pool) as new:
            assert list(new) == []
            new.put("new", b"2")
            with hexad.open(pool) as again:  # of the two it is the one that is there
                assert list(again) == ["new"]
        assert list(old) == ["old"]
    with hexad.open(pool) as new:
        assert list(new) == ["new"]
    if moved:
        with hexad.open(f"{pool}.moved") as old:
            assert list(old) == ["old"]


def test_what_an_open_pool_has_of_devices_is_not_written_down_for_another_one(tmp_path):
    pool = tmp_path / "pool"

    def make():
        hexad.format(pool, devices=7, size="64 MiB", preset="tiny", profile="4+2")
        return (pool / "hexad.pool").read_bytes()

    make()
    with hexad.open(pool) as old:
        old.drain_device(6)
        old.move_slabs()
        os.rename(pool, tmp_path / "moved")
        with pytest.raises(hexad.NotFoundError):
            old.remove_device(6)
        description = make()
        for change in (
            lambda: old.remove_device(6),
            lambda: old.add_device(pool / "drive7"),
            lambda: old.replace_device(5, tmp_path / "another"),
            lambda: old.replace_device(7, tmp_path / "fast"),
        ):
            with pytest.raises(hexad.InvalidArgumentError, match="another pool by now"):
                change()
        assert (pool / "hexad.pool").read_bytes() == description
        assert not (pool / "drive7").exists() and not (tmp_path / "another").exists()
        with hexad.open(pool) as new:
            assert new.status()["uuid"] != old.status()["uuid"]
    with hexad.open(tmp_path / "moved") as old:
        old.remove_device(6)
        assert b"drive6" not in (tmp_path / "moved" / "hexad.pool").read_bytes()


def test_a_pool_that_has_lost_most_devices_while_it_is_open_is_the_same(pool):
    with hexad.open(pool) as first:
        first.put("a", b"1")
        for i in range(5):
            os.rename(pool / f"drive{i}", pool / f"was{i}")
            (pool / f"drive{i}").write_bytes((pool / f"was{i}").read_bytes())
        with hexad.open(pool) as second:
            assert second.get("a") == b"1"


def test_a_read_only_store_can_be_pickled(pool):
    with hexad.open(pool) as store:
        store.put("a", b"x")
        with pytest.raises(TypeError):
            pickle.dumps(store)
    with hexad.open(pool, read_only=True) as store:
        copy = pickle.loads(pickle.dumps(store))
    with copy:
        assert copy.read_only and copy.get("a") == b"x"


def test_format_refuses_what_is_there(pool):
    with pytest.raises(FileExistsError):
        hexad.format(pool, devices=6)
    with pytest.raises(hexad.InvalidArgumentError, match="profile"):
        hexad.mkfs(pool.parent / "new", devices=6, profile="4-2")
    assert not (pool.parent / "new").exists()
    hexad.format(pool, devices=6, size="64 MiB", preset="tiny", force=True)
    with pytest.raises(hexad.InvalidArgumentError, match="several"):
        hexad.format(pool.parent / "new", devices="drive")


def test_a_pool_needs_no_fast_directory(tmp_path):
    pool = tmp_path / "pool"
    hexad.format(pool, devices=6, fast=(), size="64 MiB", preset="tiny")
    assert sorted(os.listdir(pool)) == [*(f"drive{i}" for i in range(6)), "hexad.pool"]
    with hexad.open(pool) as store:
        store.put("a", b"value")
        store.checkpoint()
        status = store.status()
        assert status["health"] == "ok"
        assert any(note.startswith("no fast directory") for note in status["notes"])
        assert status["devices"][0]["bad_header_slots"] == 0
    with hexad.open(pool, read_only=True) as store:
        assert store.get("a") == b"value"
        assert store.fsck(deep=True)["bad_header_slots"] == 0


def test_nothing_is_made_by_opening(tmp_path):
    with pytest.raises(FileNotFoundError):
        hexad.open(tmp_path / "none")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", ["off", "budgeted", "always"])
def test_reads_may_be_hedged(pool, mode):
    with hexad.open(pool, hedged_reads=mode, cache_size=0) as store:
        store.put("a", b"x" * 5000)
        assert store.get("a") == b"x" * 5000
        assert store.effective_options()["hedged_reads"][0] == mode


def test_devices_come_back_by_themselves_unless_that_is_not_wanted(pool):
    with hexad.open(pool) as store:
        assert store.effective_options()["returns"] == ("by-themselves", "default")
        assert "return" in [job["name"] for job in store.status()["jobs"]]
    with hexad.open(pool, returns="when-asked") as store:
        assert store.effective_options()["returns"] == ("when-asked", "given")


def test_an_unknown_option_names_those_that_there_are(pool):
    with pytest.raises(ValueError, match="cache_size"):
        hexad.open(pool, cash_size=1)
    with pytest.raises(ValueError, match="log_durability"):
        hexad.in_memory(durability="full")
    with pytest.raises(ValueError, match="off, budgeted, always"):
        hexad.open(pool, hedged_reads="sometimes")
    with pytest.raises(ValueError, match="by-themselves or when-asked"):
        hexad.open(pool, returns="never")


def test_addresses_of_devices_that_are_no_files_stay_as_they_are(tmp_path):
    images = [f"rbd:log/x{i}?colour=red" for i in range(6)]
    with pytest.raises(hexad.InvalidArgumentError, match="'colour=red' is none of conf=") as caught:
        hexad.mkfs(tmp_path / "pool", devices=images)
    assert os.getcwd() not in str(caught.value)
    with pytest.raises(hexad.Error, match="rbd:log/x0"):
        hexad.open(devices=images)
