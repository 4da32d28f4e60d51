"""Calls about devices, awaited: the event loop goes on, and what is cancelled ends."""

import asyncio
import os
import subprocess
import sys
import threading

import hexad
import pytest

SLOW = 4096  # bytes per second: nothing ends by itself


@pytest.fixture
def filled(pool):
    with hexad.open(pool) as store:
        store.put_many({f"n{i}": os.urandom(50_000) for i in range(100)})
        yield store


def device_threads():
    return [one for one in threading.enumerate() if one.name.startswith("hexad-devices")]


async def started(call):
    """The task of a call that has said where it is."""
    steps = asyncio.Event()

    def progress(_done, _total):
        assert threading.current_thread() is threading.main_thread()
        steps.set()

    task = asyncio.ensure_future(call(progress))
    waiting = asyncio.ensure_future(steps.wait())
    await asyncio.wait([task, waiting], return_when=asyncio.FIRST_COMPLETED)
    assert not task.done(), task
    return task


def test_the_loop_goes_on_meanwhile_and_what_is_cancelled_has_ended(filled):
    async def main():
        scrubs = [
            await started(lambda progress: filled.scrub_async(rate=SLOW, progress=progress))
            for _ in range(10)  # more than the store has threads for reads
        ]
        assert await filled.get_async("n1") == filled.get("n1")
        await filled.put_async("more", b"data")
        for scrub in scrubs:
            scrub.cancel()
        for scrub in scrubs:
            with pytest.raises(asyncio.CancelledError):
                await scrub
        assert (await filled.scrub_async())["errors"] == 0

    asyncio.run(main())
    for thread in device_threads():
        thread.join()  # all are on their way


def test_what_is_cancelled_twice_is_left_to_end_by_itself(filled):
    async def main():
        scrub = await started(lambda progress: filled.scrub_async(rate=SLOW, progress=progress))
        scrub.cancel()
        await asyncio.sleep(0)
        scrub.cancel()
        with pytest.raises(asyncio.CancelledError):
            await scrub

    asyncio.run(main())
    for thread in device_threads():
        thread.join()
    assert filled.scrub()["errors"] == 0


def test_progress_that_says_false_or_raises_ends_it(filled):
    async def main():
        report = await filled.scrub_async(rate=SLOW, progress=lambda done, total: False)
        assert report["next"] != ""

        def broken(_done, _total):
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await filled.scrub_async(rate=SLOW, progress=broken)
        with pytest.raises(hexad.ClosedError):
            await filled.replace_device_async(
                0, f"{filled.path}/new", rate=SLOW, progress=lambda done, total: False
            )
        report = await filled.scrub_async(start=report["next"])
        assert report["next"] == "" and report["errors"] == 0

    asyncio.run(main())


def test_a_lost_device_is_replaced_beside_puts(pool, tmp_path):
    with hexad.open(pool) as store:
        store.put_many({f"n{i}": os.urandom(50_000) for i in range(100)})
        store.checkpoint()
        lost = store.status()["devices"][2]["path"]
    os.unlink(lost)

    async def main(store):
        seen = []
        putting = asyncio.gather(*(store.put_async(f"m{i}", b"%d" % i) for i in range(500)))
        by = await store.replace_device_async(
            2, tmp_path / "new", progress=lambda done, total: seen.append((done, total))
        )
        await putting
        assert by == 2 and seen
        assert (await store.catch_up_async())["bytes_missing"] == 0
        assert store.status()["health"] == "ok"
        assert store.fsck(deep=True)["errors"] == 0
        with pytest.raises(hexad.NotFoundError):
            await store.replace_device_async(17, tmp_path / "other")
        assert not (tmp_path / "other").exists()

    with pytest.warns(hexad.DeviceWarning):
        store = hexad.open(pool)
    with store:
        asyncio.run(main(store))


def test_one_more_and_one_less(filled, tmp_path):
    async def main():
        more = await filled.add_device_async(tmp_path / "more")
        await filled.drain_device_async(0)
        await filled.undrain_device_async(0)
        await filled.drain_device_async(0)
        moved = await filled.move_slabs_async()
        assert moved["slabs_left"] == 0 and moved["problem"] == ""
        await filled.remove_device_async(0)
        await filled.clear_device_errors_async([more])
        with pytest.raises(hexad.NotFoundError):
            await filled.bring_back_device_async(0)
        ids = {one["id"] for one in filled.status()["devices"] if one["role"] == "data"}
        assert more in ids and 0 not in ids

    asyncio.run(main())
    assert filled.fsck(deep=True)["errors"] == 0


LEFT = """
import asyncio, sys, hexad

async def main(store):
    begun = asyncio.Event()
    asyncio.ensure_future(store.scrub_async(rate=4096, progress=lambda *_: begun.set()))
    await begun.wait()

store = hexad.open(sys.argv[1])
asyncio.new_event_loop().run_until_complete(main(store))
"""


def test_a_process_ends_although_a_call_goes_on_whose_loop_has_stopped(pool):
    with hexad.open(pool) as store:
        store.put_many({f"n{i}": os.urandom(50_000) for i in range(100)})
    done = subprocess.run([sys.executable, "-c", LEFT, str(pool)], timeout=600)
    assert done.returncode == 0


def test_a_closed_store_says_so(pool):
    store = hexad.open(pool)
    store.close()
    with pytest.raises(hexad.ClosedError):
        asyncio.run(store.scrub_async())
