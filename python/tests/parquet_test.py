"""Tables in a pool: pandas and pyarrow through hexad://."""

import contextlib

import pytest

fsspec = pytest.importorskip("fsspec")
pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")

# pylint: disable=wrong-import-position,redefined-outer-name
import pyarrow.dataset
import pyarrow.fs
import pyarrow.parquet
from ecosystem_pools import temporary_pool
from hexad.fsspec import HexadFileSystem

fsspec.register_implementation("hexad", HexadFileSystem, clobber=True)


@pytest.fixture(scope="module")
def pool():
    with temporary_pool() as path:
        yield path


@pytest.fixture
def fs(pool):
    fs = fsspec.filesystem("hexad")
    yield fs
    fs.rm(pool, recursive=True)
    fs.close()


def table(rows=20_000):
    return pandas.DataFrame(
        {"number": range(rows), "text": [f"row {i * 7919 % rows}" for i in range(rows)]}
    )


def test_pandas_writes_and_reads_parquet(pool, fs):
    url = f"hexad://{pool}/tables/a.parquet"
    table().to_parquet(url)
    pandas.testing.assert_frame_equal(pandas.read_parquet(url), table())
    numbers = pandas.read_parquet(url, columns=["number"], filters=[("number", ">", 19_990)])
    assert list(numbers["number"]) == list(range(19_991, 20_000))
    assert fs.find(pool) == [f"{pool}/tables/a.parquet"]


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_pandas_writes_and_reads_csv(name, pool, fs):
    url = f"hexad://{pool}/{name}"
    table(100).to_csv(url, index=False)
    pandas.testing.assert_frame_equal(pandas.read_csv(url), table(100))
    assert fs.size(url) > 0


def test_pyarrow_reads_row_groups_of_a_file(pool, fs):
    path = f"{pool}/groups.parquet"
    pyarrow.parquet.write_table(
        pyarrow.Table.from_pandas(table()), path, filesystem=fs, row_group_size=1000
    )
    with pyarrow.parquet.ParquetFile(path, filesystem=fs) as file:
        assert file.num_row_groups == 20
        assert file.read_row_group(7)["number"][0].as_py() == 7000


def test_pyarrow_writes_and_reads_a_partitioned_dataset(pool, fs):
    frame = table(1000)
    frame["part"] = frame["number"] % 3
    arrow = pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(fs))
    pyarrow.dataset.write_dataset(
        pyarrow.Table.from_pandas(frame),
        f"{pool}/set",
        filesystem=arrow,
        format="parquet",
        partitioning=["part"],
        partitioning_flavor="hive",
    )
    found = pyarrow.dataset.dataset(f"{pool}/set", filesystem=arrow, partitioning="hive")
    assert len(found.files) == 3
    part = found.to_table(filter=pyarrow.dataset.field("part") == 1).to_pandas()
    assert sorted(part["number"]) == list(range(1, 1000, 3))


# The writer, dropped with the table half written, tries to end a file that is closed.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_table_that_fails_half_way_leaves_nothing(pool, fs):
    frame = pyarrow.Table.from_pandas(table(100))
    with pytest.raises(ZeroDivisionError):
        with fs.open(f"{pool}/broken", "wb") as file:
            writer = pyarrow.parquet.ParquetWriter(file, frame.schema)
            writer.write_table(frame)
            raise ZeroDivisionError
    assert not fs.exists(f"{pool}/broken")


def test_several_tables_appear_together(pool, fs):
    with fs.transaction:
        for i in range(3):
            table(100).to_parquet(fs.open(f"{pool}/t{i}.parquet", "wb"))
        assert fs.find(pool) == []
    for i in range(3):
        pandas.testing.assert_frame_equal(
            pandas.read_parquet(f"{pool}/t{i}.parquet", filesystem=fs), table(100)
        )


def test_duckdb_reads_what_the_file_holds(pool, fs):
    """It seeks and reads one file in several threads at a time, with and without reading ahead."""
    duckdb = pytest.importorskip("duckdb")
    path = f"{pool}/many.parquet"
    rows = pyarrow.table({name: range(start, start + 200_000) for start, name in enumerate("abcdefgh")})
    with fs.open(path, "wb") as file:
        pyarrow.parquet.write_table(rows, file, row_group_size=10_000)
    with contextlib.closing(HexadFileSystem(skip_instance_cache=True, each_thread_seeks=True)) as files:
        for ahead in ("true", "false"):
            with duckdb.connect() as base:
                base.register_filesystem(files)
                base.execute("set enable_external_file_cache = false")
                base.execute(f"set disable_parquet_prefetching = {ahead}")
                found = base.sql(f"select * from read_parquet('hexad://{path}')").to_arrow_table()
            assert found == rows
