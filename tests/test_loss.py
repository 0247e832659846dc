"""The loss in pieces against autograd over all logits at once."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from ssd.train.loss import Aim, loss

NUM_IDS, NUM_COLUMNS, WIDTH = 50, 30, 16


def slow(hidden: Tensor, head: Tensor, aim: Aim) -> Tensor:
    """The same from its definition: kept ids one by one, and the rest as one more outcome."""
    law = torch.softmax(hidden.bfloat16().float() @ head.float().T, dim=1)
    total = torch.zeros(())
    for row in range(len(law)):
        kept = torch.zeros(())
        for column, chance in zip(aim.columns[row].tolist(), aim.chances[row], strict=True):
            if column >= 0:
                kept = kept + law[row, column]
                total = total - chance * law[row, column].log()
        total = total - aim.rest[row] * (1 - kept).log()
    return total / len(law)


def to_column() -> Tensor:
    """The first 30 ids have a column, in another order."""
    columns = torch.full((NUM_IDS,), -1)
    columns[torch.randperm(NUM_COLUMNS)] = torch.arange(NUM_COLUMNS)
    return columns


def law_of(num_rows: int, kept: int) -> tuple[Tensor, Tensor]:
    """Random laws: their likeliest `kept` ids and chances."""
    law = torch.softmax(2 * torch.randn(num_rows, NUM_IDS), dim=1)
    top = law.topk(kept)
    return top.indices, top.values


@pytest.mark.parametrize(("num_rows", "kept"), [(5, 8), (300, 4), (7, 1)])
def test_value_and_gradient_are_those_of_the_definition(num_rows: int, kept: int) -> None:
    """To bfloat16's precision; 300 rows take two pieces."""
    torch.manual_seed(0)
    head = torch.randn(NUM_COLUMNS, WIDTH).bfloat16()
    aim = Aim.of(*law_of(num_rows, kept), to_column())
    fast_in = torch.randn(num_rows, WIDTH).requires_grad_()
    slow_in = fast_in.detach().clone().requires_grad_()
    value, hits = loss(fast_in, head, aim)
    expected = slow(slow_in, head, aim)
    value.backward()
    expected.backward()
    assert value.item() == pytest.approx(expected.item(), rel=2e-2)
    assert fast_in.grad is not None and slow_in.grad is not None
    assert torch.allclose(fast_in.grad, slow_in.grad, atol=0.03 * slow_in.grad.abs().max().item())
    guessed = (fast_in.bfloat16() @ head.T).argmax(1)
    assert hits == int((guessed == aim.columns[:, 0]).sum())


def test_ids_written_are_plain_cross_entropy() -> None:
    """One id of chance 1 a place; an id that the head lacks costs nothing."""
    torch.manual_seed(1)
    head, columns = torch.randn(NUM_COLUMNS, WIDTH).bfloat16(), to_column()
    ids = torch.randint(NUM_COLUMNS, (12, 1))
    hidden = torch.randn(12, WIDTH)
    value, _ = loss(hidden, head, Aim.of(ids, torch.ones(12, 1), columns))
    logits = hidden.bfloat16() @ head.T
    expected = torch.nn.functional.cross_entropy(logits.float(), columns[ids[:, 0]])
    assert value.item() == pytest.approx(expected.item(), rel=1e-2)
    lacking = torch.full((12, 1), NUM_IDS - 1)
    assert loss(hidden, head, Aim.of(lacking, torch.ones(12, 1), columns))[0].item() == 0


def test_the_law_itself_is_the_best_answer() -> None:
    """Where the draft says what the target says, the gradient vanishes."""
    torch.manual_seed(2)
    head = torch.eye(NUM_COLUMNS)[:, :NUM_COLUMNS].bfloat16()
    hidden = torch.randn(6, NUM_COLUMNS).bfloat16().float().requires_grad_()
    law = torch.softmax(hidden.detach(), dim=1).topk(10)
    aim = Aim.of(law.indices, law.values, torch.arange(NUM_COLUMNS))
    loss(hidden, head, aim)[0].backward()
    assert hidden.grad is not None and hidden.grad.abs().max() < 2e-3
