#!/usr/bin/env python3
"""Builds the wheel without network, by the setuptools that are installed: build_wheel.py [FOLDER]

The folder is dist by default. The sources stay as they are: they are built from a copy.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent
KEPT = (SOURCE / "workbench_hub", SOURCE / "pyproject.toml", SOURCE / "README.md", SOURCE.parents[1] / "LICENSE")


def build(folder: Path) -> Path:
    """Builds the wheel into the folder and returns its path."""
    # Imported here, so that its absence can be explained.
    from setuptools import build_meta

    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="workbench-wheel-") as place:
        for source in KEPT:
            if source.is_dir():
                shutil.copytree(source, Path(place) / source.name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(source, place)
        before = os.getcwd()
        os.chdir(place)
        try:
            name: str = build_meta.build_wheel(str(folder))
        finally:
            os.chdir(before)
    return folder / name


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else SOURCE / "dist").resolve()
    try:
        print(build(target))
    except ImportError as error:
        sys.exit(f"{error}: on Debian, apt-get install python3-setuptools python3-wheel")
