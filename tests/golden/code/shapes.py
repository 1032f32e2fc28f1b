"""Code of every shape, to see that its identity is the same on every Python. Never edit: the golden file is of this text."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

LIMITS = {"low": 1, "high": 2.5, "name": "x", "raw": b"\x00\xff", "none": None, "nested": (1, (True, ...), frozenset({"a", "b"}))}


@dataclass(frozen=True)
class Shape:
    """A class with fields."""

    name: str
    sizes: tuple[int, ...] = (1, 2)
    tags: list[str] = field(default_factory=list)

    @property
    def area(self) -> float:
        return math.prod(self.sizes)

    @classmethod
    def of(cls, *sizes: int, **more: Any) -> Shape:
        return cls(name=more.get("name", f"{len(sizes)}-{sizes!r:>10}" "d"), sizes=sizes)

    def __matmul__(self, other: Shape) -> Shape:
        return Shape(name=self.name + other.name, sizes=(*self.sizes, *other.sizes))


def traced(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        nonlocal_count = 0

        def count() -> int:
            nonlocal nonlocal_count
            nonlocal_count += 1
            return nonlocal_count

        return function(*args, **kwargs), count()

    return inner


@traced
def everything(value: Any, /, first: int = 1, *rest: int, flag: bool = False, **more: Any) -> Any:
    """Statements and expressions of all kinds."""
    total: float = 0
    unset: int
    for position, (left, right) in enumerate(zip(rest, rest[1:], strict=False)):
        if (product := left * right) > LIMITS["high"] and not flag:
            continue
        total += product ** 2 // 3 % 7 << 1 | 4 & ~2 ^ 1
    else:
        total -= 1
    try:
        unset = int(value)
    except (ValueError, TypeError) as error:
        raise RuntimeError(f"bad {value!r} {first:0{first}d} {'a' 'b'} {{}} {total=}") from error
    finally:
        del more
    with open_nothing() as thing, open_nothing():
        thing[1:2, ::3] = [*rest, *(x for x in rest if x)]
    match value:
        case {"kind": str(kind), **others} if others:
            return kind
        case [Shape(name="a") | Shape(name="b") as shape, *_]:
            return shape.area
        case -1 | 1.5 | None:
            return lambda y, z=first: y @ z if y else {k: v for k, v in LIMITS.items()}
        case _:
            pass
    while total < 10 and unset is not None:
        total, unset = total + 1e-3, unset
        break
    assert total != 3j, "never"
    return sorted({total, *map(abs, rest)}, key=lambda one: (one, -one))[-1]


class open_nothing:  # noqa: N801 - golden text
    def __enter__(self) -> dict[Any, Any]:
        return {}

    def __exit__(self, *_: object) -> None:
        return None


async def later(items: Any) -> Iterator[int]:
    async for item in items:
        async with item as one:
            yield await one
