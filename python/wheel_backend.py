"""What pip calls at the top of the tree: setuptools, in the folder of the package."""

import os
import pathlib

os.chdir(pathlib.Path(__file__).resolve().parent)

from setuptools.build_meta import *  # noqa: E402,F403
