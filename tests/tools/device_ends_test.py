"""What people do to a device by accident: a partition table, the first or the last MiB."""

import os

from cli_testing import PoolTest, main


class DeviceEnds(PoolTest):
    device_size = "32MiB"
    mkfs_options = ["--preset", "tiny"]

    def write_over(self, offset, length):
        for path in self.devices:
            with open(path, "r+b") as device:
                device.seek(offset, os.SEEK_SET if offset >= 0 else os.SEEK_END)
                device.write(os.urandom(length))

    def test_every_device_survives_it(self):
        data = os.urandom(300_000)
        self.ok("put", self.pool, "a", "-", stdin=data)
        table = 34 * 512
        for offset, length in [(0, 512), (512 * 32, 512), (0, table), (-table, table),
                               (0, 1 << 20), (-(1 << 20), 1 << 20)]:
            with self.subTest(offset=offset, length=length):
                self.write_over(offset, length)
                status = self.ok("status", self.pool, "--json").json
                self.assertEqual(status["health"], "ok")
                self.assertEqual(self.ok("get", self.pool, "a", "-").raw, data)
        self.ok("put", self.pool, "b", "-", stdin=data)
        self.assertEqual(self.ok("fsck", self.pool, "--deep", "--json").json["errors"], 0)

    def test_a_header_is_written_again(self):
        self.ok("put", self.pool, "c", "-", stdin=b"x")
        for offset in (1 << 20, -(2 << 20)):
            self.write_over(offset, 192 << 10)
            status = self.ok("status", self.pool).text
            self.assertIn("one label copy is damaged: at the " + ("head" if offset > 0 else "tail"),
                          status)
            self.ok("put", self.pool, "c", "-", stdin=b"y")
            self.assertNotIn("damaged", self.ok("status", self.pool).text)


if __name__ == "__main__":
    main()
