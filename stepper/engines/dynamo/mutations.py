"""What an instruction changes of trackers in place: the recorder hears of it before it happens.

Dynamo changes some trackers by its own bookkeeping of side effects, others by the way: when a lazy
one is realized, a function gets its closure, or a tensor a name. A tracker that is in view is shown
as it was up to the instruction that changes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stepper._C import Steps
from stepper._C import fields as fields_of
from stepper.debuggee.engine import Recorder
from stepper.debuggee.mirror import FrameMirror, LiveAttempt
from stepper.engines.common.versions import source_name
from stepper.engines.dynamo.describe import DynamoDescriber, node_of
from stepper.support.words import callable_name, one_of, plain_text
from stepper.uncompiled import keep_out

if TYPE_CHECKING:
    from stepper.engines.dynamo.translations import Translations


CELL = "cell_contents"
"""The attribute that a cell's value is in."""


class Mutations:
    """The hooks of what changes trackers."""

    def __init__(self, translations: Translations) -> None:
        self._translations = translations
        self._recorder: Recorder
        self._steps: Steps[FrameMirror]
        self._describer: DynamoDescriber

    def begin(self, recorder: Recorder, describer: DynamoDescriber) -> None:
        """Report to this recorder from now on."""
        self._recorder, self._steps, self._describer = recorder, recorder.steps, describer

    def on_lazy_realized(self, cache: Any) -> None:
        if not self._recorder.everything:
            if self._translations.now is not None:
                self._describer.realizing(cache)
                self._steps.graph_changed = True
            return
        self._recorder.flush_pending()  # so that every lazy tracker in view is known
        tracker = self._describer.lazy_of(cache)
        if tracker is not None:
            self._recorder.about_to_mutate(tracker)

    on_lazy_computed = on_lazy_realized

    def on_function_made(self, tx: Any) -> None:
        # From Python 3.13 on, a function gets its closure and defaults when it is on the stack.
        if self._translations.now is not None:
            self._recorder.about_to_mutate(tx.stack[-1])

    def on_name_hinted(self, tensor: Any) -> None:
        if (now := self._translations.now) is not None:
            self._recorder.about_to_mutate(tensor)
            now.graph.renamed(node_of(fields_of(tensor)["proxy"]))
            self._steps.nodes_changed = now.graph.changed

    def on_change(self, tracker: Any) -> None:
        if self._translations.now is not None:
            self._recorder.about_to_mutate(tracker)

    def on_tensor_method(self, tensor: Any, name: str) -> None:
        # In-place methods change what is known of the tensor; a hook takes its place in the graph.
        now = self._translations.now
        if now is None:
            return
        if name[-1:] == "_" and name[-2:] != "__":
            self._recorder.about_to_mutate(tensor)
            now.graph.in_place(node_of(fields_of(tensor)["proxy"]))
            self._steps.nodes_changed = now.graph.changed
        elif name[:8] == "register":
            self._recorder.about_to_mutate(tensor)

    def on_outputs_moved(self, outputs: Any) -> None:
        # Values of a subgraph become outputs of the call, in place.
        if self._translations.now is not None and one_of(type(outputs), (tuple, list)):
            for tracker in outputs:
                self._recorder.about_to_mutate(tracker)

    on_flags_moved = on_outputs_moved

    def on_output_moved(self, body: Any) -> None:
        if body is not None:
            self.on_outputs_moved(fields_of(body).get("items"))

    def on_mutated(self, var: Any) -> None:
        if (attempt := self.attempt()) is not None:
            self._recorder.about_to_mutate(var)
            # What the traced code made itself needs no replay.
            mutation = fields_of(var).get("mutation_type")
            if type(mutation).__name__ == "ValueMutationExisting":
                attempt.side_effects[id(var), ""] = self._recorder.side_effect(
                    attempt, "mutation", var, self._label(var), " changes", None
                )

    def on_attribute_stored(self, item: Any, name: str, value: Any) -> None:
        if (attempt := self.attempt()) is None:
            return
        self._recorder.about_to_mutate(item)
        whole = {"CellVariable": "cell", "NewGlobalVariable": "global"}.get(type(item).__name__)
        changed = f"{self._label(item)}{'' if whole else f'.{name}'}"
        attempt.side_effects[id(item), name] = self._recorder.side_effect(
            attempt, whole or "attribute", item, changed,
            f" = {self._label(value)}", value,
        )  # fmt: skip

    def attempt(self) -> LiveAttempt | None:
        """The one whose side effects are recorded."""
        now = self._translations.now
        return None if now is None or not self._recorder.everything else now.attempt

    def _label(self, tracker: Any) -> str:
        """What a person would call a tracker in half a line."""
        fields = fields_of(tracker)
        if "_cache" in fields and (inner := self._describer.inner(tracker)) is not None:
            tracker, fields = inner, fields_of(inner)
        source = fields.get("source")
        if source is not None and (name := source_name(source)):
            return name
        if type(fields.get("local_name")) is str:
            return str(fields["local_name"])
        if type(tracker).__name__ == "ConstantVariable":
            return plain_text(fields["value"])
        if "value_type" in fields:
            return f"new {callable_name(fields['value_type'])}"
        if "_cache" in fields and "op" in (computed := fields_of(fields["_cache"])):
            # From torch 2.15 on: the function's bytecode computes it anew in each call.
            operands = ", ".join(map(self._label, computed["args"]))
            return f"{computed['op'].__name__}({operands})"
        proxy = fields.get("proxy")
        node = None if proxy is None else node_of(proxy)
        return type(tracker).__name__ if node is None else f"%{node.name}"

    def pending_attributes(self, tracker: object) -> dict[str, object] | None:
        frame = self._steps.top
        if frame is None:
            return None
        stored: dict[str, object] | None = frame.key.output.side_effects.store_attr_mutations.get(
            tracker
        )
        return stored


keep_out()
