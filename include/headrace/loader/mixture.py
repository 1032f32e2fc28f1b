"""Several streams as one, by weights, deterministically.

Places are dealt in blocks of a thousand: in each, every stream gets its share of the slots (largest remainders), in an order shuffled by
(fingerprint, seed, block). So how many of a stream's samples came before any place is known without walking there, shares are exact over
every block, and each stream runs through its own epochs at its own speed, every sample of it once per epoch of its own.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from headrace.loader.order import Positions
from headrace.loader.randomness import key_of, permutation
from headrace.spec.errors import check

BLOCK: Final = 1000
_BLOCKS_KEPT: Final = 8


def quotas(weights: Sequence[float]) -> NDArray[np.int64]:
    """Slots of a block for each weight, together `BLOCK`. Raises DeclarationError for weights that give a stream no slot."""
    who, values = "mixture", np.asarray(weights, dtype=np.float64)
    check(values.shape[0] > 0 and bool(np.all(np.isfinite(values)) and np.all(values > 0)), who, "weights", weights, "above 0")
    exact = values / values.sum() * BLOCK
    slots: NDArray[np.int64] = np.floor(exact).astype(np.int64)
    rest = BLOCK - int(slots.sum())
    slots[np.argsort(-(exact - slots), kind="stable")[:rest]] += 1
    check(bool(np.all(slots > 0)), who, "weights", weights, f"at least 1 in {BLOCK} for each dataset")
    return slots


class Mixture:
    """Deals places to streams."""

    def __init__(self, fingerprint: str, seed: int, weights: Sequence[float]) -> None:
        self._fingerprint = fingerprint
        self._seed = seed
        self._quotas = quotas(weights)
        self._blocks: OrderedDict[int, tuple[NDArray[np.int64], NDArray[np.int64]]] = OrderedDict()

    def deal(self, places: Positions) -> tuple[NDArray[np.int64], Positions]:
        """For each place its stream, and its place in that stream. Both of shape (places,)."""
        stream, within = np.empty_like(places), np.empty_like(places)
        blocks, slots = np.divmod(places, BLOCK)
        for block in np.unique(blocks):
            here = blocks == block
            streams, counts = self._block(int(block))
            stream[here] = streams[slots[here]]
            within[here] = block * self._quotas[stream[here]] + counts[slots[here]]
        return stream, within

    def counts_before(self, place: int) -> NDArray[np.int64]:
        """How many places below `place` each stream got."""
        block, slot = divmod(place, BLOCK)
        streams, _ = self._block(block)
        return block * self._quotas + np.bincount(streams[:slot], minlength=self._quotas.shape[0])

    def _block(self, block: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Each slot's stream, and how many earlier slots of the block that stream has."""
        found = self._blocks.get(block)
        if found is None:
            dealt = np.repeat(np.arange(self._quotas.shape[0]), self._quotas)
            streams = dealt[permutation(key_of("mixture", self._fingerprint, self._seed, block), BLOCK)]
            counts = np.empty(BLOCK, dtype=np.int64)
            for number in range(self._quotas.shape[0]):
                counts[streams == number] = np.arange(self._quotas[number])
            found = (streams, counts)
            self._blocks[block] = found
            while len(self._blocks) > _BLOCKS_KEPT:
                self._blocks.popitem(last=False)
        return found
