"""What pip calls: setuptools, in the folder of the package. The wheel's name says which C library it
takes (manylinux), as an index wants it; what else it needs it brings along.
"""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

os.chdir(pathlib.Path(__file__).resolve().parent)

from setuptools import build_meta  # noqa: E402
from setuptools.build_meta import *  # noqa: E402,F403


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)
    wheel = os.path.join(wheel_directory, name)
    # Both are fetched with the others that building takes, but for who does without isolation.
    for tool in ("auditwheel", "wheel"):
        if importlib.util.find_spec(tool) is None:
            print(f"hexad: {name}: no manylinux tag, for want of {tool}; install it with pip for one")
            return name
    shown = said_by("auditwheel", "show", wheel)
    tag = re.search(r"manylinux_\d+_\d+_x86_64", shown)
    if tag is None:
        print(f"hexad: {name}: no manylinux tag, as auditwheel names none that it runs on:\n{shown}")
        return name
    return said_by("wheel", "tags", "--remove", "--platform-tag", tag[0], wheel).split()[-1]


def said_by(module, *words):
    done = subprocess.run(
        [sys.executable, "-m", module, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode != 0:
        sys.exit(f"hexad: {module} {' '.join(words)} failed:\n{done.stdout}")
    return done.stdout
