"""The page about the built-in policies says what was measured."""

from constpolicy.policy.load import builtin_names
from scripts.policies_doc_main import PAGE, Line, kept, lines, page


def test_the_page_is_what_the_kept_measurements_give() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(*kept())


def test_every_built_in_policy_was_measured_on_every_model() -> None:
    _, measured = kept()
    models = {(line.model, line.flags) for line in measured}
    assert models
    for model in models:
        assert {line.policy for line in measured if (line.model, line.flags) == model} >= set(builtin_names())


def test_a_tool_that_did_not_run_has_no_line() -> None:
    spread = {"median": 2.0, "min": 1.0, "max": 3.0}
    running = {
        "load_seconds": {"value": {"median": 0.0105}},
        "call_seconds": {"ratio": spread},
        "resident_bytes": {"median": 1024.0},
        "difference": 0.0,
    }
    row = {"model": "m", "flags": "default", "tool": "small", "bytes": 7, "bytes_ratio": 0.5, "running": running}
    found = lines({"rows": [row, {**row, "tool": "script", "running": None}]})
    assert found == [Line("m", "default", "small", 7, 0.5, 10.5, 2.0, 1024, True)]
