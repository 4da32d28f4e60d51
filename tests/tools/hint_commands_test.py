#!/usr/bin/env python3
"""What the program prints for people to type works: it is typed as it stands, on pools made for that.

hint_forms_test.py sees to it that the command line takes every command that a text of the sources
names; here situations are brought about in which they are printed.
"""

import contextlib
import os
import shutil
import subprocess

import hint_texts
from cli_testing import HEXAD, PATIENCE, Answer, PoolTest, hexad, main
from hint_forms_test import verbs_of_the_program

MIB = 1 << 20


class Typing(PoolTest):
    """Pools whose names a shell has to be told of with quotes."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.verbs = verbs_of_the_program()
        programs = os.path.join(cls.top, "bin")
        os.mkdir(programs)
        os.symlink(HEXAD, os.path.join(programs, "hexad"))
        cls.environment = dict(os.environ, PATH=programs + ":" + os.environ["PATH"])

    def commands(self, text):
        """As they would be copied out of the text; none asks for the pool's name."""
        found = [" ".join(["hexad", verb.name, *words]) for verb, words in self.verbs.commands_in(text)]
        for command in found:
            self.assertNotIn("POOL", command.split())
        return found

    def type(self, command, stdin=b"", **chosen):
        """What a shell makes of a command, words that are left to choose filled in."""
        words = [chosen.get(word, word) for word in command.split(" ")]
        line = " ".join(words)
        left = [word for word in words if hint_texts.PLACEHOLDER.fullmatch(word)]
        self.assertEqual(left, [], line)
        done = subprocess.run(["bash", "-c", line], input=stdin, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=PATIENCE, env=self.environment, check=False)
        answer = Answer(done)
        self.assertNotIn(answer.code, (2, 127), f"{line}: {answer.error}")
        return answer

    def type_ok(self, command, **chosen):
        answer = self.type(command, **chosen)
        self.assertEqual(answer.code, 0, f"{command}: {answer.text}{answer.error}")
        return answer

    def hints(self, code, *words, stdin=b""):
        """The commands that a failure prints, in text and with --json alike."""
        error = self.expect(code, *words, stdin=stdin).error
        printed = self.commands(error.split("\n  hint: ")[-1])
        answer = self.expect(code, *words, "--json", stdin=stdin)
        if answer.raw:
            self.assertEqual(self.commands(answer.json["error"]["hint"]), printed)
        return printed

    def hint(self, code, *words, stdin=b""):
        found = self.hints(code, *words, stdin=stdin)
        self.assertEqual(len(found), 1, (words, found))
        return found[0]

    def new_pool(self, *options, devices=6, size="64MiB"):
        """A pool of its own, and its devices."""
        pool = self.path("it's a pool")
        paths = [self.path(f"own {i}") for i in range(devices)]
        self.ok("mkfs", pool, "--device", *paths, "--size", size, *options)
        return pool, paths

    @contextlib.contextmanager
    def holder(self, pool):
        """A process that has the pool, and answers; it ends with the block."""
        read_end, write_end = os.pipe()
        with subprocess.Popen([HEXAD, "put", pool, "slow", "-"], stdin=read_end,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            os.close(read_end)
            # More than fits into a pipe: when this returns, the writer is reading.
            os.write(write_end, b"x" * MIB)
            try:
                yield process
            finally:
                os.close(write_end)
                process.wait(PATIENCE)


class Objects(Typing):
    def test_a_directory_is_imported(self):
        os.mkdir(self.path("tree"))
        self.write("tree/file", b"1")
        self.type_ok(self.hint(2, "put", self.pool, "x", self.path("tree")), DIR=self.path("tree"))
        self.assertEqual(self.ok("cat", self.pool, "file").raw, b"1")

    def test_a_guard_that_did_not_hold(self):
        for words in ([], ["--collection", "a box"]):
            if words:
                self.ok("bucket", "create", self.pool, "a box")
            self.ok("put", self.pool, "a b", "-", *words, stdin=b"1")
            command = self.hint(1, "put", self.pool, "a b", "-", "--if-absent", *words)
            self.assertIn("a b", self.type_ok(command).text)

    def test_a_collection_that_is_missing(self):
        command = self.hint(1, "ls", self.pool, "--collection", "a new one")
        self.type_ok(command)
        self.ok("ls", self.pool, "--collection", "a new one")
        self.ok("put", self.pool, "x", "-", stdin=b"1")
        for verb, name in (("cp", "to"), ("mv", "there")):
            words = [verb, self.pool, "x", "y", "--to-collection", name]
            self.type_ok(self.hint(1, *words))
            self.ok(*words)
            self.ok(verb, self.pool, "y", "x", "--collection", name, "--to-collection", "default",
                    "--force")
        for words in (["bucket", "policy", self.pool, "b1"], ["bucket", "stat", self.pool, "b2"],
                      ["bucket", "rm", self.pool, "b3"],
                      ["put", self.pool, "x", "-", "--collection", "b4"]):
            self.type_ok(self.hint(1, *words))
            self.ok(*words)

    def test_a_collection_that_is_there_or_full(self):
        self.ok("bucket", "create", self.pool, "new")
        self.assertIn("new", self.type_ok(self.hint(1, "bucket", "create", self.pool, "new")).text)
        self.ok("put", self.pool, "a", "-", "--collection", "new", stdin=b"1")
        self.type_ok(self.hint(1, "bucket", "rm", self.pool, "new"))
        self.fails(1, "ls", self.pool, "--collection", "new")

    def test_an_attribute_that_is_missing_or_too_large(self):
        for words in ([], ["--collection", "box"]):
            if words:
                self.ok("bucket", "create", self.pool, "box")
            self.ok("put", self.pool, "it's", "-", *words, stdin=b"1")
            self.ok("attr", "set", self.pool, "it's", "there", "1", *words)
            command = self.hint(1, "attr", "get", self.pool, "it's", "gone", *words)
            self.assertIn("there", self.type_ok(command).text)
        large = bytes(MIB)
        command = self.hint(2, "attr", "set", self.pool, "it's", "large", "-", stdin=large)
        self.type_ok(command, NAME="large", FILE="-", stdin=large)
        self.assertEqual(self.ok("cat", self.pool, "large").raw, large)

    def test_words_that_belong_to_each_other(self):
        self.ok("put", self.pool, "b", "-", stdin=b"1")
        for words, shown in (
            (["rm", self.pool], "--prefix"),
            (["attr", "rm", self.pool, "b"], "--all"),
            (["damage", "ack", self.pool], "--all"),
            (["fsck", self.pool, "--bogus"], "--deep"),
            (["bench", "scale", self.path("x"), "--objects", "0"], "--objects"),
            (["bench", "run", self.pool, "--objects", "0"], "--rw"),
        ):
            self.assertIn(shown, self.type_ok(self.hint(2, *words)).text)

    def test_names_that_are_no_paths(self):
        self.ok("put", self.pool, "../up", "-", stdin=b"1")
        answer = self.expect(7, "export", self.pool, self.path("out"), "--json")
        (problem,) = answer.json["problems"]
        (command,) = self.commands(problem["hint"])
        self.assertIn(command, answer.error)
        self.type_ok(command, NAME="../up", FILE=self.path("up"))
        self.assertEqual(self.read(self.path("up")), b"1")
        self.ok("rm", self.pool, "../up")

    def test_a_tree_that_is_not_mounted(self):
        os.mkdir(self.path("empty"))
        self.ok("bucket", "create", self.pool, "trees")
        for prefix in ("it is", ""):
            for collection in ("trees", "default"):
                name = prefix + "/x" if prefix else "x"
                where = ["--collection", collection]
                for one in ("trees", "default"):
                    self.ok("put", self.pool, name, "-", "--collection", one, stdin=b"1")
                words = ["--prefix", prefix] if prefix else []
                self.type_ok(self.hint(2, "import", self.pool, self.path("empty"), "--delete", *words,
                                       *where))
                self.fails(1, "stat", self.pool, name, *where)
                other = "default" if collection == "trees" else "trees"
                self.ok("stat", self.pool, name, "--collection", other)


class Devices(Typing):
    def away(self, path):
        os.rename(path, path + ".away")

    def back(self, path):
        os.rename(path + ".away", path)

    def drained(self, pool, number, move=None):
        """Until nothing is left on a device. What moves by itself meanwhile may be in the way of a verb
        that moves, which ends with code 1 then.
        """
        self.ok("device", "drain", pool, number)
        while True:  # what keeps it from being over ends by itself
            moved = self.type(move) if move else hexad("device", "move", pool)
            if moved.code == 0:
                return
            self.assertEqual(moved.code, 1, moved.error)

    def advice(self, pool, code=3):
        """What doctor says to type, in text as with --json."""
        advice = self.expect(code, "doctor", pool, "--json").json["advice"]
        commands = [one["command"] for one in advice if one["command"]]
        self.assertEqual([self.commands(command) for command in commands],
                         [[command] for command in commands])
        text = self.expect(code, "doctor", pool).text
        for command in commands:
            self.assertIn(command, text)
        return commands

    def test_devices_by_number(self):
        for words, code in (
            (["device", "replace", self.pool, "one", self.path("new")], 2),
            (["device", "replace", self.pool, "77", self.path("new")], 1),
            (["device", "drain", self.pool, "77"], 1),
            (["device", "drain", self.pool, "77", "-n"], 1),
            (["device", "online", self.pool, "77"], 1),
            (["device", "can", self.pool, "offline", "77"], 1),
            (["device", "remove", self.pool, "77"], 1),
            (["device", "clear-errors", self.pool, "77"], 1),
        ):
            self.assertIn(self.devices[0], self.type_ok(self.hint(code, *words)).text)
        with self.holder(self.pool):
            for words in (["clear-errors", self.pool, "77"], ["drain", self.pool, "77"],
                          ["online", self.pool, "77"]):
                self.assertIn(self.devices[0], self.type_ok(self.hint(1, "device", *words)).text)

    def test_no_pool_on_the_devices(self):
        paths = [self.write(f"junk{i}", b"") for i in range(6)]
        for path in paths:
            os.truncate(path, 64 << 20)
        error = self.fails(1, "ls", "--device", *paths).error
        self.assertIn("hexad mkfs POOL --device PATH... makes a new pool", error)
        pool, own = self.new_pool()
        for path in own:
            os.truncate(path, 0)
            os.truncate(path, 64 << 20)
        shutil.rmtree(os.path.join(pool, "fast"))
        found = self.hints(1, "ls", pool)
        self.assertEqual(len(found), 1, found)
        os.unlink(os.path.join(pool, "hexad.pool"))  # as mkfs says
        quoted = " ".join(f"'{path}'" if "'" not in path else f'"{path}"' for path in own)
        self.type_ok(found[0], **{"PATH...": quoted})
        self.ok("ls", pool)

    def test_a_device_that_is_missing_is_replaced(self):
        pool, own = self.new_pool()
        self.ok("put", pool, "x", "-", stdin=os.urandom(8 * MIB))
        self.away(own[3])
        (command,) = self.advice(pool)
        self.type_ok(command, NEW=self.path("fresh"))
        self.assertEqual(self.advice(pool, 0), [])
        self.ok("fsck", pool, "--deep")

    def test_a_device_that_is_back_gets_what_it_missed(self):
        pool, own = self.new_pool(size="256MiB")
        self.away(own[3])
        self.ok("put", pool, "x", "-", stdin=os.urandom(8 * MIB))
        self.back(own[3])
        (command,) = self.advice(pool)
        found = self.hints(2, "device", "replace", pool, "3", self.path("fresh"))
        self.assertEqual(found, [command])
        self.type_ok(command)
        self.assertEqual(self.advice(pool, 0), [])

    def test_a_device_goes_for_good(self):
        pool, _ = self.new_pool(devices=7, size="64MiB")
        self.ok("put", pool, "x", "-", stdin=os.urandom(8 * MIB))
        question = ["device", "can", pool, "remove", "3"]
        answer = self.expect(1, *question)
        (drain,) = self.commands(answer.text)
        self.assertEqual(self.hint(4, "device", "remove", pool, "3"), drain)
        (move,) = self.commands(self.type_ok(drain).text)
        self.assertEqual(self.commands(self.expect(1, *question).text), [move])
        self.assertEqual(self.advice(pool, 0), [move])
        wait = self.hint(4, "device", "remove", pool, "3")
        self.assertIn("--for drain", wait)
        self.assertEqual(self.hint(4, "wait", pool, "--for", "drain"), move)
        self.assertEqual(self.type(wait).code, 4)
        self.drained(pool, "3", move)
        self.type_ok(wait)
        (remove,) = self.advice(pool, 0)
        self.type_ok(remove)
        self.assertEqual(self.advice(pool, 0), [])

    def test_a_device_that_was_drained_and_is_away(self):
        pool, own = self.new_pool(devices=7, size="64MiB")
        self.drained(pool, "3")
        self.away(own[3])
        self.ok("put", pool, "x", "-", stdin=b"1")
        (remove,) = self.advice(pool)
        self.back(own[3])
        self.assertIn("3", remove.split())
        details = [device["detail"] for device in self.ok("device", "ls", pool, "--json").json["devices"]]
        commands = [command for detail in details for command in self.commands(detail)]
        self.assertTrue(commands, details)
        text = self.ok("device", "ls", pool).text + self.ok("status", pool).text
        for command in commands:
            self.assertIn(command, text)
        self.type_ok(remove)

    def test_one_device_too_few_to_drain(self):
        pool, _ = self.new_pool()
        command = self.hint(6, "device", "drain", pool, "3")
        note = self.type_ok(command, PATH=self.path("seventh")).text
        (move,) = self.commands(note)
        self.type_ok(move)
        self.drained(pool, "3")

    def test_a_full_pool(self):
        pool, _ = self.new_pool(size="64MiB")
        blob = self.write("blob", os.urandom(16 * MIB))
        number = 0
        while hexad("put", pool, f"blob{number}", blob).code == 0:
            number += 1
        self.assertGreater(number, 2)
        command = self.hint(6, "put", pool, "more", blob)
        self.assertIn("device add", command)
        self.type_ok(command, PATH=self.path("seventh"))

    def test_snapshots_are_of_images(self):
        command = self.hint(2, "snapshot-group", "create", self.pool, "monday")
        self.assertIn("device replace", command)

    def test_a_pool_that_another_process_has(self):
        pool, _ = self.new_pool()
        self.ok("put", pool, "x", "-", stdin=os.urandom(8 * MIB))
        with self.holder(pool):
            for verb in ("stop", "pause", "resume"):
                start = self.hint(1, "scrub", verb, pool)
                self.assertTrue(start.startswith("hexad scrub start"), start)
            self.type_ok(start + " --rate 1KiB")
            found = self.hints(1, "scrub", "start", pool)
            self.assertEqual([one.split()[2] for one in found], ["status", "stop"])
            self.type_ok(found[0])
            self.ok("scrub", "pause", pool)
            (resume,) = self.commands(self.ok("scrub", "status", pool).text)
            self.assertEqual(self.hints(1, "scrub", "start", pool)[0], resume)
            self.type_ok(resume)
            self.type_ok(found[1])
        here = self.hint(1, "scrub", "status", pool)
        self.type_ok(here)

    def test_a_device_that_may_go_for_a_while(self):
        pool, own = self.new_pool()
        text = self.ok("device", "can", pool, "offline", "3").text
        online, wait = self.commands(text)
        self.away(own[3])
        self.ok("put", pool, "x", "-", stdin=os.urandom(8 * MIB))
        self.assertEqual(self.type(online, ID="3").code, 1)  # it is away still
        (replace,) = self.advice(pool)
        self.assertIn("device replace", replace)
        self.back(own[3])
        self.type(online, ID="3")
        self.type_ok(wait)
        self.assertEqual(self.advice(pool, 0), [])

    def test_what_waiting_does_not_mend(self):
        pool, own = self.new_pool()
        self.away(own[3])
        doctor = self.hint(4, "wait", pool, "--for", "clean")
        self.assertEqual(self.type(doctor).code, 3)


class Damaged(Typing):
    def test_what_more_than_parity_is_damaged(self):
        value = os.urandom(1 << 20)
        self.ok("put", self.pool, "rotten", "-", stdin=value)
        # A piece of every data cell; a stripe has six.
        for device in self.devices:
            with open(device, "r+b") as file:
                data = file.read()
                at = -1
                for piece in range(0, len(value), 4096):
                    at = data.find(value[piece : piece + 4096])
                    if at >= 0:
                        file.seek(at)
                        file.write(bytes(4096))
                        break
        # Four data cells are damaged, two of parity are not enough.
        answer = self.expect(4, "get", self.pool, "rotten", self.path("out"), "--json")
        hint = answer.json["error"]["hint"]
        self.assertNotIn("ttach", hint)
        (command,) = self.commands(hint)
        found = self.type(command)
        self.assertEqual(found.code, 3, found.error)
        self.assertIn("rotten", found.text)
        self.assertEqual(self.expect(3, "scrub", self.pool, "--json").json["errors"], 1)
        (listing,) = self.commands(self.expect(3, "status", self.pool).text)
        self.assertIn(listing, [one["command"] for one in
                                self.expect(3, "doctor", self.pool, "--json").json["advice"]])
        self.assertEqual(self.hint(3, "wait", self.pool, "--for", "clean"), listing)
        listed = self.type(listing)
        self.assertEqual(listed.code, 3, listed.error)
        (acknowledge,) = self.commands(listed.text)
        self.type_ok(acknowledge)
        self.type_ok(listing)
        other = self.hint(1, "damage", "ack", self.pool, "sound")
        self.type_ok(other)
        self.ok("put", self.pool, "rotten", "-", stdin=value)
        self.type_ok(command)


if __name__ == "__main__":
    main()
