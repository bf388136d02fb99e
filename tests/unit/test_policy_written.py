"""What a policy comes to, as the text of a file that says where each value was written."""

from __future__ import annotations

from pathlib import Path

import yaml

from constpolicy.policy.load import load_policy
from constpolicy.policy.written import as_yaml


def test_each_value_is_shown_with_where_it_is_written_and_what_it_replaces(tmp_path: Path) -> None:
    top, mid = tmp_path / "top.yaml", tmp_path / "mid.yaml"
    top.write_text(
        "schema: 1\nname: top\nextends: mid.yaml\ndefault: fuse\nlimits: {max_result_bytes: 1 KiB, otherwise: inline}\n"
        "rules:\n- {when: {kind: pad}, action: fuse}\nflags: [--b]\n"
    )
    mid.write_text(
        "schema: 1\nname: mid\nlimits:\n  max_result_bytes: 5\n  max_growth_bytes: 64\ndefault: inline\n"
        "rules: [{when: {kind: cast}, action: share}]\nflags: [--a]\nbudgets: {file_growth: 0.1234567%}\n"
    )
    loaded = load_policy(str(top))
    text = as_yaml(loaded.policy, loaded.written)
    assert text.replace(f"{tmp_path}/", "").splitlines() == [
        "# top.yaml:1:1, over mid.yaml:1:1",
        "schema: 1",
        "# top.yaml:2:1, over mid.yaml:2:1",
        "name: top",
        "# top.yaml:4:1, over mid.yaml:6:1",
        "default: fuse",
        "rules:",
        "# top.yaml:7:3",
        "- when:",
        "    kind:",
        "    - pad",
        "  action: fuse",
        "# mid.yaml:7:9",
        "- when:",
        "    kind:",
        "    - cast",
        "  action: share",
        "limits:",
        "  # top.yaml:5:10, over mid.yaml:4:3",
        "  max_result_bytes: 1024",
        "  # mid.yaml:5:3",
        "  max_growth_bytes: 64",
        "  # top.yaml:5:35",
        "  otherwise:",
        "  - inline",
        "budgets:",
        "  # mid.yaml:9:11",
        "  file_growth: 0.1234567%",
        "flags:",
        "# mid.yaml:8:9",
        "- --a",
        "# top.yaml:8:9",
        "- --b",
    ]
    assert yaml.safe_load(text) == loaded.policy.as_data()
