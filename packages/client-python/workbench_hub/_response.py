"""Bodies of requests and responses, which are streamed."""

from __future__ import annotations

import http.client
from typing import Callable, Iterator, List, NamedTuple, Optional

from ._scope import bytes_moved

CHUNK_BYTES = 256 * 1024


class Body(NamedTuple):
    """A request body that is written chunk by chunk, and again from its beginning at each try."""

    size: int
    chunks: Callable[[], Iterator[bytes]]


class Response:
    """A response whose body is read in chunks. `read_chunk` returns no bytes at the end, and raises `Broken` for a body that
    ends too early."""

    def __init__(
        self,
        response: http.client.HTTPResponse,
        release: Callable[[bool], None],
        broken: Callable[[BaseException], Exception],
    ) -> None:
        self._response = response
        self._release: Optional[Callable[[bool], None]] = release
        self._broken = broken
        self.status = response.status
        length = response.getheader("Content-Length")
        self._left = int(length) if length is not None and length.isdigit() else None
        if response.status in (204, 304):
            self._left = 0

    def header(self, name: str) -> Optional[str]:
        return self._response.getheader(name)

    def headers(self, name: str) -> List[str]:
        return self._response.headers.get_all(name) or []

    def read_chunk(self, limit: int = CHUNK_BYTES) -> bytes:
        return self._read(self._response.read, limit)

    def read_available(self, limit: int = CHUNK_BYTES) -> bytes:
        """The bytes that have arrived, at least one of them unless the body has ended."""
        if self._left == 0:
            self.close()
        return self._read(self._response.read1, min(limit, self._left or limit))

    def _read(self, read: Callable[[int], bytes], limit: int) -> bytes:
        if self._release is None:
            return b""
        try:
            chunk = read(limit)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise self._broken(error) from error
        if self._left is not None:
            self._left -= len(chunk)
        if chunk:
            bytes_moved()
            return chunk
        if self._left:
            self.close()
            raise self._broken(http.client.IncompleteRead(b"", self._left))
        self._finish(not self._response.will_close)
        return b""

    def read(self, limit: Optional[int] = None) -> bytes:
        """The rest of the body, at most `limit` bytes of it."""
        chunks: List[bytes] = []
        size = 0
        while limit is None or size < limit:
            chunk = self.read_chunk(CHUNK_BYTES if limit is None else min(CHUNK_BYTES, limit - size))
            if not chunk:
                return b"".join(chunks)
            chunks.append(chunk)
            size += len(chunk)
        self.close()
        return b"".join(chunks)

    def close(self) -> None:
        """Ends the connection, unless the body was read to its end."""
        self._finish(False)

    def _finish(self, is_reusable: bool) -> None:
        release, self._release = self._release, None
        if release is not None:
            release(is_reusable)
