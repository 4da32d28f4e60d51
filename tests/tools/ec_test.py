#!/usr/bin/env python3
"""hexad ec from outside: chunks are the file's bytes, parity is the code's, any m may go."""

import itertools
import json
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from cli_testing import PoolTest, main  # pylint: disable=wrong-import-position


def times_two(value):
    """In GF(2^8) with the polynomial 0x11d."""
    value <<= 1
    return value ^ 0x11D if value & 0x100 else value


def vandermonde_parity(data):
    """Parity of two rows: the sum, and the sum of 2^i d_i."""
    first, second = bytearray(len(data[0])), bytearray(len(data[0]))
    for position in range(len(data[0])):
        for chunk in reversed(data):
            first[position] ^= chunk[position]
            second[position] = times_two(second[position]) ^ chunk[position]
    return [bytes(first), bytes(second)]


class ErasureCodes(PoolTest):
    @classmethod
    def setUpClass(cls):
        cls.top = tempfile.mkdtemp(prefix="hexad-ec-")
        cls.addClassCleanup(shutil.rmtree, cls.top, ignore_errors=True)

    def chunks(self, out, count):
        return [self.read(f"{out}.{i}") for i in range(count)]

    def test_chunks_are_the_padded_file_and_its_parity(self):
        data = os.urandom(10007)
        out = self.path("out")
        result = self.ok("ec", "encode", "--codec", "isa:reed_sol_van", "--profile", "4+2",
                         self.write("file", data), out, "--json").json
        chunk = result["chunk"]
        self.assertEqual((result["length"], result["chunks"]), (10007, 6))
        chunks = self.chunks(out, 6)
        self.assertEqual({len(c) for c in chunks}, {chunk})
        self.assertEqual(b"".join(chunks[:4]), data + bytes(4 * chunk - len(data)))
        self.assertEqual(chunks[4:], vandermonde_parity(chunks[:4]))

    def test_every_loss_of_two_is_survived(self):
        data = os.urandom(5001)
        file = self.write("file", data)
        for codec in ("isa-vandermonde", "isa-cauchy", "jerasure:reed_sol_van,w=8",
                      "jerasure:cauchy_good,w=8,packetsize=64"):
            out = self.path("out")
            self.ok("ec", "encode", "--codec", codec, "--profile", "4+2", file, out)
            for lost in itertools.combinations(range(6), 2):
                for index in lost:
                    os.rename(f"{out}.{index}", f"{out}.{index}.away")
                back = self.path("back")
                report = self.ok("ec", "decode", back, out, "--json").json
                self.assertEqual(report["missing"], list(lost))
                self.assertEqual(self.read(back), data, (codec, lost))
                for index in lost:
                    os.rename(f"{out}.{index}.away", f"{out}.{index}")

    def test_three_lost_of_4_plus_2_is_unavailable(self):
        out = self.path("out")
        self.ok("ec", "encode", self.write("file", b"x" * 1000), out)
        for index in (0, 3, 5):
            os.unlink(f"{out}.{index}")
        self.fails(4, "ec", "decode", self.path("back"), out)
        self.assertFalse(os.path.exists(self.path("back")))

    def test_a_rotten_chunk_is_found_and_not_used(self):
        data = os.urandom(4000)
        out = self.path("out")
        self.ok("ec", "encode", self.write("file", data), out)
        with open(f"{out}.1", "r+b") as chunk:
            chunk.write(b"\0\0\0\0\0\0\0\0")
        report = self.ok("ec", "decode", self.path("back"), out, "--json").json
        self.assertEqual(report["damaged"], [1])
        self.assertEqual(self.read(self.path("back")), data)

    def test_decode_without_the_sidecar(self):
        data = os.urandom(777)
        out = self.path("out")
        self.ok("ec", "encode", "--profile", "3+2", self.write("file", data), out)
        os.unlink(out + ".meta")
        os.unlink(out + ".0")
        self.fails(2, "ec", "decode", self.path("back"), out)
        answer = self.ok("ec", "decode", "-", out, "--profile", "3+2", "--codec", "isa-vandermonde",
                         "--length", "777")
        self.assertEqual(answer.raw, data)

    def test_sizes_around_the_pieces(self):
        for size in (0, 1, 3, 4, 5, (4 << 20) - 1, 4 << 20, (4 << 20) + 1, (13 << 20) + 5):
            data = os.urandom(size)
            out = self.path("out")
            self.ok("ec", "encode", self.write("file", data), out)
            os.unlink(out + ".0")
            os.unlink(out + ".2")
            self.assertEqual(self.ok("ec", "decode", "-", out).raw, data)

    def test_bad_requests(self):
        file, out = self.write("file", b"x" * 100), self.path("out")
        self.fails(2, "ec", "encode", "--profile", "4+0", file, out)
        self.fails(2, "ec", "encode", "--profile", "33+2", file, out)
        self.fails(2, "ec", "encode", "--codec", "rot13", file, out)
        self.fails(1, "ec", "encode", self.path("missing"), out)
        self.fails(2, "ec", "encode", "-", out)
        self.assertEqual(os.listdir(self.folder), ["file"])
        self.ok("ec", "encode", file, out)
        self.fails(2, "ec", "decode", "--profile", "5+1", self.path("back"), out)
        for broken in (b"", b"{", b"[]", b"{}", b'{"profile": 7}'):
            with open(out + ".meta", "wb") as meta:
                meta.write(broken)
            self.fails(3, "ec", "decode", self.path("back"), out)
        with open(out + ".meta", "w", encoding="utf-8") as meta:
            json.dump({"profile": "4+2", "codec": "isa:reed_sol_van", "length": 1 << 63,
                       "chunk": 25, "crc32c": [0] * 6}, meta)
        self.fails(3, "ec", "decode", self.path("back"), out)


if __name__ == "__main__":
    main()
