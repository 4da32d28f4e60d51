"""The asynchronous twins."""

import asyncio
import os
import threading
import time

import hexad
import pytest


def test_put_get_and_commit(store):
    async def main():
        version = await store.put_async("a", b"one")
        assert await store.get_async("a") == b"one"
        assert await store.get_range_async("a", 1, 1) == b"n"
        async with store.transaction() as t:
            t.put("b", b"two")
            t.expect_version("a", version)
        assert t.version == store.stat("b").version
        assert await store.get_many_async(["a", "b", "c"], default=None) == [b"one", b"two", None]
        await store.remove_async("a")
        with pytest.raises(KeyError):
            await store.get_async("a")
        with pytest.raises(hexad.ConflictError):
            async with store.transaction() as t:
                t.expect_exists("a")
                t.put("c", b"")
        assert "c" not in store

    asyncio.run(main())


def test_many_at_once(pool):
    async def main(store):
        await asyncio.gather(*(store.put_async(f"n{i}", b"%d" % i) for i in range(2000)))
        found = await asyncio.gather(*(store.get_async(f"n{i}") for i in range(2000)))
        assert found == [b"%d" % i for i in range(2000)]

    with hexad.open(pool) as store:
        asyncio.run(main(store))
        names = {thread.name for thread in threading.enumerate() if thread.name.startswith("hexad")}
        assert len(names) <= 10


@pytest.mark.parametrize("size", [100, 300_000, 40 << 20])
def test_a_buffer_may_be_changed_after_the_call(store, size):
    async def main():
        data = bytearray(os.urandom(size))
        before = bytes(data)
        putting = store.put_async("a", data)
        data[:] = bytes(size)
        task = asyncio.ensure_future(putting)
        await asyncio.sleep(0)
        data[:] = b"\xff" * size
        await task
        assert store.get_view("a") == before

    asyncio.run(main())


def test_every_kind_of_commit(store):
    async def main():
        for i in range(50):
            t = store.transaction(durable=bool(i % 2))
            t.append("log", b"%02d" % i)
            await store.commit_async(t)
        t = store.transaction()
        t.expect_bytes("log", 0, b"000102")
        t.put("large", bytes(10 << 20))
        assert await store.commit_async(t) == t.version

    asyncio.run(main())
    assert store.get("log") == b"".join(b"%02d" % i for i in range(50))


def test_a_cancelled_wait_does_not_stop_the_commit(store):
    async def main():
        for i in range(100):
            task = asyncio.create_task(store.put_async(f"n{i}", bytes(1000 if i % 2 else 400_000)))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        await store.put_async("end", b"")

    asyncio.run(main())
    store.sync()
    assert store.fsck(deep=True)["errors"] == 0
    assert store.get_many(["n1", "n3"]) == [bytes(1000)] * 2


def test_a_commit_that_is_cancelled_and_then_refused_is_forgotten(store, monkeypatch):
    begun, refuse = threading.Event(), threading.Event()

    class Native:
        closed = forked = False

        def submit(self, *_):
            begun.set()
            refuse.wait()
            raise hexad.ClosedError("the store has been closed")

    async def main():
        transaction = store.transaction()
        transaction.append("a", b"x")  # which a worker thread submits
        task = asyncio.create_task(store.commit_async(transaction))
        await asyncio.to_thread(begun.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        refuse.set()

    waiting = hexad._process.completions()._waiting
    before = set(waiting)
    with monkeypatch.context() as patch:
        patch.setattr(store, "_native", Native())
        asyncio.run(main())
    store._shared.executor().shutdown()
    assert set(waiting) <= before


def test_a_submit_that_is_interrupted_is_answered_to_nobody(store, monkeypatch):
    """As by a signal's handler, before and after the answer: others go on being answered."""

    class Interrupted(Exception):
        pass

    class Native:
        closed = forked = False

        def __init__(self, native, answered):
            self._native, self._answered = native, answered

        def submit(self, changes, durable, completions, token):
            self._native.submit(changes, durable, completions, token)
            while self._answered and token in waiting:
                pass
            raise Interrupted

    async def main():
        with pytest.raises(Interrupted):
            await store.put_async("a", b"x")

    async def later():
        await store.put_async("b", b"y")

    waiting = hexad._process.completions()._waiting
    before = set(waiting)
    native = store._native
    for answered in (False, True):
        with monkeypatch.context() as patch:
            patch.setattr(store, "_native", Native(native, answered))
            asyncio.run(main())
        asyncio.run(later())
    assert store.get_many(["a", "b"]) == [b"x", b"y"]
    assert set(waiting) <= before


def test_a_time_limit_is_a_timeout_error(store):
    async def main():
        with pytest.raises(TimeoutError if hasattr(asyncio, "timeout") else asyncio.TimeoutError):
            await asyncio.wait_for(store.put_async("a", bytes(20 << 20)), 0)

    asyncio.run(main())


def test_several_loops_in_several_threads(store):
    problems = []

    async def main(number):
        for i in range(100):
            name = f"t{number}/{i}"
            await store.put_async(name, name.encode())
            assert await store.get_async(name) == name.encode()

    def work(number):
        try:
            asyncio.run(main(number))
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for number in range(200):
        store.put(f"sync/{number}", b"x")
    for thread in threads:
        thread.join()
    assert not problems
    assert len(store.list(limit=10_000)) == 800


def test_the_loop_ends_before_the_answer(store):
    async def main():
        for i in range(50):
            asyncio.ensure_future(store.put_async(f"n{i}", b"x"))
        await asyncio.sleep(0)

    for _ in range(10):
        asyncio.run(main())
    store.sync()
    assert store.get("n49") == b"x"


def test_what_a_closed_loop_never_hears_of_is_not_in_flight_for_ever(store):
    async def main():
        for i in range(50):
            asyncio.ensure_future(store.put_async(f"n{i}", b"x" * 1000))
        await asyncio.sleep(0)

    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)  # tasks that end unfinished
    loop.run_until_complete(main())
    loop.close()  # unlike asyncio.run() it cancels nothing
    # What counted for ever would send all later commits through a worker; and this would not end.
    while store._shared.in_flight > 0:
        time.sleep(0.001)
    assert store.get("n49") == b"x" * 1000


def test_after_close(store):
    store.close()

    async def main():
        for call in (store.put_async("a", b""), store.get_async("a"), store.remove_async("a")):
            with pytest.raises(hexad.ClosedError):
                await call

    asyncio.run(main())


def test_what_the_cache_has_takes_no_thread(store):
    data = os.urandom(200_000)
    store.put_many({"a": b"one", "b": data[:20_000], "c": data, "d": data * 2})
    store.checkpoint()  # what is in the log alone is not kept there
    for name in "abcd":
        store.get(name)

    async def main():
        assert await store.get_async("a") == b"one"
        assert await store.get_async("b") == data[:20_000]
        assert await store.get_async("c") == data
        assert await store.get_range_async("c", 199_990, 100) == data[199_990:]
        assert await store.get_range_async("d", 5, 250_000) == (data * 2)[5:250_005]
        assert not [one for one in threading.enumerate() if one.name.startswith("hexad-worker")]
        assert await store.get_async("d") == data * 2  # long: on a thread
        assert [one for one in threading.enumerate() if one.name.startswith("hexad-worker")]

    asyncio.run(main())
    assert store.cached("c", 10, 20) == data[10:30]
    assert store.cached("c", 300_000, 20) == b""
    assert store.cached_ranges("a", [(0, 1), (1, 9), (9, 9)]) == [b"o", b"ne", b""]
    assert store.cached_ranges("d", [(399_990, 99), (0, 5), (400_000, 1)]) == [data[-10:], data[:5], b""]
    assert store.cached_ranges("d", [(0, 200_000), (100_000, 200_000)]) is None  # together too long
    assert store.cached_ranges("d", []) == []
    assert store.cached_size("d") == 400_000
    assert store.cached("d") is None  # too long to be had at once
    for call in (store.cached, store.cached_size):
        assert call("missing") is None
    assert store.cached_ranges("missing", [(0, 1)]) is None
