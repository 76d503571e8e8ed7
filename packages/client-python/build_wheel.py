#!/usr/bin/env python3
"""Builds the wheel, by the standard library alone: build_wheel.py [FOLDER]

The folder is dist by default. It is also the build backend of pyproject.toml (PEP 517, PEP 660), so that pip installs the sources where
it reaches no index.
"""

from __future__ import annotations

import base64
import hashlib
import re
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Dict, Mapping, Optional

SOURCE = Path(__file__).resolve().parent
MODULE = "workbench_hub"
TAG = "py3-none-any"
# Times of files in wheels and archives: the earliest that a zip file can have, so that the same sources give the same bytes.
FILE_TIME = (1980, 1, 1, 0, 0, 0)
Settings = Optional[Mapping[str, object]]


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: Optional[str] = None) -> str:
    """Builds the wheel into the folder and returns its name."""
    files = {
        path.relative_to(SOURCE).as_posix(): path.read_bytes()
        for path in sorted((SOURCE / MODULE).rglob("*"))
        if path.suffix == ".py" or path.name == "py.typed"
    }
    return _wheel(Path(wheel_directory), files)


def build_editable(wheel_directory: str, config_settings: Settings = None, metadata_directory: Optional[str] = None) -> str:
    """Builds a wheel that leads to the sources in their place, and returns its name."""
    return _wheel(Path(wheel_directory), {f"_{MODULE}.pth": f"{SOURCE}\n".encode()})


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """Builds an archive of the sources and returns its name."""
    top = f"{MODULE}-{_project()['version']}"
    name = f"{top}.tar.gz"
    with tarfile.open(Path(sdist_directory) / name, "w:gz") as archive:
        for part in (MODULE, "pyproject.toml", "README.md", Path(__file__).name):
            archive.add(SOURCE / part, f"{top}/{part}", filter=lambda each: None if "__pycache__" in each.name else each)
    return name


def _wheel(folder: Path, files: Dict[str, bytes]) -> str:
    version = _project()["version"]
    info = f"{MODULE}-{version}.dist-info"
    wheel = ["Wheel-Version: 1.0", "Generator: build_wheel.py", "Root-Is-Purelib: true", f"Tag: {TAG}"]
    contents = {**files, f"{info}/METADATA": _metadata(), f"{info}/WHEEL": "\n".join([*wheel, ""]).encode()}
    license_file = SOURCE.parent.parent / "LICENSE"
    if license_file.exists():
        contents[f"{info}/LICENSE"] = license_file.read_bytes()
    record = [f"{path},sha256={_digest(content)},{len(content)}" for path, content in contents.items()]
    record_path = f"{info}/RECORD"
    contents[record_path] = "\n".join([*record, f"{record_path},,", ""]).encode()
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{MODULE}-{version}-{TAG}.whl"
    with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in contents.items():
            entry = zipfile.ZipInfo(path, FILE_TIME)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return name


def _metadata() -> bytes:
    project = _project()
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {project['name']}",
        f"Version: {project['version']}",
        f"Summary: {project['description']}",
        f"License: {project['license']}",
        f"Requires-Python: {project['requires-python']}",
        *(f"Classifier: {each}" for each in re.findall(r'"([^"]+)"', project["classifiers"])),
        "Description-Content-Type: text/markdown",
        "",
    ]
    return "\n".join(lines).encode() + b"\n" + (SOURCE / "README.md").read_bytes()


def _project() -> Dict[str, str]:
    """The values of the table `project`, each of which is one line: Python 3.9 has no reader of TOML."""
    text = (SOURCE / "pyproject.toml").read_text("utf-8")
    table = text.partition("[project]\n")[2].partition("\n[")[0]
    values = dict(re.findall(r"^([\w-]+) = (.+)$", table, re.MULTILINE))
    return {key: re.sub(r'^(?:\{ text = )?"([^"]*)"(?: \})?$', r"\1", value) for key, value in values.items()}


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else SOURCE / "dist").resolve()
    print(target / build_wheel(str(target)))
