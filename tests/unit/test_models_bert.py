"""The generated BERT: its weights, and the size of what it describes."""

from __future__ import annotations

import numpy as np
import pytest

from scripts.models.bert import BertConfig, program_text, reference

SMALL = BertConfig(layers=1, seq=4, hidden=8, heads=2, vocab=20)


def test_the_default_size_is_that_of_bert_base() -> None:
    count = sum(int(np.prod(shape)) for shape in BertConfig().weight_shapes().values())
    assert count == 109_514_298


def test_a_weight_depends_on_its_name_and_the_seed_alone() -> None:
    name = "layer0.attention.query.kernel"
    longer = BertConfig(layers=3, seq=4, hidden=8, heads=2, vocab=20)
    other_seed = BertConfig(layers=1, seq=4, hidden=8, heads=2, vocab=20, seed=1)
    np.testing.assert_array_equal(SMALL.weight(name), longer.weight(name))
    assert not np.array_equal(SMALL.weight(name), SMALL.weight("layer0.attention.key.kernel"))
    assert not np.array_equal(SMALL.weight(name), other_seed.weight(name))


def test_every_weight_is_float32_of_its_shape_and_no_splat() -> None:
    for name, shape in SMALL.weight_shapes().items():
        weight = SMALL.weight(name)
        assert weight.dtype == np.float32, name
        assert weight.shape == shape, name
        assert np.ptp(weight) > 0, name


def test_the_program_reads_every_weight_exactly_once() -> None:
    text = program_text(SMALL)
    for name in SMALL.weight_shapes():
        assert text.count(f'weight = "{name}"') == 1, name


def test_a_hidden_size_that_the_heads_do_not_divide_is_refused() -> None:
    with pytest.raises(ValueError, match="hidden \\(10\\) must be a multiple of heads \\(4\\)"):
        BertConfig(hidden=10, heads=4)


def test_the_reference_gives_logits_that_depend_on_every_position() -> None:
    ids = np.array([[1, 2, 3, 4]], dtype=np.int32)
    logits = reference(SMALL, ids)
    assert logits.shape == (1, 4, 20)
    changed = reference(SMALL, np.array([[1, 2, 3, 5]], dtype=np.int32))
    assert np.all(np.abs(logits - changed).max(axis=-1) > 1e-6)
