"""Where a loader is in its epochs: the same on all ranks, and enough to continue exactly there."""
from typing import Any, Dict, Mapping, NamedTuple

VERSION = 1
MOST_EPOCH = 2 ** 62


class Position(NamedTuple):
    epoch: int
    images: int  # of the rank, delivered in this epoch

    def after(self, images: int) -> "Position":
        """The same, or the beginning of the next epoch if this one, of `images`, is complete."""
        return Position(self.epoch + 1, 0) if self.images >= images else self

    def state(self, world_size: int, identity: Dict[str, Any]) -> Dict[str, Any]:
        """A dict for JSON. `identity` is {what must be the same: value}."""
        where = dict(epoch=self.epoch, images=self.images, world_size=world_size)
        return dict(format=f"rue.loader/{VERSION}", **where, **identity)

    @classmethod
    def load(
        cls, state: Mapping[str, Any], world_size: int, identity: Dict[str, Any], strict: bool, images: int
    ) -> "Position":
        """The position of a state, for `world_size` ranks and epochs of `images` a rank. Raises ValueError."""
        if not isinstance(state, Mapping) or state.get("format") != f"rue.loader/{VERSION}":
            raise ValueError(f"not a state of this version of Loader: its format is not rue.loader/{VERSION}")
        for name, least in dict(epoch=0, images=0, world_size=1).items():
            if not isinstance(state.get(name), int) or not least <= state[name] <= MOST_EPOCH:
                raise ValueError(f"the state is damaged: its {name} is {state.get(name)!r}")
        for name in [name for name in identity if strict and state.get(name) != identity[name]]:
            if name == "data":
                raise ValueError("the data changed since the state was saved: names, sizes, labels or the subset "
                                 "differ; use the same data, or strict=False")
            raise ValueError(f"the state was saved with {name} {state.get(name)!r}, and this loader has "
                             f"{identity[name]!r}; make the loader with the same, or use strict=False")
        saved_ranks, saved_images = state["world_size"], state["images"]
        position = saved_images * saved_ranks // world_size
        if saved_ranks != world_size and saved_images:
            if identity["share"] != "strided" or "batch_size" in identity:
                raise ValueError(f"the state is of {saved_ranks} ranks, and there are {world_size}: in the middle of "
                                 "an epoch the number can change only with share='strided', without round-robin")
            if saved_images * saved_ranks % world_size:
                raise ValueError(f"the state is of {saved_ranks} ranks after {saved_images} images each: {world_size} "
                                 "ranks cannot share that equally; continue with a divisor of their product")
        if position > images:
            raise ValueError(f"the state is after {position} images of an epoch, and an epoch has {images}: the data "
                             "differ")
        return cls(state["epoch"], position)
