"""What tools/testing/python_versions.sh has another Python do: that hexad can be imported, written,
read and opened again, by several threads, and says what it should of errors.
"""

import concurrent.futures
import pathlib
import sys
import tempfile

import hexad


def use(pool):
    hexad.format(pool, devices=6, size="64 MiB", preset="tiny")
    with hexad.open(pool) as store:
        with store.transaction() as transaction:
            transaction.put("a", b"1")
            transaction.put("b", memoryview(bytes(300_000)))
        with concurrent.futures.ThreadPoolExecutor(4) as executor:
            list(executor.map(lambda i: store.put(f"many/{i}", b"%d" % i), range(200)))
            found = list(executor.map(lambda i: store.get(f"many/{i}"), range(200)))
        assert found == [b"%d" % i for i in range(200)]
        try:
            store.get("missing")
        except KeyError as error:
            assert "missing" in str(error)
        else:
            raise AssertionError("nothing was raised")
    with hexad.open(pool, read_only=True) as store:
        assert store.get("a") == b"1" and len(store.get_view("b")) == 300_000
        assert len(list(store)) == 202
        assert store.fsck(deep=True)["errors"] == 0


with tempfile.TemporaryDirectory() as folder:
    use(pathlib.Path(folder) / "pool")
gil = getattr(sys, "_is_gil_enabled", lambda: True)()
print(f"python {sys.version.split()[0]}: works, with{'' if gil else 'out'} the GIL")
