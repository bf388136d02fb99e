"""Growth by liveness: what evaluating adds to the file, when the sources that die are taken off.

A source dies when nothing outside the candidates reads it and every candidate that reads it is evaluated or shared.
A shared candidate makes its source die in any case: all other readers read the result instead.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from constpolicy.records import Action, Candidate, Origin, Program, Source

STORED = (Action.EVALUATE, Action.SHARE)  # the actions that put the result into the file


@dataclass(frozen=True)
class Liveness:
    """Who reads what in a program, worked out once for all decisions."""

    program: Program

    @cached_property
    def readers(self) -> dict[str, list[Candidate]]:
        """The candidates that read each source, by the source's key, in program order."""
        readers: dict[str, list[Candidate]] = {}
        for candidate in self.program.candidates:
            for key in dict.fromkeys(source.key for source in candidate.sources):
                readers.setdefault(key, []).append(candidate)
        return readers

    @cached_property
    def _bytes_of_readers(self) -> dict[str, int]:
        return {key: sum(reader.result_bytes for reader in readers) for key, readers in self.readers.items()}

    @cached_property
    def sources(self) -> dict[str, Source]:
        """One record of each source, by key."""
        return {source.key: source for candidate in self.program.candidates for source in candidate.sources}

    @cached_property
    def twins(self) -> dict[str, list[Candidate]]:
        """The candidates of equal expressions, by fingerprint: IREE stores their results once."""
        twins: dict[str, list[Candidate]] = {}
        for candidate in self.program.candidates:
            twins.setdefault(candidate.fingerprint, []).append(candidate)
        return twins

    def has_home(self, source: Source, actions: Mapping[str, Action]) -> bool:
        """Whether a shared result holds the source's only copy."""
        homes = self._homes.get(source.key)
        return homes is not None and any(actions[home.id] is Action.SHARE for home in homes)

    def dies(self, source: Source, actions: Mapping[str, Action]) -> bool:
        """Whether the source is no longer stored under these actions (by candidate id)."""
        if self.has_home(source, actions):
            return True
        return not source.shared and all(actions[reader.id] in STORED for reader in self.readers[source.key])

    @cached_property
    def _homes(self) -> dict[str, list[Candidate]]:
        """The candidates that could hold the only copy of each source, by its key."""
        homes: dict[str, list[Candidate]] = {}
        for candidate in self.program.candidates:
            if candidate.share is not None:
                homes.setdefault(candidate.share.source_key, []).append(candidate)
        return homes

    def needed(self, candidate: Candidate, actions: Mapping[str, Action]) -> bool:
        """Whether an evaluated result is stored: some function, or an initializer that remains, reads it."""
        if any(not reader.is_initializer for reader in candidate.readers):
            return True
        inner = self.inner_readers(candidate)
        remaining = len(candidate.readers) > len(inner)  # a user's initializer, of which nothing more is known
        return remaining or any(actions[reader.id] not in STORED for reader in inner)

    def inner_readers(self, candidate: Candidate) -> list[Candidate]:
        """The candidates that read the candidate's results."""
        by_symbol = self._readers_of_globals
        return [reader for stored in candidate.globals for reader in by_symbol.get(stored.symbol, [])]

    @cached_property
    def _readers_of_globals(self) -> dict[str, list[Candidate]]:
        found: dict[str, list[Candidate]] = {}
        for candidate in self.program.candidates:
            for source in candidate.sources:
                if source.origin is Origin.GLOBAL:
                    found.setdefault(source.name, []).append(candidate)
        return found

    def growth(self, candidate: Candidate, actions: Mapping[str, Action]) -> int:
        """Bytes that evaluating the candidate adds, all other actions being as given.

        The bytes of a dying source are split among the candidates that read it in proportion to their results, and
        those of a result among its twins, so that all of them stand together as what they are together.
        """
        evaluated = _with_evaluated(actions, candidate)
        sources = {source.key: source for source in candidate.sources}
        if evaluated[candidate.id] is Action.SHARE and candidate.share is not None:
            moved = candidate.share.source_key  # perhaps read through another candidate's global
            sources |= {moved: self.sources[moved]} if moved in self.sources else {}
        credit = sum(
            source.stored_bytes * self._part(candidate, source, evaluated)
            for source in sources.values()
            if source.stored_bytes and self.dies(source, evaluated)
        )
        return self._stored_bytes(candidate, evaluated) - round(credit)

    def _stored_bytes(self, candidate: Candidate, actions: Mapping[str, Action]) -> int:
        """The candidate's part in the bytes of the result in the file if it is evaluated."""
        if not self.needed(candidate, actions):
            return 0
        twins = self.twins[candidate.fingerprint]
        return candidate.stored_bytes // (1 if len(twins) == 1 else sum(self._is_stored(t, actions) for t in twins))

    def _is_stored(self, candidate: Candidate, actions: Mapping[str, Action]) -> bool:
        return actions[candidate.id] in STORED and self.needed(candidate, actions)

    def _part(self, candidate: Candidate, source: Source, actions: Mapping[str, Action]) -> float:
        """The candidate's part in the death of the source: all of it for the one that is the source's new home."""
        homes = [home.id for home in self._homes.get(source.key, ()) if actions[home.id] is Action.SHARE]
        if homes:
            return 1 / len(homes) if candidate.id in homes else 0.0
        total = self._bytes_of_readers[source.key]
        return candidate.result_bytes / total if total else 1.0

    def file_growth(self, actions: Mapping[str, Action]) -> int:
        """Bytes that the file's constants grow by, against leaving every candidate for load time."""
        added = sum(
            twins[0].stored_bytes for twins in self.twins.values() if any(self._is_stored(t, actions) for t in twins)
        )
        freed = sum(source.stored_bytes for source in self.sources.values() if self.dies(source, actions))
        return added - freed

    def survivors(self, candidate: Candidate, actions: Mapping[str, Action]) -> list[tuple[Source, str]]:
        """The sources of an evaluated candidate that stay alive, largest first, each with who reads it."""
        alive = []
        for source in {source.key: source for source in candidate.sources}.values():
            if not source.stored_bytes or self.dies(source, _with_evaluated(actions, candidate)):
                continue
            outside = [f"{reader.symbol} ({reader.kind})" for reader in source.readers]
            inside = [
                c.symbol for c in self.readers[source.key] if c.id != candidate.id and actions[c.id] not in STORED
            ]
            alive.append((source, ", ".join(dict.fromkeys([*outside, *inside]))))
        return sorted(alive, key=lambda pair: (-pair[0].stored_bytes, pair[0].key))


def _with_evaluated(actions: Mapping[str, Action], candidate: Candidate) -> Mapping[str, Action]:
    """The actions, with the candidate evaluated if it is not stored yet. Copies nothing: there may be thousands."""
    if actions[candidate.id] in STORED:
        return actions
    return ChainMap({candidate.id: Action.EVALUATE}, cast("dict[str, Action]", actions))  # which is only read
