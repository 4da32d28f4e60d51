"""Devices that are away, or that this process cannot open: who pays, and who is told."""

import os
import resource
import subprocess
import sys
import warnings

import hexad
import pytest


def filled(pool):
    with hexad.open(pool) as store:
        store.put("a", b"value")
    return [device["path"] for device in hexad.inspect(pool)["devices"] if device["role"] == "data"]


def test_an_opening_that_loses_a_device_warns(pool):
    devices = filled(pool)
    os.rename(devices[3], devices[3] + ".late")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with hexad.open(pool, read_only=True) as store:  # loses nothing
            assert store.status()["health"] == "degraded" and store.status()["warnings"] == []
    with pytest.warns(hexad.DeviceWarning, match="has left the pool") as caught:
        store = hexad.open(pool)
    assert len(caught) == 1 and devices[3] in str(caught[0].message)
    assert caught[0].filename == __file__
    assert store.status()["warnings"] == [str(caught[0].message)]
    assert "warning: device 3" in store.status_text()
    store.close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hexad.open(pool).close()  # this one has lost nothing


def test_whether_devices_may_be_taken_away(pool):
    devices = filled(pool)
    with hexad.open(pool, read_only=True) as store:
        answer = store.can_offline([0, 3])
        assert answer["allowed"] and answer["readable"] and answer["writable"]
        assert answer["faults_tolerated"] == 0 and answer["together"] == []
        assert not store.can_offline(range(3))["allowed"]
        with pytest.raises(hexad.NotFoundError):
            store.can_offline([17])
        with pytest.raises(hexad.InvalidArgumentError):
            store.can_offline([])
    with hexad.open(pool) as store:
        domains = [one["flush_domain"] for one in store.status()["devices"]]
        mates = [i for i in range(1, len(domains)) if domains[i] == domains[0] >= 0]
        assert store.can_offline([0])["together"] == mates
    os.rename(devices[0], devices[0] + ".away")
    with hexad.open(pool, read_only=True) as store:
        assert store.can_offline([3])["faults_tolerated"] == 0
        assert "nothing changes" in store.can_offline([0])["reason"]


def test_a_device_that_comes_back_is_taken_in_and_gets_what_it_missed(pool):
    devices = filled(pool)
    os.rename(devices[3], devices[3] + ".late")
    with pytest.warns(hexad.DeviceWarning), hexad.open(pool) as store:
        store.put("b", os.urandom(500_000))
    os.rename(devices[3] + ".late", devices[3])
    with hexad.open(pool, read_only=True) as store:
        assert store.status()["devices"][3]["state"] == "away"
    with hexad.open(pool, catch_up="asked") as store:
        status = store.status()
        assert status["health"] == "degraded" and status["devices"][3]["state"] == "behind"
        assert status["devices"][3]["missing_bytes"] > 0
        steps = []
        report = store.catch_up(progress=lambda done, total: steps.append((done, total)))
        assert report["bytes_missing"] == 0 < report["bytes_total"] and report["findings"] == []
        assert steps
        assert store.status()["health"] == "ok"
        with pytest.raises(ValueError):
            store.catch_up(rate=0)
        last = store.status()["devices"][3]["last_completion"]
        assert last["kind"] == "catch-up" and last["bytes"] > 0 and last["ended"] >= last["began"]
        total = store.status()["devices"][3]["errors_total"]
        assert total.pop("since") == 0 and set(total.values()) == {0}
        store.clear_device_errors()
        with pytest.raises(hexad.NotFoundError):
            store.clear_device_errors([17])
    with hexad.open(pool, read_only=True) as store:
        assert store.status()["devices"][3]["last_completion"] == last
        assert store.status()["devices"][2]["last_completion"] is None
        with pytest.raises(hexad.ReadOnlyError):
            store.clear_device_errors([3])
    for lost in devices[:2]:
        os.remove(lost)
    with hexad.open(pool, read_only=True) as store:
        assert store.get("a") == b"value" and len(store.get("b")) == 500_000


def test_a_device_comes_back_while_the_store_is_open(pool):
    devices = filled(pool)
    os.rename(devices[3], devices[3] + ".late")
    with pytest.warns(hexad.DeviceWarning), hexad.open(pool, catch_up="asked") as store:
        store.put("b", os.urandom(500_000))
        with pytest.raises(hexad.NotFoundError):
            store.bring_back_device(3, devices[3])
        with pytest.raises(hexad.NotFoundError):
            store.bring_back_device(17)
        with pytest.raises(hexad.AlreadyExistsError):
            store.bring_back_device(2)
        store.bring_back_device(3, devices[3] + ".late")
        status = store.status()
        assert status["devices"][3]["state"] == "behind" and status["faults_tolerated"] == 1
        assert store.catch_up()["bytes_missing"] == 0
        assert store.status()["health"] == "ok"
    os.rename(devices[3] + ".late", devices[3])
    for lost in devices[:2]:
        os.remove(lost)
    with hexad.open(pool, read_only=True) as store:
        assert store.get("a") == b"value" and len(store.get("b")) == 500_000
        with pytest.raises(hexad.ReadOnlyError):
            store.bring_back_device(3)


def test_whoever_makes_errors_of_warnings_has_no_open_store(pool):
    devices = filled(pool)
    os.rename(devices[3], devices[3] + ".late")
    with warnings.catch_warnings():
        warnings.simplefilter("error", hexad.DeviceWarning)
        with pytest.raises(hexad.DeviceWarning):
            hexad.open(pool)
        hexad.open(pool).close()


SHORT = """
import os, resource, sys, hexad
free = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
held = []
while len(os.listdir("/proc/self/fd")) - 1 < 256 - free:
    held.append(os.open("/dev/null", os.O_RDONLY))
try:
    with hexad.open(sys.argv[1]) as store:
        store.put("b", b"x")
        print(store.status()["health"])
except hexad.ExhaustedError as error:
    print(error.errno, "Too many open files" in str(error))
"""


@pytest.mark.parametrize("free", [1, 3, 5, 7])
def test_a_service_that_has_no_descriptor_left_loses_no_device(pool, free):
    filled(pool)
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[1] >= 256
    done = subprocess.run(
        [sys.executable, "-c", SHORT, str(pool), str(free)],
        stdout=subprocess.PIPE,
        check=True,
        timeout=600,
    )
    assert done.stdout.split() == [b"12", b"True"]
    with hexad.open(pool) as store:
        assert store.status()["health"] == "ok" and store.get("a") == b"value"


def test_a_device_that_is_no_file_is_given_up_by_an_explicit_word_alone(pool):
    devices = filled(pool)
    os.rename(devices[0], devices[0] + ".moved")
    os.mkdir(devices[0])
    with pytest.raises(hexad.InvalidArgumentError, match="nothing has changed"):
        hexad.open(pool)
    with pytest.raises(ValueError, match="refuse or lose"):
        hexad.open(pool, unwritable_devices="ignore")
    with pytest.warns(hexad.DeviceWarning):
        hexad.open(pool, unwritable_devices="lose").close()


def test_what_went_wrong_with_a_device_is_counted_although_it_was_made_good(pool):
    value = os.urandom(300_000)
    with hexad.open(pool) as store:
        store.put("victim", value)
        devices = [device for device in store.status()["devices"] if device["role"] == "data"]
        kinds = ("read_errors", "write_errors", "flush_errors", "checksum_errors", "timeouts")
        assert all(device[kind] == 0 for device in store.status()["devices"] for kind in kinds)
        assert "since this opening" not in store.status_text()
    bad = []
    for device in devices:
        with open(device["path"], "r+b") as file:
            at = file.read().find(value[:1000])
            if at >= 0:
                file.seek(at + 500)
                file.write(b"damage")
                bad.append(device["id"])
    assert len(bad) == 1
    with hexad.open(pool) as store:
        assert store.get("victim") == value
        status = store.status()
        assert status["health"] == "ok"
        wrong = {d["id"]: d["checksum_errors"] for d in status["devices"] if d["checksum_errors"]}
        assert list(wrong) == bad and wrong[bad[0]] > 0
        text = store.status_text()
        assert f"device {bad[0]} " in text and "checksum error" in text


def test_whoever_wants_what_a_lost_device_held_built_again_names_a_time(pool):
    with hexad.open(pool, drain_lost_after=600) as store:
        assert store.effective_options()["drain_lost_after"] == ("600 s", "given")
    with hexad.open(pool) as store:
        assert store.effective_options()["drain_lost_after"] == ("0 s", "default")
    with pytest.raises(hexad.InvalidArgumentError, match="drain_lost_after is 400000000 s"):
        hexad.open(pool, drain_lost_after=400_000_000)
    with pytest.raises(hexad.InvalidArgumentError, match="it is 10 to"):
        hexad.open(pool, drain_lost_after=9)
    with pytest.raises(TypeError, match="drain_lost_after"):
        hexad.open(pool, drain_lost_after="ten minutes")


def rebuilt(pool, replace, **more):
    """What is missing when the pool opens with the new device, and the report of giving it back."""
    with hexad.open(pool, replace=replace, catch_up="asked", **more) as store:
        missing = store.status()["devices"][replace[0]]["missing_bytes"]
        return missing, store.catch_up()


def test_a_lost_device_is_replaced_by_an_opening(pool, tmp_path):
    devices = filled(pool)
    value = os.urandom(2_000_000)
    with hexad.open(pool) as store:
        store.put("b", value)
    os.remove(devices[1])
    new = tmp_path / "new device"
    with hexad.open(pool, replace=(1, new), catch_up="asked") as store:
        row = store.status()["devices"][1]
        assert (row["state"], row["path"]) == ("behind", str(new)) and row["missing_bytes"] > 400_000
        assert store.get("b") == value
        store.put("c", value)
        with hexad.open(pool) as other:  # the pool has that device by now: it is the same store
            assert other.get("c") == value
    # Closed before it had everything; the same call again goes on.
    missing, report = rebuilt(pool, (1, str(new)))
    assert report["bytes_missing"] == 0 < report["bytes_total"] == missing
    with hexad.open(pool) as store:
        assert store.status()["health"] == "ok" and store.fsck(deep=True)["errors"] == 0
    assert [d["path"] for d in hexad.inspect(pool)["devices"]][:6] == [
        devices[0], str(new), *devices[2:],
    ]
    for lost in (devices[0], devices[2]):
        os.remove(lost)
    with hexad.open(pool, read_only=True) as store:
        assert store.get("a") == b"value" and store.get("b") == store.get("c") == value


def test_a_device_that_answers_is_copied_to_the_one_that_takes_its_place(pool, tmp_path):
    devices = filled(pool)
    value = os.urandom(2_000_000)
    with hexad.open(pool) as store:
        store.put("b", value)
    new = str(tmp_path / "new")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with hexad.open(pool, replace=(3, new), catch_up="asked") as store:
            status = store.status()
            assert status["devices"][3]["path"] == new
            assert any("were copied from " + devices[3] in note for note in status["notes"])
            assert status["devices"][3]["missing_bytes"] < 400_000
            assert store.catch_up()["bytes_missing"] == 0
            assert store.status()["health"] == "ok"
    os.remove(devices[3])
    for lost in (devices[0], devices[1]):
        os.remove(lost)
    with hexad.open(pool, read_only=True) as store:
        assert store.get("a") == b"value" and store.get("b") == value


def test_a_device_is_replaced_where_it_was_and_where_devices_are_named(pool, tmp_path):
    devices = filled(pool)
    fast = [os.path.join(pool, "fast")]
    os.remove(devices[4])
    assert rebuilt(pool, (4, devices[4]))[1]["bytes_missing"] == 0
    os.remove(devices[2])
    new = str(tmp_path / "new")
    missing, report = rebuilt(None, (2, new), devices=devices, fast=fast)
    assert report["bytes_missing"] == 0 < missing
    now = [new if device == devices[2] else device for device in devices]
    with hexad.open(devices=now, fast=fast) as store:
        assert store.status()["health"] == "ok" and store.get("a") == b"value"


def test_a_replacement_that_is_refused_changes_nothing(pool, tmp_path):
    devices = filled(pool)
    os.remove(devices[1])
    new = str(tmp_path / "new")
    small = tmp_path / "small"
    small.write_bytes(bytes(1 << 20))
    foreign = tmp_path / "foreign"
    hexad.format(tmp_path / "other", devices=[foreign, tmp_path / "x"], profile="1+1", size="64 MiB")
    before = {path: open(path, "rb").read() for path in [*devices[:1], *devices[2:], foreign, small]}
    description = (pool / "hexad.pool").read_text()
    for error, arguments in [
        (hexad.NotFoundError, {"replace": (77, new)}),
        (hexad.AlreadyExistsError, {"replace": (1, foreign)}),
        (hexad.NoSpaceError, {"replace": (1, small)}),
        (hexad.InvalidArgumentError, {"replace": (1, devices[3])}),
        (hexad.InvalidArgumentError, {"replace": (-1, new)}),
        (hexad.InvalidArgumentError, {"replace": 1}),
        (TypeError, {"replace": ("1", new)}),
        (hexad.ReadOnlyError, {"replace": (1, new), "read_only": True}),
    ]:
        with pytest.raises(error):
            hexad.open(pool, **arguments).close()
        assert not os.path.exists(new), arguments
    with hexad.open(pool, read_only=True):
        with pytest.raises(hexad.InvalidArgumentError, match="open in this process already"):
            hexad.open(pool, replace=(1, new))
    assert before == {path: open(path, "rb").read() for path in before}
    assert (pool / "hexad.pool").read_text() == description


KILLED = """
import os, sys, hexad
store = hexad.open(sys.argv[1], replace=(1, sys.argv[2]), catch_up="asked")
if sys.argv[3] == "half":
    store.catch_up(progress=lambda done, total: os._exit(9) if done else True)
os._exit(9)
"""


@pytest.mark.parametrize("when", ["at once", "half"])
def test_a_process_that_is_killed_while_it_replaces_is_gone_on_from(pool, tmp_path, when):
    devices = filled(pool)
    value = os.urandom(2_000_000)
    with hexad.open(pool) as store:
        store.put("b", value)
    os.remove(devices[1])
    new = str(tmp_path / "new")
    done = subprocess.run([sys.executable, "-c", KILLED, str(pool), new, when], timeout=600)
    assert done.returncode == 9
    with hexad.open(pool, catch_up="asked") as store:
        assert store.status()["devices"][1]["path"] == new
        assert store.catch_up()["bytes_missing"] == 0
        assert store.status()["health"] == "ok" and store.fsck(deep=True)["errors"] == 0
    for lost in (devices[0], devices[2]):
        os.remove(lost)
    with hexad.open(pool, read_only=True) as store:
        assert store.get("b") == value
