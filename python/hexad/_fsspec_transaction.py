"""`with fs.transaction` of hexad://: what is changed in it is published when it ends, or not at all."""

# fsspec has no types.
# mypy: disable-error-code="import-untyped, misc"

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import fsspec.transaction

import hexad
from hexad._fsspec_file import commit_together

if TYPE_CHECKING:
    from hexad._fsspec_file import HexadFile


class Step:
    """A change that is no file: a removal, a move, a copy, a directory. It waits as files do.

    add: puts the change into a transaction of the store. drop: lets go of what `add` would need, when
    nothing comes of it.
    """

    mode = ""

    def __init__(
        self,
        store: hexad.Store,
        path: str,
        add: Callable[[hexad.Transaction], None],
        drop: Callable[[], None] = lambda: None,
    ) -> None:
        self.store = store
        self.path = path
        self.uncommitted = True
        self.add_to = add
        self._drop = drop

    def close_outermost(self) -> None:
        """There is nothing to close."""

    def committed(self) -> None:
        self.uncommitted = False

    def discard(self) -> None:
        if self.uncommitted:
            self.uncommitted = False
            self._drop()


class Transaction(fsspec.transaction.Transaction):
    """`with fs.transaction:` publishes the files written in it, and the other changes made in it, when
    it ends, or none of them. They come one after the other, files at the place where they were opened.

    Those of one pool become visible and durable together; of several pools, pool by pool. Whoever
    looks before that, in the block too, sees what was there.

    A block inside of another belongs to that; by an exception it takes back what was done in it.
    """

    def __init__(self, fs: Any, **kwargs: Any) -> None:
        super().__init__(fs, **kwargs)
        self._inside: list[int] = []  # how much there was to do where each inner block begins

    def __enter__(self) -> Transaction:
        if self.fs._intrans:  # pylint: disable=protected-access
            self._inside.append(len(self.files))
            return self
        super().__enter__()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if not self._inside:
            super().__exit__(kind, error, trace)
            return
        begin = self._inside.pop()
        while kind is not None and len(self.files) > begin:
            self.files.pop().discard()

    def complete(self, commit: bool = True) -> None:
        steps: list[HexadFile | Step] = list(self.files)
        self.files.clear()
        try:
            if commit:
                for step in steps:
                    step.close_outermost()
                by_store: dict[int, list[Any]] = {}
                for step in (step for step in steps if step.uncommitted):
                    by_store.setdefault(id(step.store), []).append(step)
                for group in by_store.values():
                    commit_together(group)
        finally:
            for step in steps:
                step.discard()  # of what was committed nothing is left to discard
            self.fs._intrans = False  # pylint: disable=protected-access
