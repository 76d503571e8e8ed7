"""Reading of a JSON body as it arrives: the contents of files go to a sink, everything else becomes a value."""

from __future__ import annotations

import binascii
import json
from typing import Any, Callable, Dict, List, Optional, Tuple

Path = Tuple[str, ...]
Sink = Callable[[bytes], None]

MAX_DEPTH = 100
WHITESPACE = b" \t\r\n"
ENDS_OF_LITERALS = b" \t\r\n,]}"


class NotJson(ValueError):
    """The body is not JSON, or the content of a file in it is not Base64."""


class JsonReader:
    """Reads one JSON value.

    `read` gives the next bytes, none at the end. `sink_for` gets the path of each string, such as
    `("outputFiles", "[]", "content")`, and returns the sink of its decoded Base64, or `None` for an ordinary string. A string
    that went to a sink is `None` in the value. `root` is the outermost object, while it is being filled.
    """

    def __init__(self, read: Callable[[], bytes], sink_for: Callable[[Path], Optional[Sink]]) -> None:
        self._read = read
        self._sink_for = sink_for
        self._buffer = b""
        self._at = 0
        self.root: Dict[str, Any] = {}

    def value(self) -> Any:
        """The whole value; nothing but white space may follow it."""
        found = self._value(())
        if self._peek_or_none() is not None:
            raise NotJson("something follows the JSON value")
        return found

    def _value(self, path: Path) -> Any:
        if len(path) > MAX_DEPTH:
            raise NotJson(f"the JSON value is deeper than {MAX_DEPTH} levels")
        first = self._peek()
        if first == b"{":
            return self._object(path)
        if first == b"[":
            return self._array(path)
        if first == b'"':
            sink = self._sink_for(path)
            return self._string() if sink is None else self._decode_into(sink)
        return self._literal()

    def _object(self, path: Path) -> Dict[str, Any]:
        found: Dict[str, Any] = self.root if path == () else {}
        self._at += 1
        if self._peek() == b"}":
            self._at += 1
            return found
        while True:
            if self._peek() != b'"':
                raise NotJson("a key is missing in a JSON object")
            key = self._string()
            self._expect(b":")
            found[key] = self._value((*path, key))
            if not self._goes_on(b"}"):
                return found

    def _array(self, path: Path) -> List[Any]:
        found: List[Any] = []
        self._at += 1
        if self._peek() == b"]":
            self._at += 1
            return found
        while True:
            found.append(self._value((*path, "[]")))
            if not self._goes_on(b"]"):
                return found

    def _goes_on(self, end: bytes) -> bool:
        mark = self._peek()
        if mark not in (b",", end):
            raise NotJson("a comma is missing in the JSON value")
        self._at += 1
        return mark == b","

    def _string(self) -> str:
        self._at += 1
        parts: List[bytes] = []
        while True:
            quote = self._buffer.find(b'"', self._at)
            end = len(self._buffer) if quote < 0 else quote
            backslash = self._buffer.find(b"\\", self._at, end)
            if backslash >= 0:
                # The escaped character may be a quote, and may not have arrived yet.
                while len(self._buffer) < backslash + 2:
                    backslash -= self._more()
                parts.append(self._buffer[self._at : backslash + 2])
                self._at = backslash + 2
                continue
            parts.append(self._buffer[self._at : end])
            self._at = end
            if quote >= 0:
                self._at += 1
                return str(_loads(b'"' + b"".join(parts) + b'"'))
            self._more()

    def _decode_into(self, sink: Sink) -> None:
        self._at += 1
        rest = b""
        while True:
            quote = self._buffer.find(b'"', self._at)
            end = len(self._buffer) if quote < 0 else quote
            # Some encoders escape the slashes of Base64.
            text = rest + self._buffer[self._at : end].replace(b"\\/", b"/")
            self._at = end
            if quote < 0 and text.endswith(b"\\"):
                text, self._at = text[:-1], end - 1
            # The last four characters wait: they may be padded.
            whole = len(text) if quote >= 0 else max(0, len(text) - 1) // 4 * 4
            _decode(text[:whole], quote >= 0, sink)
            rest = text[whole:]
            if quote >= 0:
                self._at += 1
                return
            self._more()

    def _literal(self) -> Any:
        start = self._at
        while True:
            while self._at < len(self._buffer) and self._buffer[self._at] not in ENDS_OF_LITERALS:
                self._at += 1
            if self._at < len(self._buffer):
                break
            length = self._at - start
            self._at = start
            chunk = self._read()
            self._buffer = self._buffer[start:] + chunk
            start, self._at = 0, length
            if not chunk:
                break
        return _loads(self._buffer[start : self._at])

    def _expect(self, mark: bytes) -> None:
        if self._peek() != mark:
            raise NotJson(f"{mark.decode()} is missing in the JSON value")
        self._at += 1

    def _peek(self) -> bytes:
        found = self._peek_or_none()
        if found is None:
            raise NotJson("the JSON value ends too early")
        return found

    def _peek_or_none(self) -> Optional[bytes]:
        while True:
            while self._at < len(self._buffer) and self._buffer[self._at] in WHITESPACE:
                self._at += 1
            if self._at < len(self._buffer):
                return self._buffer[self._at : self._at + 1]
            self._buffer = self._read()
            self._at = 0
            if not self._buffer:
                return None

    def _more(self) -> int:
        """Drops what was read, appends what comes next, and returns by how much positions have moved."""
        chunk = self._read()
        if not chunk:
            raise NotJson("the JSON value ends too early")
        moved = self._at
        self._buffer = self._buffer[moved:] + chunk
        self._at = 0
        return moved


def _decode(text: bytes, is_last: bool, sink: Sink) -> None:
    try:
        content = binascii.a2b_base64(text)
    except binascii.Error as error:
        raise NotJson(f"the content of a file is not Base64: {error}") from error
    # a2b_base64 skips foreign characters; the length shows that.
    padding = len(text) - len(text.rstrip(b"=")) if is_last else 0
    if len(content) != len(text) // 4 * 3 - padding or len(text) % 4:
        raise NotJson("the content of a file is not Base64")
    if content:
        sink(content)


def _loads(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise NotJson(f"the body is not JSON: {error}") from error
