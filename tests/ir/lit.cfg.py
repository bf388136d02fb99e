"""Runs the .mlir files of this folder by their RUN lines, with the Python that runs lit."""

import os
import sys
from pathlib import Path

import lit.formats

root = Path(__file__).parents[2]

config.name = "constpolicy"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = str(Path(__file__).parent)
config.test_exec_root = str(root / "build" / "ir")
config.environment["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
config.environment["PYTHONPATH"] = str(root)
config.substitutions.append(("%python", sys.executable))
cpu = ("--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu")
config.substitutions.append(("%cpu", " ".join((*cpu, "--iree-llvmcpu-target-cpu=host"))))
