"""Every key of the application, once: bindings, help screen and command palette are made from here.

Letters are pdb's and the console's where those have the command: s, n, r, c, u, d, b, g, q. pdb
lists source with `l`; here the source is always on screen, so `l` moves by a line. Shift with a
letter of movement goes back.
"""

from __future__ import annotations

from typing import NamedTuple

from textual.binding import Binding, BindingType


class Key(NamedTuple):
    """A key and what it does."""

    section: str
    key: str
    """As Textual names it; several are separated by commas."""
    shown: str
    """As a person reads it."""
    action: str
    title: str
    """Two or three words, for the command palette."""
    help: str
    """A sentence for the help screen."""
    priority: bool = False
    """Also while an input line has the keyboard."""


_MOVES = (
    ("s", "step", "Step", "one instruction {way}, into inlined calls"),
    ("n", "next", "Next", "one instruction {way}, over inlined calls"),
    ("l", "line", "Line", "{way} to another source line of this frame, or out of it"),
    ("r", "finish", "Finish", "{way} out of this frame, to its caller"),
    ("c", "continue", "Continue", "{way} to a breakpoint"),
)


def _moves() -> list[Key]:
    keys: list[Key] = []
    for letter, motion, title, text in _MOVES:
        on = text.format(way="forward", side="down").capitalize()
        back = text.format(way="back", side="up").capitalize()
        keys.append(Key("Move", letter, letter, f"move('{motion}', 1)", title, f"{on}."))
        upper = letter.upper()
        keys.append(Key("Move", upper, upper, f"move('{motion}', -1)", f"{title} back", f"{back}."))
    further = "to a line further {} in this frame, or out of it."
    keys += [
        Key(
            "Move", "greater_than_sign", ">", "move('until', 1)", "Until",
            f"Forward {further.format('down')}",
        ),
        Key(
            "Move", "less_than_sign", "<", "move('until', -1)", "Until back",
            f"Back {further.format('up')}",
        ),
    ]  # fmt: skip
    return keys


KEYS: tuple[Key, ...] = (
    *_moves(),
    Key(
        "Move",
        "enter",
        "Enter",
        "enter",
        "Repeat",
        "Repeat the last movement; open a row that opens.",
    ),
    Key(
        "Go",
        "g",
        "g",
        "goto",
        "Go to moment",
        "Go to a moment by number (120, +5) or percentage (50%).",
    ),
    Key("Go", "u", "u", "select_frame(-1)", "Up", "Look at the frame one call further out."),
    Key("Go", "d", "d", "select_frame(1)", "Down", "Look at the frame one call further in."),
    Key(
        "Go", "full_stop", ".", "event(1)", "Next event", "Go to the next event of the chosen kind."
    ),
    Key(
        "Go", "comma", ",", "event(-1)", "Previous event", "Go to the previous event of that kind."
    ),
    Key(
        "Go",
        "semicolon",
        ";",
        "choose_event",
        "Choose kind of event",
        "Choose the kind of event for . and ,.",
    ),
    Key(
        "Go",
        "backspace",
        "Backspace",
        "return_back",
        "Back",
        "Return to the place before the last jump.",
    ),
    Key("Go", "shift+backspace,backslash", "\\", "return_forward", "Forward", "Undo Backspace."),
    Key(
        "Go",
        "ctrl+f",
        "Ctrl-F",
        "search_all",
        "Search everything",
        "Search reasons, output, source, instructions, nodes, guards and values, all over the "
        "recording. Enter goes to a hit, Backspace comes back.",
        True,
    ),
    Key(
        "Go",
        "f,G",
        "f G",
        "newest",
        "Newest moment",
        "Go to the newest moment, where a live program stands; while it runs, follow it.",
    ),
    Key(
        "Stop",
        "b",
        "b",
        "toggle_breakpoint",
        "Toggle breakpoint",
        "Set or remove a breakpoint at the cursor's row.",
    ),
    Key(
        "Stop", "B", "B", "breakpoints", "Breakpoints", "List, add, change and remove breakpoints."
    ),
    Key(
        "Stop",
        "D",
        "D",
        "decide",
        "Decide",
        "Before a call is compiled again: mark a size dynamic, relax the guard, or skip the call.",
    ),
    Key(
        "Stop",
        "F",
        "F",
        "fork",
        "Fork",
        "Go back to this moment of the translation in another attempt, and change something there; "
        "with --engine native.",
    ),
    Key(
        "Stop",
        "ctrl+c",
        "Ctrl-C",
        "pause",
        "Pause",
        "Stop the running program at its next moment; twice: Ctrl-C to the program.",
        True,
    ),
    Key(
        "Look",
        "tab",
        "Tab",
        "focus_pane(1)",
        "Next pane",
        "Give the keyboard to the next visible pane.",
    ),
    Key(
        "Look",
        "shift+tab",
        "Shift-Tab",
        "focus_pane(-1)",
        "Previous pane",
        "Give the keyboard to the pane before.",
    ),
    Key(
        "Look",
        "vertical_line",
        "|",
        "choose_preset",
        "Layout",
        "Choose which panes stand where: for a step, a break, a recompilation, the cache, sizes, "
        "time; the choice is kept.",
    ),
    Key("Look", "z", "z", "zoom", "Zoom", "Give the pane the whole screen, or take it back."),
    Key("Look", "plus,equals_sign", "+", "grow(1)", "Higher", "Make the pane higher."),
    Key("Look", "minus", "-", "grow(-1)", "Lower", "Make the pane lower."),
    Key("Look", "right_square_bracket", "]", "widen(1)", "Wider", "Make the pane's column wider."),
    Key(
        "Look",
        "left_square_bracket",
        "[",
        "widen(-1)",
        "Narrower",
        "Make the pane's column narrower.",
    ),
    Key("Look", "e,colon", "e :", "console", "Console", "Evaluate expressions at a live stop."),
    Key(
        "Look",
        "W",
        "W",
        "why",
        "Why",
        "Say why functions were compiled again and graphs broke, over the whole recording; in the "
        "guards, first why the selected one is there; then what differs from the moment before the "
        "last jump, the attempt before and the entry before.",
    ),
    Key(
        "Look",
        "tilde",
        "~",
        "home",
        "Home",
        "Show what the whole run is about: failures, graph breaks, recompilations, fixed sizes, "
        "the frames, what was printed last; Enter goes to a row's moment.",
    ),
    Key(
        "Look",
        "escape",
        "Esc",
        "escape",
        "Leave",
        "Leave an input line, end a search, hide the banner.",
    ),
    Key("General", "question_mark,f1", "?", "help", "Help", "Show all keys."),
    Key(
        "General",
        "ctrl+o",
        "Ctrl-O",
        "processes",
        "Processes",
        "What each process does, and look at another one: of a program with --children, or of a "
        "session folder.",
    ),
    Key(
        "General",
        "ctrl+p",
        "Ctrl-P",
        "command_palette",
        "Command palette",
        "Find every command by name.",
        True,
    ),
    Key("General", "q", "q", "quit", "Quit", "Leave; asks first when the program still lives."),
    Key("General", "ctrl+q", "Ctrl-Q", "quit", "Quit", "The same, also from an input line.", True),
)

IN_LISTS: tuple[tuple[str, str], ...] = (
    ("↑ ↓ PgUp PgDn Home End", "Move the cursor."),
    ("Shift-↑ Shift-↓", "Select several rows."),
    ("← →", "Fold and unfold a row; scroll sideways."),
    ("Space, double click", "Open the row."),
    ("/", "Search this pane; then n and N go on, Esc ends the search."),
    ("y", "Copy the row or the selection."),
    ("o", "In stack and locals: go to the moment that made the value."),
    ("&", "Filter guards, events or frames; Esc in the filter's line forgets it."),
    (
        "m",
        "In the cache: what can be done with the row; a A h H b d w E p x do it at once.",
    ),
    ("v V", "In graph and result: the next or the previous view; in source: times as numbers."),
    ("flame", "← → ↑ ↓ walk, Enter goes there, i widens a box, o takes that back, Home: all."),
    ("timeline", "← → move, Shift-← → by a quarter, Home End, i o zoom, ↑ ↓ depth; click."),
)
"""Keys that lists take for themselves."""


def bindings(pane_keys: dict[str, str]) -> list[BindingType]:
    """The application's bindings; `pane_keys` gives the key of each pane."""
    made: list[BindingType] = [
        Binding(key.key, key.action, key.title, show=False, priority=key.priority) for key in KEYS
    ]
    made += [
        Binding(key, f"reveal('{name}')", f"Pane: {name}", show=False)
        for name, key in pane_keys.items()
        if not any(known.shown.split()[0] == key for known in KEYS)
    ]
    return made


def help_entries(panes: dict[str, tuple[str, str]]) -> list[tuple[str, str, str]]:
    """Everything that the help screen shows, as (section, key, meaning).

    Args:
        panes: for each pane its key and what it shows.
    """
    entries = [(key.section, key.shown, f"{key.title}. {key.help}") for key in KEYS]
    entries += [("Panes", key, f"{name}: {text}") for name, (key, text) in panes.items()]
    entries += [("In lists", key, text) for key, text in IN_LISTS]
    return entries
