"""Faults in what const-eval stores: put there between evaluation and check, or computed by const-eval itself.

They act in the compile's child process, which is a copy of the one that plants them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from iree.compiler import ir

from constpolicy.records import Evaluation
from constpolicy.rewrite import apply, evaluate
from constpolicy.rewrite.globals import INITIALIZER, STORE, accessed, body, symbol, top_level

Array = npt.NDArray[Any]
Fault = Callable[[Array], Array]


def one_bit(array: Array) -> Array:
    """The lowest bit of one element is another."""
    bits = array.copy().view(np.uint32)
    bits[2, 1] ^= 1
    return np.asarray(bits.view(np.float32))


def transposed(array: Array) -> Array:
    """The elements of a square in another order."""
    return np.ascontiguousarray(array.T)


def through_half(array: Array) -> Array:
    """Numbers that were of a narrower type on the way."""
    return array.astype(np.float16).astype(array.dtype)


def as_integers(array: Array) -> Array:
    """Numbers whose bits were taken for integers."""
    return array.view(f"i{array.dtype.itemsize}").astype(array.dtype)


def plant(monkeypatch: pytest.MonkeyPatch, faults: Mapping[str, Fault]) -> None:
    """From now on, the globals (without "@") get the values that the faults make of the right ones."""
    right = apply.evaluate_chosen

    def evaluate_chosen(session: Any, module: ir.Operation, *arguments: Any, **options: Any) -> Evaluation:
        evaluation = right(session, module, *arguments, **options)
        for op in top_level(module):
            fault = faults.get(symbol(op))
            if fault is not None and "initial_value" in op.attributes:  # it was evaluated
                value = np.array(ir.DenseElementsAttr(op.attributes["initial_value"]))
                op.attributes["initial_value"] = ir.DenseElementsAttr.get(fault(value))
        return evaluation

    monkeypatch.setattr(apply, "evaluate_chosen", evaluate_chosen)


def plant_one_bit(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """From now on, one bit of this global is wrong, and what was computed from it is right."""
    plant(monkeypatch, {name: one_bit})


def plant_minus(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """From now on, const-eval computes this global with the other sign, and from that whatever reads it."""
    right = evaluate._second_module

    def second_module(module: ir.Operation, chosen: Sequence[ir.Operation]) -> ir.Operation:
        second = right(module, chosen)
        for store in (op for holder in top_level(second) if holder.name == INITIALIZER for op in body(holder)):
            if store.name == STORE and accessed(store) == name:
                value = store.operands[0]
                with ir.InsertionPoint(store), store.location:
                    minus = ir.Operation.create("arith.negf", results=[value.type], operands=[value])
                store.operands[0] = minus.results[0]
        return second

    monkeypatch.setattr(evaluate, "_second_module", second_module)
