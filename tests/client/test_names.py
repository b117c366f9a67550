"""Long names become short ones that a person can still tell apart."""

from __future__ import annotations

import pytest

from stepper.client.names import brief_function, brief_node, brief_source, clip_middle


@pytest.mark.parametrize(
    ("source", "brief"),
    [
        ("L['x']", "L['x']"),
        ("L['self'].__dict__['_modules']['lm']._modules['h']._modules['0']", "L['self'].lm.h[0]"),
        ("L['self']._modules['fc']._parameters['weight']", "L['self'].fc.weight"),
        ("L['self'].__dict__['calls']", "L['self'].calls"),
        ("G['__import_torch_dot_fx'].Proxy", "torch.fx.Proxy"),
        ("G['__builtins_dict___3']['print']", "builtins.print"),
        ("__builtins_dict__['print']", "builtins.print"),
        ("__import_torch_dot_fx['Proxy'].x", "torch.fx.Proxy.x"),
        ("type(__import_json['decoder'])", "type(json.decoder)"),
        ("__import_sys_dot_modules['torch'].fx", "torch.fx"),
        ("L['it__import_x']['y']", "L['it__import_x']['y']"),
        ("___call(L['self'].parent).scale", "L['self'].parent().scale"),
        ("list.__getitem__(L['l'], 0)", "L['l'][0]"),
        ("dict.__getitem__(list.__getitem__(L['l'], 0), L['k(,'])", "L['l'][0][L['k(,']]"),
        (
            "dict.__getitem__(L['d'], list(dict.keys(L['d']))[0])",
            "L['d'][list(dict.keys(L['d']))[0]]",
        ),
        ("___bare(L['self'].hits, ___dict)['gelu']", "L['self'].hits['gelu']"),
        ("___viewed(L['d'])['k']", "L['d']['k']"),
        ("___entry(L['d'], 'keys', 1)", "list(dict.keys(L['d']))[1]"),
        (
            "___entry(___bare(L['d'], ___dict), 'values', 0).w",
            "L['d'][list(dict.keys(L['d']))[0]].w",
        ),
        ("dict(type(L['self']).__dict__)['f']", "dict(type(L['self']).__dict__)['f']"),
    ],
)
def test_a_source_as_the_user_would_write_it(source: str, brief: str) -> None:
    assert brief_source(source) == brief


def test_a_long_node_keeps_what_tells_it_apart() -> None:
    name = "l_self_modules_h_modules_3_modules_attn_modules_c_attn_parameters_weight_"
    assert brief_node(name) == "l_self_h_3_attn_c_attn_weight_"
    assert brief_node("add_1") == "add_1"
    assert len(brief_node(name * 3, 24)) == 24


def test_a_function_without_what_is_around_it() -> None:
    assert brief_function("Net.forward") == "Net.forward"
    assert brief_function("wrap.<locals>.inner.<locals>.call") == "call"
    assert brief_function("Net.wrap.<locals>.<listcomp>") == "<listcomp> of wrap"
    resumed = "Net.torch_dynamo_resume_in_forward_at_17"
    assert brief_function(resumed) == "Net.forward, resumed at 17"


def test_the_middle_is_left_out() -> None:
    assert clip_middle("abcdefghij", 7) == "ab…ghij"
    assert clip_middle("abc", 3) == "abc"
    assert clip_middle("abc", 1) == "…"
    assert clip_middle("abc", 0) == ""
