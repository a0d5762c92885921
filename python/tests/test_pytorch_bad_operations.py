"""The operation that made a loss NaN or infinite, found in the graph of the loss."""

import pytest
import torch
from torch.nn import functional

from smdebug.pytorch.bad_operations import operation_of, operation_of_gradient

ZERO_TWICE = [0.0, 2.0, 0.0, 4.0]
ONE_BELOW = [1.0, -2.0, 3.0, 4.0]

# name -> (loss of x, x, kind, elements outside, elements)
FAULTS = {
    "log": (lambda x: -x.log().mean(), ZERO_TWICE, "log of 0", 2, 4),
    "log2": (lambda x: -x.log2().sum(), ZERO_TWICE, "log of 0", 2, 4),
    "entropy": (lambda x: -(x * x.log()).sum(), ZERO_TWICE, "log of 0", 2, 4),
    "log below 0": (lambda x: x.log().mean(), ONE_BELOW, "log of a negative number", 1, 4),
    "nll": (
        lambda x: functional.nll_loss(x.view(1, 4).log(), torch.tensor([0])),
        *(ZERO_TWICE, "log of 0", 2, 4),
    ),
    "division": (lambda x: (1 + x).sum() / x[0], ZERO_TWICE, "division by 0", 1, 1),
    "share": (lambda x: (x[2:] / x[:2]).sum(), ZERO_TWICE, "division by 0", 1, 2),
    "reciprocal": (lambda x: (1 / x).mean(), ZERO_TWICE, "division by 0", 2, 4),
    "power": (lambda x: (x**0.5).sum(), ONE_BELOW, "undefined power", 1, 4),
    "negative power": (lambda x: (x**-2).sum(), ZERO_TWICE, "undefined power", 2, 4),
    "exp": (lambda x: (50 * x).exp().sum(), ZERO_TWICE, "overflow of exp", 2, 4),
    "mean": (lambda x: x[x > 9].mean(), ZERO_TWICE, "mean of no elements", 0, 0),
    # The root of 0 is fine; what follows divides by it.
    "first of two": (lambda x: (1 / x.sqrt()).log().sum(), ZERO_TWICE, "division by 0", 2, 4),
}


# exp has only its result. The others are outside of what they are defined for, whatever x is.
OWN_FAULTS = ("mean", "exp", "first of two")


@pytest.mark.parametrize("name", FAULTS)
def test_the_operation_is_found(name):
    loss_of, values, kind, elements, size = FAULTS[name]
    x = torch.tensor(values, requires_grad=True)
    loss = loss_of(x)
    assert not torch.isfinite(loss)
    found = operation_of(loss, 7)
    assert (found.kind, found.step, found.elements, found.size) == (kind, 7, elements, size)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("name", [name for name in FAULTS if name not in OWN_FAULTS])
def test_an_operation_is_not_blamed_for_its_argument(name, value):
    x = torch.full((4,), value, requires_grad=True)
    assert operation_of(FAULTS[name][0](x), 7) is None


def test_a_loss_that_diverged_has_no_such_operation():
    x = torch.tensor([3e38, 3e38], requires_grad=True)
    assert operation_of((x * x).sum(), 7) is None


def test_a_graph_with_nodes_of_a_program_is_searched_beyond_them():
    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x / 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient / 2

    x = torch.tensor(ZERO_TWICE, requires_grad=True)
    assert operation_of(Half.apply(x.log()).sum(), 7).kind == "log of 0"


@pytest.mark.parametrize("root", [torch.sqrt, lambda x: x**0.5, lambda x: x**0.25])
def test_a_root_of_0_makes_its_gradient_infinite(root):
    x = torch.tensor(ZERO_TWICE, requires_grad=True)
    loss = root(x).sum()
    found = operation_of_gradient(loss, 7)
    assert (found.kind, found.step) == ("gradient of a root of 0", 7)
    assert (found.elements, found.size) == (2, 4)
    loss.backward()
    assert x.grad.isinf().sum() == 2


def test_a_root_above_0_and_a_square_have_a_gradient():
    x = torch.tensor(ZERO_TWICE, requires_grad=True)
    assert operation_of_gradient((x + 1e-12).sqrt().sum() + (x**2).sum(), 7) is None
