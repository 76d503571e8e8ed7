"""Files put in their places, on Windows also where another program holds one for a moment."""

from __future__ import annotations

import os
import time
from pathlib import Path

# Windows: time for which a scanner of viruses or an index of the system may hold a file open.
PATIENCE_S = 5.0 if os.name == "nt" else 0.0
PAUSE_S = 0.05


def put(source: Path, target: Path) -> None:
    """Moves a complete file to its place, where it replaces another one."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            os.replace(source, target)
            return
        except PermissionError:
            if time.monotonic() >= until:
                raise
            time.sleep(PAUSE_S)
