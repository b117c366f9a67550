"""Abstract classes: whether something is an instance of one is asked without running any code."""

from __future__ import annotations

from abc import ABC, ABCMeta
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import pytest
import torch
import transformers

from stepper import native
from tests.engines.native.harness import check, run_graph

X = torch.arange(3.0)


class Graphs(list[torch.fx.GraphModule]):
    """A backend that keeps what it was given."""

    def __call__(self, gm: torch.fx.GraphModule, example_inputs: list[Any]) -> Any:
        self.append(gm)
        return run_graph(gm, example_inputs)


class Shape(ABC):  # noqa: B024  # as programs have them
    pass


class Circle(Shape):
    pass


class Other:
    pass


def grows(shape: Any, x: torch.Tensor) -> torch.Tensor:
    return x + 1 if isinstance(shape, Shape) else x - 1


@pytest.fixture
def new() -> type:
    """A class that nothing was registered with, and nothing is asked about."""
    return type("New", (), {})


def test_what_is_no_instance_is_captured_and_asked_again(new: type) -> None:
    graphs = Graphs()
    compiled = native.optimize(graphs, nopython=True)(grows)
    value = new()
    assert torch.equal(compiled(value, X), X - 1)
    assert torch.equal(compiled(value, X), X - 1)
    assert len(graphs) == 1
    Shape.register(new)
    assert torch.equal(compiled(value, X), X + 1)
    assert len(graphs) == 2


def test_what_is_an_instance_is_known_for_good(new: type) -> None:
    Shape.register(new)
    graphs = Graphs()
    compiled = native.optimize(graphs, nopython=True)(grows)
    value = new()
    assert torch.equal(compiled(value, X), X + 1)
    Shape.register(type("Unrelated", (), {}))
    assert torch.equal(compiled(value, X), X + 1)
    assert len(graphs) == 1


class Registering(ABCMeta):
    """As libraries have them: it makes objects otherwise, and leaves the questions to ABCMeta."""

    def __call__(cls, *args: Any) -> Any:
        made = super().__call__(*args)
        made.by = cls
        return made


class Recorded(metaclass=Registering):
    pass


def test_a_metaclass_may_leave_the_question_to_abcmeta(new: type) -> None:
    graphs = Graphs()
    compiled = native.optimize(graphs, nopython=True)(
        lambda value, x: x + 1 if isinstance(value, Recorded) else x - 1
    )
    assert torch.equal(compiled(Recorded(), X), X + 1)
    assert torch.equal(compiled(new(), X), X - 1)
    Recorded.register(new)
    assert torch.equal(compiled(new(), X), X + 1)
    assert len(graphs) == 3


@pytest.mark.parametrize("made", [lambda: 3, lambda: [1], lambda: None, Other, Circle])
def test_values_that_the_frame_makes(made: Callable[[], Any]) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return grows(made(), x)

    compiled = native.optimize(Graphs(), nopython=True)(f)
    assert torch.equal(compiled(X), f(X))


def test_a_tensor_of_the_graph() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return grows(x * 2, x)

    assert torch.equal(native.optimize(Graphs(), nopython=True)(f)(X), X - 1)


@pytest.mark.parametrize("whose", ["itself", "a subclass"])
def test_no_hook_is_called_while_tracing(whose: str) -> None:
    asked: list[type] = []

    class Hooked(ABC):  # noqa: B024  # as programs have them
        @classmethod
        def __subclasshook__(cls, kind: type) -> Any:
            asked.append(kind)
            return NotImplemented

    class Base(ABC):  # noqa: B024  # as programs have them
        pass

    class Below(Hooked, Base):
        pass

    base = Hooked if whose == "itself" else Base

    def f(value: Any, x: torch.Tensor) -> torch.Tensor:
        x = x * 2
        return x + 1 if isinstance(value, base) else x - 1

    want = f(Other(), X)
    expected = list(asked)
    asked.clear()
    compiled = native.optimize(Graphs())(f)
    kind = type("Fresh", (), {})  # about which nothing is cached
    assert torch.equal(compiled(kind(), X), want)
    assert len(asked) == len(expected)
    with pytest.raises(Exception, match="isinstance with"):  # `Below` is alive: Base asks it
        native.optimize(Graphs(), nopython=True)(f)(kind(), X)


class Pretends:
    @property  # type: ignore[misc]  # it cannot be set
    def __class__(self) -> Any:
        return int


class Refuses:
    @property  # type: ignore[misc]  # it cannot be set
    def __class__(self) -> Any:
        raise RuntimeError("not told")


@pytest.mark.parametrize("kind", [Pretends, Refuses])
def test_what_an_object_says_of_its_class_is_asked(kind: Any) -> None:
    value = kind()

    def f(x: torch.Tensor) -> Any:
        return x + 1, isinstance(value, int)

    def attribute(x: torch.Tensor) -> Any:
        return x + 1, value.__class__

    check(f, X)
    check(attribute, X)


def test_a_model_with_a_cache_is_one_graph() -> None:
    """`transformers` asks each layer of a cache whether it is one of linear attention."""
    config = transformers.GPTNeoXConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48,
        vocab_size=100, max_position_embeddings=64, bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    torch.manual_seed(0)
    model = transformers.GPTNeoXModel(config).eval()
    tokens = torch.arange(8)[None]
    graphs = Graphs()
    compiled = native.optimize(graphs)(model)
    with torch.no_grad():
        want, got = model(tokens, use_cache=True), compiled(tokens, use_cache=True)
        assert torch.equal(got.last_hidden_state, want.last_hidden_state)
        later = torch.tensor([[3]])
        want = model(later, past_key_values=want.past_key_values)
        got = model(later, past_key_values=got.past_key_values)
    assert torch.equal(got.last_hidden_state, want.last_hidden_state)
    assert len(graphs) == 1


@runtime_checkable
class Goes(Protocol):
    def go(self, x: Any) -> Any: ...


@runtime_checkable
class GoesAndStops(Goes, Protocol):
    def stop(self) -> None: ...


@runtime_checkable
class Sized(Protocol):
    size: int


class Unchecked(Protocol):
    def go(self, x: Any) -> Any: ...


class ByForm:
    def go(self, x: Any) -> Any:
        return x


class ByInheritance(Goes):
    size = 3

    def go(self, x: Any) -> Any:
        return x


class OfItsOwn:
    def __init__(self) -> None:
        self.go = len


class Blocked:
    go = None


class HalfOfIt(ByForm):
    def __init__(self) -> None:
        self.size = 3


class Computed:
    def __getattr__(self, name: str) -> Any:
        print(name)
        raise AttributeError(name)


class Given(torch.nn.Module):
    @property
    def go(self) -> Any:
        print("read")
        return None


MADE: list[Any] = [
    ByForm(), ByInheritance(), OfItsOwn(), Blocked(), HalfOfIt(), Computed(), Given(), Other(),
    3, "text", [1], None, torch.nn.ReLU(), X, ByForm,
]  # fmt: skip


@pytest.mark.parametrize("of", [Goes, GoesAndStops, Sized, Unchecked, ByInheritance])
@pytest.mark.parametrize("value", MADE, ids=lambda value: type(value).__name__)
def test_a_protocol_answers_as_without_the_capture(value: Any, of: type) -> None:
    def instance(x: torch.Tensor) -> Any:
        return x + 1, isinstance(value, of)

    def subclass(x: torch.Tensor) -> Any:
        return x + 1, issubclass(type(value), of)

    check(instance, X)
    check(subclass, X)


def test_what_a_protocol_says_of_a_class_is_captured_and_asked_again(new: type) -> None:
    def goes(value: Any, x: torch.Tensor) -> torch.Tensor:
        return x + 1 if isinstance(value, Goes) else x - 1

    graphs = Graphs()
    compiled = native.optimize(graphs)(goes)
    assert torch.equal(compiled(ByForm(), X), X + 1)
    assert torch.equal(compiled(new(), X), X - 1)
    assert len(graphs) == 2
    new.go = ByForm.go  # type: ignore[attr-defined]  # Python remembers that it had none
    assert torch.equal(compiled(new(), X), goes(new(), X))
    value = new()
    Goes.register(new)
    assert torch.equal(compiled(value, X), goes(value, X))
