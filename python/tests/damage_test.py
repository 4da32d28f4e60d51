"""What nothing gives back is listed until it is over, or acknowledged."""

import os

import hexad
import pytest

SIZE = 1 << 20


def rot(pool, value):
    """The beginning of every data cell; a stripe has six, and parity gives two back."""
    for device in hexad.inspect(pool)["devices"]:
        if device["role"] != "data":
            continue
        with open(device["path"], "r+b") as file:
            data = file.read()
            for piece in range(0, SIZE, SIZE // 4):
                at = data.find(value[piece : piece + 4096])
                if at >= 0:
                    file.seek(at)
                    file.write(bytes(4096))
                    break


def test_damage_is_listed_acknowledged_and_over_when_it_is_written_again(pool):
    value = os.urandom(SIZE)
    with hexad.open(pool) as store:
        assert store.damage() == []
        store.put("rotten", value)
        store.put("sound", b"1")
    rot(pool, value)
    with hexad.open(pool) as store:
        with pytest.raises(hexad.UnavailableError):
            store.get("rotten")
        rows = store.damage()
        assert {row["name"] for row in rows} == {"rotten"} and len(rows) == 4
        assert rows[0]["offset"] == 0 and 0 < rows[0]["length"] < SIZE
        assert rows[0]["omap_key"] is None and rows[0]["first_seen"] > 0 and rows[0]["problem"]
        assert store.status()["health"] == "damaged" and store.status()["damaged_blobs"] == 1
    with hexad.open(pool) as store:
        assert store.damage() == rows
        with pytest.raises(hexad.NotFoundError):
            store.acknowledge_damage(["rotten", "sound"])
        with pytest.raises(TypeError):
            store.acknowledge_damage("rotten")
        assert len(store.acknowledge_damage(["rotten"])) == 4
        assert store.acknowledge_damage() == []
        assert store.status()["health"] == "ok"
        assert all(row["acknowledged"] for row in store.damage())
        store.put("rotten", value)
        assert store.damage() == []
