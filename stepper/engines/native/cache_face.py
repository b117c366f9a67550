"""The cache as the front end's requests see it: see `stepper.debuggee.engine.Cache`."""

from __future__ import annotations

from typing import Any, NoReturn

from stepper.model.cache import CacheError, CacheListing


def _not_yet() -> NoReturn:
    raise CacheError("the native engine's cache cannot be asked or changed from here")


class NativeCache:
    """Answers for the cache of `stepper._C`."""

    def listing(self, function: str) -> CacheListing:
        """See `Cache.listing`."""
        _not_yet()

    def view(self, entry: int) -> Any:
        """See `Cache.view`."""
        _not_yet()

    def check(self, code: int, arguments: str, backend: str, compare: bool) -> Any:
        """See `Cache.check`."""
        _not_yet()

    def run(self, entry: int, arguments: str, compare: bool) -> Any:
        """See `Cache.run`."""
        _not_yet()

    def clone(self, entry: int, drop: tuple[int, ...], add: tuple[str, ...]) -> Any:
        """See `Cache.clone`."""
        _not_yet()

    def edit(self, entry: int, bytecode: str) -> Any:
        """See `Cache.edit`."""
        _not_yet()

    def register(self, entry: int) -> Any:
        """See `Cache.register`."""
        _not_yet()

    def remove(self, entry: int) -> str:
        """See `Cache.remove`."""
        _not_yet()
