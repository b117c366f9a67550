"""An object's attributes are read where Python keeps them, in its dictionary's order."""

from __future__ import annotations

from stepper import _C


def test_attributes_come_in_the_order_in_which_this_object_got_them() -> None:
    """Their places are those that the first object of the class gave them."""

    class Thing:
        def __init__(self, *names: str) -> None:
            for place, name in enumerate(names):
                setattr(self, name, place)

    first, other = Thing("a", "b", "c"), Thing("c", "a")
    other.b, first.d = 2, 3  # type: ignore[attr-defined]  # as any object has them
    del other.a, first.a  # type: ignore[attr-defined]  # likewise
    other.a = 4  # type: ignore[attr-defined]  # likewise
    for thing, expected in ((first, ["b", "c", "d"]), (other, ["c", "b", "a"])):
        read = list(_C.fields(thing).items())
        assert [name for name, _ in read] == expected
        assert read == list(vars(thing).items()) == list(_C.fields(thing).items())
