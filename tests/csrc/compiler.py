"""As much of a compiler as the extension looks at while it records: translators that interpret,
trackers of each kind that is described, and an engine that answers what it is asked.

Any of its answers can fail, once: `Engine.fails_at` is the number of the answer.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from stepper import _C

STORES = b"\x01" * 8
"""Of each instruction, whether it stores; see `_C.Mirror.stores`."""


class Tracker:
    """What all trackers inherit from."""

    def __init__(self, **fields: object) -> None:
        self.source: object = None
        self.mutation_type: object = None
        self.__dict__.update(fields)


class Named(Tracker):
    """A name, and the trackers among its fields."""


class Constant(Tracker):
    """A value."""


class Lazy(Tracker):
    """What was not looked at yet: its cache has a value, and in the end a tracker."""


class Listing(Tracker):
    """Some trackers in order."""


class Mapping(Tracker):
    """Some under keys."""


class Tensor(Tracker):
    """Made by a node."""


class Special(Tracker):
    """What only the engine can describe."""


class Nothing(Tracker):
    """What stands for no value."""


class Cache:
    """Of a lazy tracker."""

    def __init__(self, value: object) -> None:
        self.value, self.vt = value, None


class Key:
    """Of a mapping."""

    def __init__(self, vt: object) -> None:
        self.vt = vt


class Node:
    """Of the graph."""

    def __init__(self, name: str) -> None:
        self.name = name


class Source:
    """Where a tracker comes from."""

    def __init__(self, name: object) -> None:
        self.name = name


class New:
    """A kind of mutation."""


KINDS: dict[type, tuple[int, int]] = {
    Named: (_C.BY_NAME, _C.ORDINARY),
    Constant: (_C.AS_CONSTANT, _C.CONSTANT),
    Lazy: (_C.AS_LAZY, _C.LAZY),
    Listing: (_C.AS_SEQUENCE, _C.ORDINARY),
    Mapping: (_C.AS_MAPPING, _C.ORDINARY),
    Tensor: (_C.AS_TENSOR, _C.ORDINARY),
    Special: (_C.BY_ENGINE, _C.ORDINARY),
    Nothing: (_C.BY_NAME, _C.NOTHING),
}


class Engine:
    """Answers about trackers."""

    alike: frozenset[type] = frozenset((float,))

    def __init__(self) -> None:
        self.realized: dict[int, object] = {}
        self.answers = 0
        self.fails_at = 0
        self.error: type[Exception] = LookupError
        self.facts = _C.Facts(self, Tracker)

    def _answers(self) -> None:
        self.answers += 1
        if self.answers == self.fails_at:
            raise self.error("an answer")

    def kind(self, kind: type) -> tuple[int, str, str, str]:
        self._answers()
        return KINDS[kind][0], kind.__name__, kind.__name__.lower(), ""

    def flavour(self, kind: type) -> int:
        self._answers()
        return KINDS[kind][1]

    def words(self, fields: dict[str, Any]) -> tuple[str, str]:
        self._answers()
        return "words", str(fields.get("value", ""))

    def special(self, tracker: Any, fields: dict[str, Any], number: Callable[..., int]) -> int:
        self._answers()
        inner = fields.get("inner")
        children = (number(inner),) if isinstance(inner, Tracker) else ()
        return self.facts.id_of(b"\x91\xa7special", children)

    def tensor(self, properties: tuple[Any, ...]) -> tuple[str, str, bytes]:
        self._answers()
        return "Tensor", f"f32{list(properties[1])}", b"\x92\xa7float32\xc0"

    def key_text(self, key: object) -> str:
        self._answers()
        return "a key"

    def mutability(self, kind: type) -> tuple[str, bool]:
        self._answers()
        return "new", True

    def attributes(self, tracker: Any) -> dict[str, object] | None:
        self._answers()
        found: dict[str, object] | None = tracker.__dict__.get("pending")
        return found

    def source_text(self, source: object) -> str:
        self._answers()
        return "L['x']"


class Judge:
    """Wants to see each step, or none."""

    alert = False


class Translator:
    """Interprets a frame."""

    def __init__(self) -> None:
        self.instruction_pointer = 0
        self.stack: list[Tracker] = []
        self.symbolic_locals: dict[str, Tracker] = {}
        self.block_stack: list[object] = []
        self.current_speculation: object = None


class Session:
    """Steps that are recorded, and what was heard of them."""

    def __init__(self) -> None:
        self.engine, self.judge = Engine(), Judge()
        self.errors: list[str] = []
        self.alerts: list[int] = []
        self.keyframes: list[tuple[int, bytes]] = []
        self.flushed = 0
        self.steps = _C.Steps(
            self.judge,
            self.engine,
            frozenset((Listing,)),
            on_graph=self.engine._answers,
            on_alert=lambda frame: self.alerts.append(frame.id),
            on_adopt=self._adopt,
            on_error=lambda error: self.errors.append(type(error).__name__),
            pack_blocks=self._pack_blocks,
            speculation_text=self._speculation_text,
            write_keyframe=self._keyframe,
            flush=self._flush,
        )

    def _adopt(self, frame: Any) -> None:
        self.engine._answers()
        frame.stores = STORES

    def _pack_blocks(self, tx: object, blocks: list[object]) -> bytes:
        self.engine._answers()
        return bytes([0x90 + len(blocks), *[0xC0] * len(blocks)])

    def _speculation_text(self, speculation: object) -> str:
        self.engine._answers()
        return "" if speculation is None else "speculates"

    def _keyframe(self, moment: int, state: bytes) -> None:
        self.engine._answers()
        self.keyframes.append((moment, state))

    def _flush(self) -> None:
        self.flushed += 1

    def frame(self, number: int, parent: Any = None) -> tuple[Translator, Any]:
        """A frame, the innermost from now on."""
        tx = Translator()
        frame = _C.Mirror(number, tx, lambda key: "code", parent, "attempt", None)
        self.steps.top = frame
        return tx, frame


class Program:
    """A random one: each turn of it changes something of a translator, and is a step."""

    def __init__(self, session: Session, seed: int) -> None:
        self.session = session
        self.draw = random.Random(seed)
        self.made: list[Tracker] = []
        """Everything, so that no address is used twice."""
        self.frames: list[tuple[Translator, Any]] = [session.frame(1)]
        self.last_frame = 1

    def tracker(self) -> Tracker:
        """One that is new, or not."""
        draw = self.draw
        if self.made and draw.random() < 0.4:
            return draw.choice(self.made)
        some = draw.sample(self.made, min(len(self.made), 3))
        kind = draw.randrange(9)
        made: Tracker
        if kind == 0:
            made = Constant(value=draw.choice([None, True, 3, "text", 2.5, (1, 2), object]))
        elif kind == 1:
            made = Lazy(_cache=Cache(draw.choice([5, [], "text" * 99])), source=Source("L['x']"))
        elif kind == 2:
            made = Listing(items=some, mutation_type=New())
        elif kind == 3:
            made = Mapping(items={Key(each): each for each in some}, source=Source(None))
        elif kind == 4:
            node = draw.choice([Node("add"), None])
            size = draw.choice([(2, 3), ("s0",)])
            made = Tensor(proxy=Tracker(node=node), _size=size, stride=None, dtype="float32")
        elif kind == 5:
            made = Special(inner=some[0] if some else None)
        elif kind == 6:
            made = Nothing()
        else:
            held: Any = some[0] if some else None
            made = Named(value=f"thing {len(self.made)}", inner=some[:1], held=held)
            made.mutation_type = draw.choice([None, New()])
            made.__dict__["pending"] = draw.choice([None, {}, {"attr": held}])
        self.made.append(made)
        return made

    def turn(self) -> None:
        """One more step."""
        self.go_on()
        self.session.steps.step(self.frames[-1][0])

    def go_on(self) -> None:
        """Change something, and come to the next instruction."""
        tx, frame = self.frames[-1]
        draw = self.draw
        what = draw.randrange(10)
        if what < 3:
            tx.stack.append(self.tracker())
        elif what < 5 and tx.stack:
            tx.stack.pop()
        elif what == 5:
            tx.symbolic_locals[draw.choice("abcd")] = self.tracker()
        elif what == 6 and tx.symbolic_locals:
            tx.symbolic_locals.pop(draw.choice(list(tx.symbolic_locals)))
        elif what == 7 and self.made:
            self.change(draw.choice(self.made))
        elif what == 8:
            tx.block_stack = [object() for _ in range(draw.randrange(3))]
            tx.current_speculation = draw.choice([None, object()])
        elif len(self.frames) < 3 and draw.random() < 0.5:
            self.last_frame += 1
            self.frames.append(self.session.frame(self.last_frame, frame))
        elif len(self.frames) > 1:
            self.frames.pop()
            self.session.steps.top = self.frames[-1][1]
        self.frames[-1][0].instruction_pointer = draw.randrange(8)

    def change(self, tracker: Tracker) -> None:
        """Change a tracker, and say so."""
        self.session.steps.touched(tracker)
        if isinstance(tracker, Listing):
            items = tracker.__dict__["items"]
            tracker.__dict__["items"] = [*items, *items][:2]
        elif isinstance(tracker, Lazy):
            cache = tracker.__dict__["_cache"]
            if cache.vt is None:
                cache.vt = self.draw.choice([Constant(value=5), Named(value="realized")])
                self.made.append(cache.vt)
        elif isinstance(tracker, Named):
            tracker.__dict__["value"] = "changed"
