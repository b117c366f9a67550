"""No text is parsed that stepper wrote: what is known as data is recorded as data, and worded where
it is shown. Texts of torch's and of the user's have to be read, in the places that are named here;
whoever adds one says whose text it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect

from stepper.model import cache, lookup, program, shapes, trace, value

ROOT = Path(__file__).resolve().parent.parent / "stepper"
TAKES_APART = frozenset(
    {
        "split", "rsplit", "partition", "rpartition", "startswith", "endswith", "removeprefix",
        "removesuffix", "splitlines", "find", "rfind", "index", "compile", "match", "fullmatch",
        "search", "findall", "finditer", "sub",
    }
)  # fmt: skip
"""Methods of texts and patterns, and functions of `re`."""

IN_ANALYSIS = {
    "activity.py": {"under_way": "Python's: the name of an instruction"},
    "advice.py": {
        "": "torch's sources",
        "_has_the_key": "the compiler's: a guard's code",
        "_is_put_later": "torch's sources",
        "measured": "torch's sources",
        "unmet": "the compiler's: a condition",
        "left_by": "torch's sources",
        "goes_on_with": "torch's sources",
    },
    "answering.py": {"_limit_memory": "the kernel's"},
    "autograd_captures.py": {"capture_lines": "torch's: the number of a compilation"},
    "bases.py": {
        "": "torch's: an expression of sizes; what Python says of a value without them",
        "_with_base": "the same",
    },
    "break_remedies.py": {
        "": "torch's: the source of what is called",
        "reordering": "torch's: the source of what is called",
        "_decorated": "the name of a module",
        "_disables": "the program's text, by its syntax",
        "changes_for": "torch's: the source of what is called",
    },
    "break_changes.py": {
        "": "ours: the ways that a remedy names",
        "_without": "ours: the ways that a remedy names",
        "without": "ours: the ways that a remedy names",
    },
    "break_rules.py": {
        "_functional": "torch's: what is called",
        "_drawn_by_numpy": "torch's: the context of a break",
        "_untraced_by_autograd": "torch's: the context of a break",
        "_quantized": "torch's: the context of a break",
        "": "torch's: what is called, the program's: a statement",
        "_about_what_is_called": "torch's kind of a break",
        "_builtin_called": "torch's: what is called",
        "_handed_over": "torch's: the context of a break",
        "_printing": "torch's: what is called",
        "_in_place": "torch's: what is called",
        "_of_each": "the program's: a statement",
        "_opaque_function": "Python's: the name of a module",
        "_logging": "torch's: the context of a break",
        "_written": "torch's: the context of a break",
        "_calls_a_file": "torch's: the context of a break",
        "_awaited": "torch's: the context of a break",
        "_operation_in_c": "torch's: the context of a break",
        "_method_called": "torch's: the context of a break",
        "_manager": "torch's: the context of a break, the program's: a statement",
        "_scheduled": "torch's: the context of a break",
        "_shared": "torch's: the context of a break",
    },
    "broken.py": {
        "": "the program's: a statement",
        "first_word": "the program's: a statement",
        "function": "torch's: what is called",
    },
    "data_rules.py": {
        "": "the program's: a statement",
        "_bound": "CPython's names of instructions",
        "_does_not_hold": "torch's: the context of a break",
        "_mathematics": "torch's: the source of what is called",
        "_nested": "torch's: the source of what is called",
        "_random_number": "Python's and numpy's: the names of a function and its module",
        "_torch_decides": "torch's: the source of what is called",
    },
    "taken.py": {
        "": "torch's: the source of what is called",
        "_called": "torch's: the source of what is called",
        "_by_node": "torch's names of operators",
        "_computes": "torch's: the source of what is called",
        "_decided": "CPython's names of instructions",
        "_followed": "CPython's names of instructions",
        "_follows": "CPython's names of instructions",
        "_is_range_of_a_size": "torch's: the source of what is called",
        "_text_handed_on": "torch's: the source of what is called",
        "_handed_last": "torch's names of locals",
        "_handed_on": "torch's: the source of what is called",
        "function_of": "torch's: the source of what is called",
        "computed": "CPython's names of instructions",
        "how": "CPython's names of instructions",
    },
    "decisions.py": {
        "_after": "CPython's names of instructions",
        "decides_by_size": "CPython's names of instructions",
        "is_behind_a_jump": "CPython's names of instructions",
        "is_returned": "CPython's names of instructions",
        "decides": "CPython's names of instructions",
        "_raises": "CPython's names of instructions",
        "checked": "CPython's names of instructions",
        "_used": "CPython's names of instructions",
    },
    "breaks.py": {
        "": "torch's: the address of a page, the name of a resume function",
        "_hints": "torch's message",
        "cause": "torch's message",
    },
    "break_places.py": {
        "_raised_through": "CPython's names of instructions",
        "_resume_codes": "torch's name of a resume function, Python's qualified names",
        "resumptions": "Python's qualified names",
    },
    "break_facts.py": {
        "": "torch's: the message of a graph break",
        "facts": "the name of a function",
        "explanation": "torch's message",
        "_metaclass": "torch's: the context of a break, the source of what is called",
        "_drawn": "torch's: the source of a value",
        "_taken_by": "CPython's names of instructions",
        "_orders": "torch's: the source of what is called",
        "_quantizes": "the path of a file",
        "_within": "the path of a file",
    },
    "needed.py": {
        "needed_by": "torch's: the name of a function",
    },
    "expanded.py": {"_written": "torch's names of operators"},
    "failure_changes.py": {
        "": "torch's message",
        "_bounds": "the compiler's: a source",
        "_combined": "the path of a file",
        "_clause": "CPython's names of instructions",
        "_suggested": "torch's message",
        "_devices": "torch's message, and the compiler's: a source",
        "_symbol": "torch's message",
    },
    "skipped_frames.py": {
        "": "a path",
        "change": "torch's message",
        "skipped": "a path",
        "_decides": "CPython's names of instructions",
    },
    "check_index.py": {
        "__init__": "the compiler's: a guard's code",
        "": "torch's sources",
        "whose_key": "torch's sources",
        "whose_key_is_told": "an expression of the user's",
        "whose_tensor": "the compiler's: a guard's code",
    },
    "call_sites.py": {
        "_meant": "Python's qualified names",
        "": "torch's sources",
        "handed": "torch's sources",
        "compiles": "Python's qualified names",
    },
    "collectives.py": {"_what": "torch's: the name of a collective"},
    "graph_collectives.py": {"_collectives": "torch's: the name of an operator"},
    "compile_times.py": {
        "attempts": "torch's: the name of a phase",
        "unnumbered": "torch's: the name of a phase",
    },
    "conditions.py": {
        "": "torch's: an expression of symbols",
        "decided_by": "torch's: an expression of symbols",
        "_alike": "torch's: the numbers in a condition",
        "_equal_to": "torch's sources",
        "of_range": "torch's: an expression",
    },
    "dtypes.py": {"": "torch's dtypes", "shared_dtype": "torch's dtypes"},
    "export.py": {"": "the definitions of the views", "_schema": "the definitions of the views"},
    "failed_lines.py": {
        "_at_no_node": "the name of a file",
        "_named_nodes": "torch's message, for the names that recorded nodes have",
        "_traced_last": "Python's: the name of an instruction",
        "": "torch's: how a symbol is called, and the size of what it was given",
        "_as_given": "torch's message, and the program's text",
        "_failed": "torch's message, into its lines",
        "_symbols_in": "torch's message, for what it calls symbols",
    },
    "faked.py": {"fakes_behind": "torch's: the name of an operator"},
    "failure_trials.py": {"ways_for": "the name of an exception's class"},
    "failures.py": {
        "": "torch's message, and its names of operators",
        "said_inside": "torch's message",
        "_operator": "torch's names of operators",
        "_writer": "torch's message, and its names of operators",
        "_derived": "torch's message, and its names of operators",
        "_noticed_late": "torch's message",
        "_taken": "CPython's names of instructions",
        "_lookup": "Python's qualified names",
    },
    "getters.py": {
        "read_as": "CPython's names of instructions",
        "getter_of": "a step of torch's sources",
        "_called_on": "Python's: a qualified name",
        "_asked_for": "CPython's: what an instruction is about",
    },
    "guard_lines.py": {
        "": "an expression of the user's, the compiler's: a guard's code",
        "_guarded": "an expression of the user's",
        "_not_near": "Python's: a qualified name",
        "_verdict": "an expression of the user's",
        "_says_its_items": "an expression of the user's, the compiler's: a guard's code",
    },
    "guard_kinds.py": {
        "why_needless": "the compiler's: a guard's code",
        "aspects_of": "the native engine's: a guard's code",
    },
    "guard_uses.py": {
        "_by_leaf": "a person's words for a guard",
        "": "Python's qualified names, in a guard's code",
        "of_class": "Python's qualified names, in a guard's code",
        "_means": "what the user has typed",
        "checked": "the compiler's: a guard's code",
        "_parts_reached": "the compiler's: a guard's code",
    },
    "process_state.py": {
        "": "an expression of the user's",
        "of_state": "an expression of the user's",
        "compared_with": "an expression of the user's",
    },
    "guarded.py": {
        "_begins": "the user's: an expression",
        "_compares": "the compiler's: a guard's code",
        "_without_alias": "the compiler's: a guard's code",
        "": "an expression of the user's",
        "_as_member": "a step of torch's sources",
        "_by_place": "the compiler's: a guard's code",
        "_in_entry": "the compiler's name of a frame",
        "_is_dict": "the compiler's: a guard's code",
        "_as_key": "an expression of the user's",
        "_from_the_front": "an expression of the user's",
        "_element": "the compiler's: a guard's code",
        "_asks_for": "an expression of the user's",
        "_part_asked_for": "the compiler's: what a guard checks",
        "_property": "an expression of the user's",
        "names_of": "Python's: instructions",
        "words_of": "Python's: instructions",
        "inherited": "a step of torch's sources",
    },
    "handed_on.py": {
        "": "ours: what stands for a name meanwhile",
        "_by_names": "torch's sources",
        "_inlined": "torch's sources",
        "spell": "torch's sources",
        "spelling": "torch's: a name that it makes up",
    },
    "guarded_names.py": {
        "": "torch's sources, the compiler's: a guard's code",
        "keys_by_place": "torch's sources",
        "closed_over": "torch's sources",
        "_cell": "torch's sources",
    },
    "kept_or_handed.py": {"have": "torch's sources"},
    "kind_rules.py": {
        "": "the recording's own: the name of an attribute",
        "_dtype": "torch's dtypes",
        "_class_again": "Python's: a qualified name",
        "_died": "torch's sources",
        "_of_many_classes": "Python's: a qualified name",
        "_hooks": "torch's sources",
        "_keys": "torch's sources",
        "_type": "torch's sources",
        "_submodules": "torch's sources",
        "_constants_in": "torch's sources",
        "_attributes": "torch's sources",
        "_code_again": "torch's sources",
        "_few_objects": "torch's sources",
        "_reached": "torch's sources",
        "_length": "torch's sources",
        "_read_of": "torch's sources",
        "_takes_keywords": "the program's: a definition",
    },
    "places.py": {
        "": "the program's text",
        "__init__": "the program's text",
        "line_before": "the program's text",
        "line_after": "the program's text",
        "torch": "the program's text, by its syntax",
        "setting": "the program's text",
        "torched": "a text that is written into the program",
        "function": "Python's qualified names",
    },
    "slow_lines.py": {"phase_text": "the name of a phase, torch's or of a guard's making"},
    "slow_remedies.py": {"_filters": "torch's sources"},
    "query.py": {"_names_read": "the user's SQL", "_meaning": "SQLite's"},
    "rank_lines.py": {
        "_around_the_difference": "the compiler's: a source, a reason; cut, to be shown",
        "_reason": "torch's: why it compiles again",
    },
    "reasons.py": {
        "": "torch's: why it compiles again",
        "_difference": "torch's: why it compiles again",
        "identity_in": "the compiler's: a guard's code",
        "parse_check": "the compiler's: a guard's code",
        "parse_reason": "torch's: why it compiles again",
        "reasons_in": "torch's: why it compiles again",
    },
    "known_parts.py": {
        "": "the asker's: a step of an expression",
        "not_known_to_be_there": "the asker's: a step of an expression",
        "where_absent": "the asker's: a step of an expression",
    },
    "left_on_stack.py": {
        "": "torch's: names that it makes up",
        "slots": "torch's names, CPython's names of instructions",
        "_bound_to": "torch's sources",
        "of_the_stack": "the compiler's: a source",
        "with_names": "the compiler's: why a graph broke",
    },
    "recompile_lines.py": {"": "a path", "callers_of": "a path", "_heading": "torch's sources"},
    "row_lines.py": {"csv_lines": "what the csv module has just written"},
    "compare_recordings.py": {
        "": "torch's: names that it makes up",
        "plain": "torch's: names that it makes up",
        "_told": "the compiler's, cut to its first line",
        "_first_line": "the compiler's, cut to its first line",
    },
    "here.py": {
        "": "the compiler's, of an operator that failed",
        "_explained": "the compiler's, of an operator that failed",
        "_failed": "the compiler's, in lines",
    },
    "recompile_remedies.py": {
        "": "torch's sources and devices",
        "_converted": "a text that is written into the program",
        "_part": "a step of torch's sources",
        "_marked": "a step of torch's sources",
        "_origins": "a step of torch's sources",
        "_keyed": "torch's sources",
        "_second_of_a_pair": "the compiler's: a condition",
        "_equal_sizes": "the compiler's: a condition",
    },
    "recompiles.py": {
        "": "the compiler's: a condition",
        "_compares": "the compiler's: a condition",
        "_of_type": "torch's sources",
    },
    "compared_sizes.py": {"_operator": "an instruction's argument, in dis' words"},
    "rebuilt.py": {
        "": "torch's: what could not be made",
        "is_not_rebuilt": "torch's kind of a break",
        "_what": "torch's: what could not be made",
    },
    "recompile_advice.py": {"_told": "torch's sources"},
    "replays.py": {
        "": "torch's logs and warnings",
        "_comparable": "where a traceback begins in what the program printed",
        "_printed": "what the program printed, and torch's logs and warnings",
    },
    "session_views.py": {
        "": "the definitions of the views",
        "tables": "the definitions of the views",
        "_instructions": "the definitions of the views",
    },
    "search.py": {
        "_output": "what the program printed, in lines",
        "_reasons": "torch's message, in lines",
    },
    "shape_lines.py": {
        "": "torch's: an expression of symbols",
        "_about_each": "torch's: the source of a number",
        "_born": "torch's: the source of a number",
        "_made_inside": "torch's: an expression of symbols",
        "_replaced": "torch's: an expression of symbols",
        "_never": "torch's: an expression of symbols",
        "_of_a_parameter": "torch's: the source of a parameter",
    },
    "shapes.py": {
        "": "torch's: an expression of symbols",
        "in_sources": "torch's: an expression of symbols",
    },
    "sites.py": {
        "made_at": "Python's: the name of an instruction",
        "in_compiler": "a path",
        "in_torch": "a path",
    },
    "size_rules.py": {
        "": "torch's sources",
        "is_parameter": "torch's sources",
        "settings_of": "torch's: the name of a scope",
        "_condition": "torch's sources",
        "_follows_from": "the compiler's: a condition",
        "_laid_out_alike": "the compiler's: a condition",
        "_tensor": "torch's sources",
        "_zero_one_condition": "torch's sources",
    },
    "slice_bounds.py": {"bounds_a_slice": "CPython's names of instructions"},
    "unmet_guards.py": {
        "_of_devices": "the compiler's: a guard's code",
        "installed": "torch's sources",
        "_no_longer_one": "the compiler's: a guard's code",
        "said_failure": "the compiler's: why an entry did not match",
    },
    "told_once.py": {"told_once": "ours: the id that a title begins with"},
    "trace_formats.py": {"_text": "any name, put on one line"},
    "value_rules.py": {
        "_fixing": "the compiler's: a condition",
        "_tensors_of_a_subclass": "torch's sources",
        "_as_tensor": "ours: the name of a variable that is closed over",
        "": "torch's sources",
        "_order_of_keys": "torch's sources",
        "_is_attribute_of_a_module": "torch's sources",
        "_of_an_optimizer": "torch's sources",
        "_mode_of_a_module": "torch's sources",
        "_constant_anyway": "torch's sources",
        "_global_int": "torch's sources",
        "_int_of_a_mode": "torch's sources",
        "_default_int": "torch's sources",
        "_belongs_to_a_module": "torch's: the name of a scope",
        "_decides": "Python's: the name of an instruction",
        "_is_handed_on": "Python's: the name of an instruction",
    },
    "sources.py": {
        "": "torch's sources",
        "spelled": "torch's sources",
        "is_key": "torch's sources",
        "_with_values": "torch's sources",
        "taken_for_tensor": "torch's sources",
        "unscoped": "torch's sources",
        "path_of": "torch's sources",
        "of_instance": "torch's sources",
    },
    "wanted.py": {
        "": "torch's sources",
        "resolved": "torch's sources",
        "moved": "torch's sources",
    },
    "writers.py": {"_of_one_class": "Python's: a qualified name"},
    "written_inside.py": {
        "": "torch's names of operators",
        "written_inside": "torch's message, and its names of operators and sources",
    },
    "views.py": {"": "the definitions of the views"},
}
"""Whose text it is that is taken apart, by file and function (empty: of the module)."""

ELSEWHERE = {
    "client/placing.py": {"_beside": "a path", "_names": "torch's: a node's target"},
    "client/scratch.py": {"line_before": "a text that is written into the program"},
    "tui/panes/console.py": {"on_console_pane_answered": "what the program printed, in lines"},
    "tui/panes/output.py": {"on_session_event": "what the program printed"},
    "console/caching.py": {"entry": "code, in lines"},
    "console/evaluating.py": {
        "pp": "what the program printed, in lines",
        "retval": "Python's: the name of an instruction",
    },
    "console/looking.py": {"_source": "a path"},
    "client/value_paths.py": {"resolve": "what the user has typed"},
    "recording/owners.py": {"_handed_to": "a path"},
    "recording/diff.py": {"_guard_key": "torch's: names that it makes up"},
    "recording/recorded_call.py": {
        "read": "the compiler's: a source",
        "_object": "Python's: the name of an attribute",
        "_tensor": "torch's: a dtype and a device",
    },
    "debuggee/evaluator.py": {"place_of": "a path"},
    "report/entries.py": {"_chosen": "the compiler's: a source"},
    "engines/common/variations.py": {"variations": "the compiler's: a source"},
    "engines/dynamo/bytecode.py": {"active_names": "Python's: the name of an instruction"},
    "engines/dynamo/kept_guards.py": {"_holds_nothing": "torch's: a guard's words"},
    "engines/dynamo/lookup_programs.py": {"user_line": "a path"},
    "engines/common/jumps.py": {"_next": "Python's: the name of an instruction"},
    "engines/common/probe_points.py": {"resolve": "Python's: a qualified name"},
    "engines/native/entry_guards.py": {"_row": "the compiler's: a source"},
    "engines/native/recording.py": {"leave": "Python's: the name of an instruction"},
}
"""Likewise of texts that stand in fields of records, in the other rooms."""


def recorded_fields() -> frozenset[str]:
    """Names of the fields of records that hold a text."""
    kinds = [
        kind
        for module in (cache, lookup, program, shapes, trace, value)
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    ]
    return frozenset(
        field.name
        for kind in kinds
        for field in _struct(kind).fields
        if isinstance(field.type, inspect.StrType)
    )


def _struct(kind: Any) -> inspect.StructType:
    found = inspect.type_info(kind)
    assert isinstance(found, inspect.StructType)
    return found


def places(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """The calls that may take a text apart, with the function around each."""

    def below(node: ast.AST, function: str) -> Iterator[tuple[str, ast.Call]]:
        for child in ast.iter_child_nodes(node):
            inner = function
            if isinstance(child, ast.FunctionDef):
                inner = child.name
            elif (
                isinstance(child, ast.Call)
                and isinstance(child.func, ast.Attribute)
                and child.func.attr in TAKES_APART
            ):
                yield function, child
            yield from below(child, inner)

    yield from below(ast.parse(path.read_text()), "")


def test_analysis_takes_no_text_apart_but_others() -> None:
    found = {
        path.name: {function for function, _ in places(path)}
        for path in (ROOT / "analysis").glob("*.py")
    }
    assert {name: known for name, known in found.items() if known} == {
        name: set(known) for name, known in IN_ANALYSIS.items()
    }


def test_no_room_takes_recorded_words_apart() -> None:
    """As far as the text is a field of a record, and is taken apart where it is read."""
    fields = recorded_fields()
    assert {"reason", "text", "name", "recompile_reason"} <= fields
    found: dict[str, set[str]] = {}
    for path in ROOT.rglob("*.py"):
        file = str(path.relative_to(ROOT))
        if file.startswith(("analysis/", "native/", "model/")):
            continue  # analysis is held to more, the compiler knows no records
        for function, call in places(path):
            assert isinstance(call.func, ast.Attribute)
            texts = [call.func.value, *call.args]
            if any(isinstance(each, ast.Attribute) and each.attr in fields for each in texts):
                found.setdefault(file, set()).add(function)
    assert found == {name: set(known) for name, known in ELSEWHERE.items()}
