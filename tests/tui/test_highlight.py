"""Python source in colours: by word, string and comment, whatever state the source is in."""

from __future__ import annotations

from stepper.tui.highlight import python_spans


def roles(*lines: str) -> list[dict[str, str]]:
    """For each line what is coloured, and how."""
    return [{text: role for text, role in spans if role} for spans in python_spans(lines)]


def test_words_strings_and_comments_are_told_apart() -> None:
    decorator, head, body = roles(
        '@torch.compile(backend="eager")',
        'def f(x: int = 0x1F, y=\'a"#\') -> None:  # is "this"',
        "    return rb'\\'' if self.type else -1.5e-3 + a.print",
    )
    assert decorator == {"@torch.compile": "function", '"eager"': "string"}
    assert head == {
        "def": "keyword",
        "f": "function",
        "int": "type",
        "0x1F": "constant",
        "'a\"#'": "string",
        "None": "constant",
        '# is "this"': "comment",
    }
    assert body == {
        "return": "keyword",
        "rb'\\''": "string",
        "if": "keyword",
        "self": "type",
        "else": "keyword",
        "1.5e-3": "constant",
    }


def test_a_string_goes_on_over_lines() -> None:
    first, second, third = roles('x = """if', "for", 'in""" in y')
    assert first == {'"""if': "string"}
    assert second == {"for": "string"}
    assert third == {'in"""': "string", "in": "keyword"}


def test_broken_source_is_shown_whole() -> None:
    lines = ["def f(:", "  'open", '  """and', "", "  never closed"]
    assert ["".join(text for text, _ in spans) for spans in python_spans(lines)] == lines
