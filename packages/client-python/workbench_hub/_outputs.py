"""Output files of a task on this machine: received into a folder beside their places, and put there when all are complete."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import unicodedata
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Dict, Iterable, List, Optional, Sequence, Tuple

from ._errors import OutputExists, UnsafeName
from ._put import put

# Devices of Windows, which have any extension: `NUL`, `com1.txt`, `con .log`.
DEVICE = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³]) *(?:\..*)?", re.IGNORECASE)
FORBIDDEN = re.compile(r"[\x00-\x1f\x7f\\]")
FORBIDDEN_ON_WINDOWS = re.compile(r'[<>:"|?*]')


def safe_parts(directory: Optional[str], filename: str) -> Tuple[str, ...]:
    """Parts of the path of an output below the folder of the outputs.

    Raises `UnsafeName` for a name that is none on this system, or that would lead elsewhere.
    """
    shown = filename if directory is None else f"{directory}/{filename}"
    parts = (*(() if directory is None else directory.split("/")), filename)
    for part in parts:
        is_path = part in ("", ".", "..") or "/" in part or FORBIDDEN.search(part) is not None
        if is_path or (os.name == "nt" and _is_unfit_for_windows(part)):
            raise UnsafeName(f"the output {shown!r} was refused: its name could lead out of the folder")
    return parts


def _is_unfit_for_windows(part: str) -> bool:
    return (
        FORBIDDEN_ON_WINDOWS.search(part) is not None
        or part.endswith((".", " "))
        or DEVICE.fullmatch(part) is not None
    )


def _key(name: str) -> str:
    """The same for all names of one file here: Windows and macOS tell no cases apart, and macOS no forms of Unicode."""
    return unicodedata.normalize("NFC", name).casefold() if sys.platform in ("win32", "darwin") else name


def _refuse_collisions(names: Iterable[Tuple[str, ...]]) -> None:
    """Raises `UnsafeName` for two outputs that would be one file here, or one of which would be the folder of the other."""
    files: Dict[Tuple[str, ...], str] = {}
    for parts in names:
        key, name = tuple(map(_key, parts)), "/".join(parts)
        if key in files:
            raise UnsafeName(f"the outputs {files[key]!r} and {name!r} were refused: they would be one file here")
        files[key] = name
    for key, name in files.items():
        above = [files[key[:count]] for count in range(1, len(key)) if key[:count] in files]
        if above:
            raise UnsafeName(f"the output {name!r} was refused: {above[0]!r} would be its folder and a file")


def stored_names(
    task_id: str, stored: Iterable[str], outputs: Iterable[Tuple[str, ...]]
) -> Dict[str, Tuple[str, ...]]:
    """Paths of files of the output storage below the folder of the outputs, by their names there: without the id of the task,
    unless an output or another stored file has that name.

    Raises `UnsafeName` as `safe_parts` does.
    """
    taken = {_key(parts[0]) for parts in outputs}
    found: Dict[str, Tuple[str, ...]] = {}
    for name in stored:
        parts = safe_parts(None, name[len(task_id) + 1 :])
        while _key(parts[0]) in taken:
            parts = safe_parts(None, f"{task_id}-{parts[0]}")
        taken.add(_key(parts[0]))
        found[name] = parts
    return found


class Staging:
    """Outputs that are being received. `place` moves them to their places, all or none; leaving the context removes the rest.

    `folder` is created with the first file if necessary, and removed again when nothing came into it.
    """

    def __init__(self, folder: Path, overwrite: bool) -> None:
        self._folder = folder
        self._overwrite = overwrite
        self._is_new = False
        self._place: Optional[Path] = None
        self._files: List[Path] = []
        self._open: Optional[BinaryIO] = None

    def __enter__(self) -> Staging:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def clear(self) -> None:
        """Removes what was received and has no place yet."""
        self._close()
        self._files.clear()
        if self._place is None:
            return
        shutil.rmtree(self._place, ignore_errors=True)
        self._place = None
        if self._is_new:
            try:
                self._folder.rmdir()
            except OSError:
                pass

    def begin(self) -> None:
        """Begins the next file, which `write` continues. A file is known by its number, counted from 0."""
        self._close()
        self._open = self.next_path().open("xb")

    def write(self, content: bytes) -> None:
        assert self._open is not None
        self._open.write(content)

    def next_path(self) -> Path:
        """Path of the next file, for a caller that writes it."""
        if self._place is None:
            self._is_new = not self._folder.exists()
            self._folder.mkdir(parents=True, exist_ok=True)
            self._place = Path(tempfile.mkdtemp(prefix=".workbench-", dir=self._folder))
        path = self._place / str(len(self._files))
        self._files.append(path)
        return path

    def check(self, names: Sequence[Tuple[str, ...]]) -> List[Path]:
        """Places of files below the folder. Raises `UnsafeName` and `OutputExists` when files cannot be put there."""
        targets = [self._folder.joinpath(*parts) for parts in names]
        _refuse_collisions(names)
        for parts in names:
            self._refuse_links(parts)
        existing = [path for path in targets if os.path.lexists(path)]
        if existing and (not self._overwrite or any(path.is_dir() for path in existing)):
            raise OutputExists([str(path) for path in existing])
        return targets

    def place(self, names: Sequence[Tuple[str, ...]]) -> Dict[str, Path]:
        """Moves the files to their places below the folder; `names` are their paths, in the order of `begin`."""
        self._close()
        if len(names) != len(self._files):
            raise UnsafeName("the names of the outputs are not those of as many files")
        targets = self.check(names)
        for source, target in zip(self._files, targets):
            target.parent.mkdir(parents=True, exist_ok=True)
            put(source, target)
        return {str(PurePosixPath(*parts)): target for parts, target in zip(names, targets)}

    def _refuse_links(self, parts: Tuple[str, ...]) -> None:
        """Refuses folders below the folder of the outputs that are links, or files."""
        path = self._folder
        for part in parts[:-1]:
            path = path / part
            if path.is_symlink() or (path.exists() and not path.is_dir()):
                raise UnsafeName(f"{path} is no folder, so that outputs cannot be put into it")

    def _close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None
