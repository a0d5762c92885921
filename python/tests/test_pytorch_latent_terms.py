"""How much the divergence of a variational autoencoder counts beside its reconstruction."""

import pytest

torch = pytest.importorskip("torch")

from torch import distributions, nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from smdebug.pytorch.latent_terms import divergence_weights  # noqa: E402
from smdebug.pytorch.loss_inputs import LossInputs  # noqa: E402

SAMPLES, ELEMENTS, LATENT = 32, 48, 6


class Encoded:
    """The parts of one step of a variational autoencoder."""

    def __init__(self):
        torch.manual_seed(4)
        self.x = torch.rand(SAMPLES, ELEMENTS)
        self.mean = nn.Linear(ELEMENTS, LATENT)(self.x)
        self.log_var = nn.Linear(ELEMENTS, LATENT)(self.x)
        z = self.mean + torch.exp(0.5 * self.log_var) * torch.randn(SAMPLES, LATENT)
        self.scores = nn.Linear(LATENT, ELEMENTS)(z)

    def cross_entropy(self, reduction):
        return functional.binary_cross_entropy_with_logits(self.scores, self.x, reduction=reduction)

    def divergence(self):
        """Per latent variable of a sample."""
        return -0.5 * (1 + self.log_var - self.mean.pow(2) - self.log_var.exp())


def weight_of(loss):
    weights = divergence_weights(loss.grad_fn)
    assert len(weights) <= 1
    return next(iter(weights.values()), None)


def _of_torch(it):
    posterior = distributions.Normal(it.mean, torch.exp(0.5 * it.log_var))
    return distributions.kl_divergence(posterior, distributions.Normal(0.0, 1.0))


def _of_deviations(it):
    deviation = functional.softplus(it.log_var)
    return 0.5 * (it.mean**2 + deviation**2 - 1) - torch.log(deviation)


@pytest.mark.parametrize(
    ("loss_of", "weight"),
    [
        (lambda it: it.cross_entropy("sum") + it.divergence().sum(), 1),
        (lambda it: (it.cross_entropy("sum") + it.divergence().sum()) / SAMPLES, 1),
        (lambda it: it.cross_entropy("mean") + it.divergence().sum(), SAMPLES * ELEMENTS),
        (lambda it: it.cross_entropy("mean") + it.divergence().sum(1).mean(), ELEMENTS),
        (lambda it: it.cross_entropy("mean") + it.divergence().mean(), ELEMENTS / LATENT),
        (lambda it: it.cross_entropy("none").mean(-1).sum() + it.divergence().sum(), ELEMENTS),
        (lambda it: it.cross_entropy("none").mean((0, 1)) + it.divergence().sum(1).mean(0), 48),
        (lambda it: it.cross_entropy("mean") + 1e-3 * it.divergence().sum(1).mean(), 0.048),
        (lambda it: it.cross_entropy("none").sum(1).mean() + 4 * it.divergence().sum(1).mean(), 4),
        (lambda it: it.cross_entropy("mean") + _of_torch(it).sum(-1).mean(), ELEMENTS),
        (lambda it: it.cross_entropy("mean") + _of_deviations(it).sum(-1).mean(), ELEMENTS),
        (
            lambda it: (it.scores - it.x).pow(2).sum(1).mean() + it.divergence().sum(1).mean(),
            1,
        ),
        (lambda it: ((it.x - it.scores) ** 2).mean() + it.divergence().sum(1).mean(), ELEMENTS),
        (lambda it: functional.mse_loss(it.scores, it.x) - (-it.divergence()).sum(), 32 * 48),
    ],
)
def test_a_sum_of_latent_variables_beside_a_mean_of_elements_counts_as_often_as_there_are_elements(
    loss_of, weight
):
    assert weight_of(loss_of(Encoded())) == pytest.approx(weight)


@pytest.mark.parametrize(
    "loss_of",
    [
        lambda it: it.cross_entropy("mean"),
        # The regularization of weights is no divergence.
        lambda it: it.cross_entropy("mean") + 1e-4 * it.mean.pow(2).sum(),
        # An entropy bonus, and the ratio of probabilities in reinforcement learning.
        lambda it: functional.mse_loss(it.scores, it.x) - (it.log_var.exp() * it.log_var).sum(),
        lambda it: functional.mse_loss(it.scores, it.x) + torch.exp(it.log_var - 1).sum(),
        lambda it: it.divergence().sum(),
    ],
)
def test_other_sums_have_no_divergence(loss_of):
    assert weight_of(loss_of(Encoded())) is None


def test_the_halves_of_one_output_are_told_apart():
    it = Encoded()
    mean, log_var = nn.Linear(ELEMENTS, 2 * LATENT)(it.x).chunk(2, dim=1)
    divergence = -0.5 * (1 + log_var - mean.pow(2) - log_var.exp())
    assert weight_of(it.cross_entropy("mean") + divergence.sum()) == SAMPLES * ELEMENTS


@pytest.mark.parametrize(
    ("loss_of", "function"),
    [
        (lambda it: it.cross_entropy("mean"), "binary_cross_entropy_with_logits"),
        (lambda it: (it.scores - it.x).square().mean(), "squared_error"),
    ],
)
def test_a_loss_has_the_weight_of_the_divergence_beside_it(loss_of, function):
    inputs = LossInputs()
    for step in range(3):
        it = Encoded()
        inputs.note_graph(loss_of(it) + it.divergence().sum(), step)
    (loss,) = inputs.facts({}, "loss")
    assert loss.input.function == function
    assert loss.input.divergence_weight == pytest.approx(SAMPLES * ELEMENTS)
