"""Random calls on a store and on plain dictionaries."""

import shutil
import tempfile

import hexad
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

NAMES = st.one_of(
    st.sampled_from(["a", "b", "a/1", "a/2", "é"]),
    st.binary(min_size=1, max_size=5).map(lambda raw: raw.decode("utf-8", "surrogateescape")),
)
DATA = st.one_of(
    st.binary(max_size=100),
    st.builds(lambda piece, times: piece * times, st.binary(max_size=9), st.integers(0, 9000)),
)
OFFSETS = st.integers(0, 70_000)


def raw(name):
    return name.encode("utf-8", "surrogateescape")


class Model(RuleBasedStateMachine):
    """Two parts of each object: data and attributes."""

    def __init__(self):
        super().__init__()
        self.data = {}
        self.attributes = {}
        self.store = None

    @initialize()
    def begin(self):
        self.store = hexad.in_memory(capacity="128 MiB", compression="force,zstd")

    def teardown(self):
        if self.store is not None:
            assert self.store.fsck(deep=True)["errors"] == 0
            self.store.close()

    def make(self, name):
        self.attributes.setdefault(name, {})
        return self.data.setdefault(name, b"")

    @rule(name=NAMES, data=DATA)
    def put(self, name, data):
        self.store.put(name, data)
        self.make(name)
        self.data[name] = data

    @rule(items=st.dictionaries(NAMES, DATA, max_size=4))
    def put_many(self, items):
        self.store.put_many(items)
        for name, data in items.items():
            self.make(name)
            self.data[name] = data

    @rule(name=NAMES, offset=OFFSETS, data=DATA)
    def write(self, name, offset, data):
        self.store.write(name, offset, bytearray(data))
        old = self.make(name)
        if data:
            padded = old.ljust(offset, b"\0")
            self.data[name] = padded[:offset] + data + padded[offset + len(data) :]

    @rule(name=NAMES, data=DATA)
    def append(self, name, data):
        self.store.append(name, memoryview(data))
        self.data[name] = self.make(name) + data

    @rule(name=NAMES, size=OFFSETS)
    def truncate(self, name, size):
        with self.store.transaction() as t:
            t.truncate(name, size)
        if name in self.data:
            self.data[name] = self.data[name][:size].ljust(size, b"\0")

    @rule(name=NAMES, key=st.sampled_from(["x", "y"]), value=st.binary(max_size=20))
    def set_attr(self, name, key, value):
        try:
            self.store.set_attr(name, key, value)
        except KeyError:
            assert name not in self.data
        else:
            self.attributes[name][key] = value

    @rule(name=NAMES)
    def remove(self, name):
        self.store.remove(name)
        self.data.pop(name, None)
        self.attributes.pop(name, None)

    @rule(name=NAMES, to=NAMES)
    def rename(self, name, to):
        try:
            self.store.rename(name, to)
        except hexad.NotFoundError:
            assert name not in self.data
        except hexad.AlreadyExistsError:
            assert to in self.data
        else:
            self.data[to] = self.data.pop(name)
            self.attributes[to] = self.attributes.pop(name)

    @rule(name=NAMES, to=NAMES)
    def clone(self, name, to):
        try:
            self.store.clone(name, to)
        except hexad.NotFoundError:
            assert name not in self.data
        except hexad.InvalidArgumentError:
            assert name == to
        else:
            self.data[to] = self.data[name]
            self.attributes[to] = dict(self.attributes[name])

    @rule(name=NAMES, to=NAMES, offset=OFFSETS, length=OFFSETS, to_offset=OFFSETS)
    def clone_range(self, name, to, offset, length, to_offset):
        overlap = name == to and abs(offset - to_offset) < length
        try:
            self.store.clone_range(name, offset, length, to, to_offset)
        except hexad.NotFoundError:
            assert name not in self.data
        except hexad.InvalidArgumentError:
            assert overlap or offset + length > len(self.data[name])
        else:
            piece = self.data[name][offset : offset + length]
            assert len(piece) == length and not overlap
            old = self.make(to)
            if length:
                old = old.ljust(to_offset, b"\0")
                self.data[to] = old[:to_offset] + piece + old[to_offset + length :]

    @rule(name=NAMES, offset=OFFSETS, length=OFFSETS)
    def zero(self, name, offset, length):
        with self.store.transaction() as t:
            t.zero(name, offset, length)
        old = self.make(name)
        if length:
            old = old.ljust(offset + length, b"\0")
            self.data[name] = old[:offset] + bytes(length) + old[offset + length :]

    @rule(names=st.lists(NAMES, min_size=1, max_size=3), guard=NAMES, data=DATA)
    def guarded(self, names, guard, data):
        try:
            with self.store.transaction() as t:
                for name in names:
                    t.put(name, data)
                t.expect_absent(guard)
        except hexad.ConflictError:
            assert guard in self.data
        else:
            assert guard not in self.data
            for name in names:
                self.make(name)
                self.data[name] = data

    @rule(prefix=st.sampled_from(["a", "a/", "z"]))
    def remove_prefix(self, prefix):
        gone = [name for name in self.data if name.startswith(prefix)]
        assert self.store.remove_prefix(prefix) == len(gone)
        for name in gone:
            del self.data[name], self.attributes[name]

    @rule(name=NAMES, ranges=st.lists(st.tuples(OFFSETS, OFFSETS), max_size=5))
    def get_ranges(self, name, ranges):
        try:
            found = self.store.get_ranges(name, ranges)
        except KeyError:
            assert name not in self.data
        else:
            data = self.data[name]
            assert found == [data[offset : offset + length] for offset, length in ranges]

    @precondition(lambda self: self.store is not None)
    @rule()
    def checkpoint(self):
        self.store.checkpoint()

    @precondition(lambda self: self.data)
    @rule()
    def everything(self):
        names = sorted(self.data, key=raw)
        assert self.store.get_many(names) == [self.data[name] for name in names]
        for name in names:
            assert self.store.attributes(name) == self.attributes[name]
            assert self.store.stat(name).size == len(self.data[name])

    @invariant()
    def names_agree(self):
        if self.store is not None:
            assert list(self.store) == sorted(self.data, key=raw)


class ModelOnFiles(Model):
    """The same on files, closed and opened again in between."""

    @initialize()
    def begin(self):
        self.directory = tempfile.mkdtemp()
        hexad.format(self.directory, devices=6, size="64 MiB", preset="tiny")
        self.store = hexad.open(self.directory)

    def teardown(self):
        try:
            super().teardown()
        finally:
            shutil.rmtree(self.directory)

    @rule()
    def reopen(self):
        self.store.close()
        self.store = hexad.open(self.directory)


# The same examples every time.
COMMON = settings(
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestModel = Model.TestCase
TestModel.settings = settings(COMMON, max_examples=60, stateful_step_count=40)
TestModelOnFiles = ModelOnFiles.TestCase
TestModelOnFiles.settings = settings(COMMON, max_examples=6, stateful_step_count=30)
