"""Commits: transactions, awaited or not."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Callable, Coroutine, TypeVar

from . import _process
from ._errors import ClosedError
from ._handle import Handle
from ._transaction import Transaction
from ._types import DEFAULT_COLLECTION

if TYPE_CHECKING:
    from ._types import Name

T = TypeVar("T")

# Up to here a commit is submitted on the event loop's thread: it neither computes nor waits long.
SUBMIT_AT_ONCE = 256 << 10  # bytes, of one
_SUBMIT_IN_FLIGHT = 16 << 20  # bytes, of all together


class Commits(Handle):
    """A store's transactions."""

    def transaction(
        self, *, collection: Name = DEFAULT_COLLECTION, durable: bool = True
    ) -> Transaction:
        """Begins one: `with store.transaction() as t`. collection: of its calls that name none.

        durable: False: the commit returns when everybody sees it; it is durable with the next
        durable commit or sync(), or some 10 ms later by itself. A crash before loses it.
        """
        return Transaction(self, collection, durable)

    def commit(self, transaction: Transaction) -> int:
        """Applies all of it or nothing, and returns the LSN.

        Errors: ConflictError (a guard), NotFoundError, AlreadyExistsError, NotEmptyError,
        InvalidArgumentError, TooBigError, NoSpaceError, IoError, ReadOnlyError: nothing was
        applied. OutcomeUnknownError: a device failed in the middle, and the store is read-only.
        """
        _check(transaction)
        lsn: int = self._native.commit(transaction._take(), transaction._durable)
        transaction.version = lsn
        return lsn

    def commit_async(self, transaction: Transaction) -> Coroutine[Any, Any, int]:
        """commit(), awaited. What is not awaited one after the other may commit in any order; when
        the waiting is cancelled the commit goes on.
        """
        _check(transaction)
        return self._commit_async(transaction, transaction.payload_bytes)

    def _alone(self, collection: Name, build: Callable[[Transaction], None]) -> int:
        transaction = self.transaction(collection=collection)
        build(transaction)
        return self.commit(transaction)

    async def _in_worker(self, call: Callable[[], T]) -> T:
        if self.closed:
            raise ClosedError("the store has been closed", "Open it again.")
        self._shared.check_not_forked()
        return await asyncio.wrap_future(self._shared.executor().submit(call))

    async def _commit_async(
        self,
        transaction: Transaction,
        size: int,
        build: Callable[[Transaction], None] | None = None,
    ) -> int:
        """build: what has to wait before it knows what to change; called in a thread of the store, the one
        that submits.
        """
        changes = transaction._take()
        self._shared.check_not_forked()
        completions = _process.completions()
        future = asyncio.get_running_loop().create_future()
        at_once = (
            build is None
            and not transaction._reads
            and size <= SUBMIT_AT_ONCE
            and self._shared.in_flight + size <= _SUBMIT_IN_FLIGHT
        )
        token = completions.expect(future, self._shared, size if at_once else 0)

        def submit() -> None:
            try:
                if build is not None:
                    build(transaction)
                self._native.submit(changes, transaction._durable, completions.native, token)
            except BaseException:
                completions.forget(token)
                raise

        if at_once:
            submit()
        else:
            await self._submit_in_worker(submit, completions, token)
        lsn: int = await future
        transaction.version = lsn
        return lsn

    async def _submit_in_worker(
        self, submit: Callable[[], None], completions: _process.Completions, token: int
    ) -> None:
        try:
            submitted = self._shared.executor().submit(submit)
        except BaseException:
            completions.forget(token)
            raise
        try:
            await asyncio.wrap_future(submitted)
        except asyncio.CancelledError:
            if submitted.cancelled():
                completions.forget(token)  # it will not begin any more
            raise


def _check(transaction: Any) -> None:
    if not isinstance(transaction, Transaction):
        raise TypeError(
            f"transaction: a hexad.Transaction is wanted, not {type(transaction).__name__}"
        )
