"""One device more, and one less, while the store is open."""

import asyncio
import os
import shutil

import hexad
import pytest


@pytest.fixture
def wide(tmp_path):
    """A pool 2+1 on four devices, with something on each."""
    pool = tmp_path / "pool"
    hexad.format(pool, devices=4, profile="2+1", size="64 MiB", preset="tiny")
    with hexad.open(pool) as store:
        for i in range(8):
            store.put(f"o{i}", bytes([i]) * 300_000)
    return pool


def check(store):
    for i in range(8):
        assert store.get(f"o{i}") == bytes([i]) * 300_000
    assert store.fsck(deep=True)["errors"] == 0


def row(store, id):
    return next(one for one in store.status()["devices"] if one["id"] == id and one["role"])


def named(pool):
    return hexad._native.read_pool(str(pool))[0]


def test_a_device_is_added(wide, tmp_path):
    before = named(wide)
    new = str(tmp_path / "new")
    with hexad.open(wide) as store:
        id = store.add_device(tmp_path / "new")
        assert named(wide) == before + [new]
        assert row(store, id)["state"] == "ok" and row(store, id)["slabs"] > 0
        steps = []
        report = store.move_slabs(progress=lambda done, total: steps.append((done, total)))
        assert report["slabs_left"] == 0 and report["problem"] == ""
        assert all(done <= total for done, total in steps)
        with hexad.open(wide) as again:  # by the devices that it has now
            assert row(again, id)["path"] == new
        with pytest.raises(hexad.AlreadyExistsError):
            store.add_device(new)
        assert named(wide) == before + [new]
        check(store)
    with hexad.open(wide) as store:
        assert store.status()["health"] == "ok"
        check(store)


def test_devices_in_failure_domains(tmp_path):
    pool = tmp_path / "pool"
    with pytest.raises(hexad.InvalidArgumentError, match="2 cells would be in one of the 2 failure domains"):
        hexad.format(pool, devices=4, failure_domains=["a", "a", "b", "b"], profile="2+1", size="64 MiB")
    names = ["shelf-1", "shelf-1", "shelf-2", "shelf-2", "shelf-3", "shelf-3"]
    hexad.format(pool, devices=6, failure_domains=names, profile="2+1", size="64 MiB", preset="tiny")
    new = tmp_path / "new"
    with hexad.open(pool) as store:
        for i in range(8):
            store.put(f"o{i}", bytes([i]) * 300_000)
        status = store.status()
        assert status["domain_cells"] == 1
        assert [one["failure_domain"] for one in status["devices"] if one["role"] == "data"] == names
        with pytest.raises(hexad.InvalidArgumentError, match="none is named for this one"):
            store.add_device(new)
        assert not new.exists()
        id = store.add_device(new, failure_domain="shelf-2")
        assert row(store, id)["failure_domain"] == "shelf-2"
        other = asyncio.run(store.add_device_async(tmp_path / "other", failure_domain="shelf-4"))
        assert row(store, other)["failure_domain"] == "shelf-4"
        assert store.move_slabs()["slabs_left"] == 0
    # A shelf of three, with one parity.
    away = [pool / "drive2", pool / "drive3", new]
    for path in away:
        path.rename(f"{path}.away")
    with pytest.warns(hexad.DeviceWarning), hexad.open(pool) as store:
        assert store.status()["faults_tolerated"] == 0
        for i in range(8):
            assert store.get(f"o{i}") == bytes([i]) * 300_000
        store.put("later", b"later")
    for path in away:
        (path.parent / f"{path.name}.away").rename(path)
    with hexad.open(pool) as store:
        store.catch_up()
        assert store.status()["health"] == "ok"
        check(store)


def test_devices_are_replaced_while_the_store_is_open(wide, tmp_path):
    before = named(wide)
    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    with hexad.open(wide) as store:
        # One that answers: it is emptied onto the others, and goes.
        steps = []
        id = store.replace_device(0, first, progress=lambda done, total: steps.append((done, total)))
        assert id not in range(len(before))
        assert named(wide) == before[1:] + [first]
        assert steps and all(done <= total for done, total in steps)
        assert row(store, id)["state"] == "ok"
        check(store)
        # While the new one is made ready nothing has changed.
        with pytest.raises(hexad.ClosedError):
            store.replace_device(1, second, progress=lambda done, total: False)
        assert named(wide) == before[1:] + [first]
        assert row(store, 1)["state"] == "ok" and not os.path.exists(second)
        # Later it is one device more. To say so once is enough.
        answers = iter((True, False))
        with pytest.raises(hexad.ClosedError):
            store.replace_device(1, second, progress=lambda done, total: next(answers, True))
        assert named(wide) == before[1:] + [first, second]
        assert row(store, 1)["state"] == "draining"
        assert store.replace_device(1, second) == id + 1
        assert named(wide) == before[2:] + [first, second]
        with pytest.raises(hexad.NotFoundError):
            store.replace_device(0, tmp_path / "third")
        assert named(wide) == before[2:] + [first, second]
        check(store)
    with hexad.open(wide) as store:
        assert store.status()["health"] == "ok"
        check(store)


def test_an_exception_ends_a_replacement_that_is_under_way(wide, tmp_path):
    class Stop(BaseException):
        """As Ctrl-C is one."""

    before, new = named(wide), str(tmp_path / "new")
    steps = []

    def progress(done, total):
        steps.append(done)
        if len(steps) == 2:  # the first one is while the new one is made ready
            raise Stop
        return True

    with hexad.open(wide) as store:
        with pytest.raises(Stop):
            store.replace_device(1, new, progress=progress)
        assert len(steps) == 2 and row(store, 1)["state"] == "draining"
        assert named(wide) == before + [new]
        with hexad.open(wide) as again:  # of the same devices
            assert row(again, 1)["state"] == "draining"
        store.replace_device(1, new)
        check(store)


def test_a_description_with_other_devices_by_now_is_of_the_open_store(wide, tmp_path):
    with hexad.open(wide) as store:
        store.put("a", b"1")
        # As another process does that has a device added here.
        devices, fast = hexad._native.read_pool(str(wide))
        hexad._native.write_pool(str(wide), devices[1:] + [str(tmp_path / "new")], fast)
        with hexad.open(wide) as again, hexad.open(wide, read_only=True) as reader:
            assert again.get("a") == reader.get("a") == b"1"
        with hexad.open(devices=devices[:2], fast=fast) as again:
            assert again.get("a") == b"1"


def test_a_lost_device_is_replaced_while_the_store_is_open(wide, tmp_path):
    before = named(wide)
    new = str(tmp_path / "new")
    os.rename(before[1], str(tmp_path / "away"))
    with pytest.warns(hexad.DeviceWarning):
        store = hexad.open(wide)
    with store:
        assert store.replace_device(1, new) == 1
        assert row(store, 1)["path"] == new
        store.catch_up()
        assert store.status()["health"] == "ok"
        assert sorted(named(wide)) == sorted([one for one in before if one != before[1]] + [new])
        check(store)


def test_what_is_not_added_is_not_named(wide, tmp_path):
    before = named(wide)
    hexad.format(tmp_path / "other", devices=3, profile="2+1", size="64 MiB", preset="tiny")
    foreign = tmp_path / "other" / "drive0"
    held = foreign.read_bytes()
    with hexad.open(wide) as store, pytest.raises(hexad.AlreadyExistsError):
        store.add_device(foreign)
    assert named(wide) == before
    assert foreign.read_bytes() == held
    with hexad.open(wide, read_only=True) as store:
        for call in (
            lambda: store.add_device(tmp_path / "new"),
            lambda: store.drain_device(1),
            lambda: store.undrain_device(1),
            lambda: store.remove_device(1),
            store.move_slabs,
        ):
            with pytest.raises(hexad.ReadOnlyError):
                call()
    assert named(wide) == before and not (tmp_path / "new").exists()
    with hexad.in_memory() as store, pytest.raises(hexad.Error):
        store.add_device(tmp_path / "new")


def test_a_device_is_drained_and_removed(wide):
    before = named(wide)
    with hexad.open(wide) as store:
        with pytest.raises(hexad.UnavailableError):
            store.remove_device(1)
        with pytest.raises(hexad.NotFoundError):
            store.drain_device(17)
        used = row(store, 1)["slabs_used"]
        assert used > 0
        store.drain_device(1)
        assert row(store, 1)["state"] == "draining"
        assert store.status()["health"] == "ok" and store.status()["faults_tolerated"] == 1
        store.undrain_device(1)
        assert row(store, 1)["state"] == "ok"
        store.drain_device(1)
        report = store.move_slabs(rate=1 << 30)
        assert report["slabs_left"] == 0 and row(store, 1)["slabs_used"] == 0
        with pytest.raises(ValueError):
            store.move_slabs(rate=0)
        store.remove_device(1)
        assert named(wide) == [one for one in before if one != before[1]]
        assert all(one["id"] != 1 for one in store.status()["devices"] if one["role"])
        with hexad.open(wide) as again:
            check(again)
    os.remove(before[1])
    with hexad.open(wide) as store:
        assert store.status()["health"] == "ok"
        check(store)


def test_what_a_lost_device_held_is_built_again_on_the_others(wide):
    before = named(wide)
    os.remove(before[2])
    with hexad.open(wide) as store:
        assert row(store, 2)["state"] == "missing" and store.status()["faults_tolerated"] == 0
        store.drain_device(2)
        assert row(store, 2)["draining"] and row(store, 2)["state"] == "missing"
        assert store.move_slabs()["slabs_left"] == 0
        assert store.catch_up()["bytes_missing"] == 0
        assert {row(store, id)["state"] for id in (0, 1, 3)} == {"ok"}
        store.remove_device(2)
        assert store.status()["faults_tolerated"] == 1 and store.status()["health"] == "ok"
        check(store)


def test_a_fast_device_is_added_and_the_first_one_goes(wide, tmp_path):
    first, second = str(wide / "fast"), str(tmp_path / "optane")
    with hexad.open(wide) as store:
        id = store.add_fast_device(tmp_path / "optane")
        assert row(store, id)["holds_log"] and row(store, id)["role"] == "log"
        assert hexad._native.read_pool(str(wide))[1] == [first, second]
        with pytest.raises(hexad.AlreadyExistsError):
            store.add_fast_device(second)
        store.put("between", b"1")
        store.remove_device(4)
        assert hexad._native.read_pool(str(wide))[1] == [second]
        check(store)  # with the index where it was
    shutil.rmtree(first)
    with hexad.open(wide) as store:
        assert store.status()["health"] == "ok" and store.get("between") == b"1"
        check(store)
        store.remove_device(id)
        assert hexad._native.read_pool(str(wide))[1] == []
    with hexad.open(wide) as store:
        assert any("no fast directory" in note for note in store.status()["notes"])
        check(store)


def test_a_fast_device_is_added_by_a_coroutine(wide, tmp_path):
    async def add():
        with hexad.open(wide) as store:
            return row(store, await store.add_fast_device_async(tmp_path / "optane"))["state"]

    assert asyncio.run(add()) == "ok"
