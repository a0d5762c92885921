"""What the graph of a model tells of its structure, and the findings that rest on it."""

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from smdebug.pytorch.loss_inputs import LossInputs  # noqa: E402
from smdebug.pytorch.model_graph import model_graph  # noqa: E402

PLACES = 9


def graph_of(output, places=0):
    return model_graph(output.grad_fn, places, samples=len(output))


def linear_layers_of(model, *shape):
    return graph_of(model(torch.randn(*shape))).linear_layers


def facts_of(loss_of, steps=3):
    """The facts of the only loss, over some steps. `loss_of(inputs)` may note calls of a model."""
    inputs = LossInputs()
    for step in range(steps):
        torch.manual_seed(step)
        loss = loss_of(inputs, step)
        inputs.note_graph(loss, step)
    (one,) = inputs.facts({}, "loss")
    return one.input


def test_linear_layers_without_an_activation_are_counted():
    chain = nn.Sequential(nn.Linear(2, 64), nn.Dropout(0.1), nn.Linear(64, 64), nn.Linear(64, 3))
    assert linear_layers_of(chain, 5, 2) == 3
    assert linear_layers_of(chain, 5, 7, 2) == 3
    images = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(72, 10)
    )
    assert linear_layers_of(images, 4, 3, 8, 8) == 2


def test_weights_that_a_script_multiplies_itself_are_layers():
    first, second = (torch.randn(*shape, requires_grad=True) for shape in ((4, 16), (16, 3)))
    assert graph_of(torch.randn(5, 4) @ first @ second).linear_layers == 2


@pytest.mark.parametrize(
    ("model", "shape"),
    [
        (nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3)), (5, 4)),
        (nn.Sequential(nn.Linear(4, 16), nn.LayerNorm(16), nn.Linear(16, 3)), (5, 4)),
        (nn.Sequential(nn.Conv2d(3, 8, 3), nn.MaxPool2d(2), nn.Conv2d(8, 4, 3)), (2, 3, 9, 9)),
        (nn.Linear(4, 3), (5, 4)),
        # A bottleneck has a purpose.
        (nn.Sequential(nn.Linear(64, 8), nn.Linear(8, 64)), (5, 64)),
    ],
)
def test_a_model_that_one_layer_cannot_replace_has_no_needless_ones(model, shape):
    assert linear_layers_of(model, *shape) is None


def test_a_division_by_a_layer_is_not_linear():
    first, second = nn.Linear(4, 16), nn.Linear(16, 3)
    assert graph_of(second(1 / first(torch.randn(5, 4)))).linear_layers is None
    assert graph_of(second(torch.ones(16) / first(torch.randn(5, 4)))).linear_layers is None
    assert graph_of(second(first(torch.randn(5, 4)) / 2)).linear_layers == 2


def test_layers_side_by_side_are_no_chain():
    trend, season = nn.Linear(24, 12), nn.Linear(24, 12)
    x = torch.randn(5, 24)
    assert graph_of(trend(x) + season(x)).linear_layers is None


def test_a_product_of_two_layers_is_not_linear():
    gate, value = nn.Linear(4, 16), nn.Linear(4, 16)
    x = torch.randn(5, 4)
    assert graph_of(nn.Linear(16, 3)(gate(x) * value(x))).linear_layers is None


def attention(mask_of, fused=True):
    """The output of an attention over PLACES places of 2 sequences."""
    x = torch.randn(2, 3, PLACES, 4, requires_grad=True)
    mask = mask_of()
    if fused:
        if mask == "causal":
            return functional.scaled_dot_product_attention(x, x, x, is_causal=True)
        return functional.scaled_dot_product_attention(x, x, x, attn_mask=mask)
    scores = x @ x.transpose(-1, -2)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return scores.softmax(-1) @ x


def causal():
    return torch.ones(PLACES, PLACES).tril().bool()


@pytest.mark.parametrize(
    ("output_of", "sees_later"),
    [
        (lambda: attention(lambda: None), True),
        (lambda: attention(lambda: "causal"), False),
        (lambda: attention(causal), False),
        (lambda: attention(lambda: None, fused=False), True),
        (lambda: attention(causal, fused=False), False),
        (lambda: attention(lambda: None) + attention(causal), False),
    ],
)
def test_attention_to_later_places_is_seen(output_of, sees_later):
    assert graph_of(output_of(), PLACES).sees_later is sees_later


def test_attention_over_other_things_than_the_places_tells_nothing():
    assert graph_of(attention(lambda: None), PLACES + 1).sees_later is None
    assert graph_of(attention(lambda: None)).sees_later is None


def test_multi_head_attention_with_and_without_a_mask():
    layer = nn.MultiheadAttention(8, 2, batch_first=True)
    x = torch.randn(2, PLACES, 8)
    mask = nn.Transformer.generate_square_subsequent_mask(PLACES)
    for needs_weights in (False, True):
        plain = layer(x, x, x, need_weights=needs_weights)[0]
        masked = layer(x, x, x, attn_mask=mask, need_weights=needs_weights)[0]
        assert graph_of(plain, PLACES).sees_later is True
        assert graph_of(masked, PLACES).sees_later is False


def test_a_softmax_over_one_score_is_seen():
    score, x = nn.Linear(8, 1), torch.randn(4, 6, 8)
    assert graph_of((score(x).softmax(-1) * x).sum(1) @ torch.randn(8, 3)).has_softmax_of_one
    assert not graph_of((score(x).softmax(1) * x).sum(1) @ torch.randn(8, 3)).has_softmax_of_one


def test_a_softmax_over_the_samples_is_seen_in_attention_only():
    project, x = nn.Linear(8, 8), torch.randn(4, 6, 8)
    scores = project(x) @ project(x).transpose(1, 2)  # (samples, places, places)
    pooled = {dim: (scores.softmax(dim) @ x).mean(1) for dim in (0, 1, 2)}
    assert graph_of(pooled[0]).has_softmax_of_batch
    assert not graph_of(pooled[1]).has_softmax_of_batch
    assert not graph_of(pooled[2]).has_softmax_of_batch
    assert not graph_of(pooled[0][:3]).has_softmax_of_batch, "a loss of other rows"
    similar = project(x[:, 0]) @ project(x[:, 1]).T  # of all pairs of samples
    assert not graph_of(similar.softmax(0)).has_softmax_of_batch
    of_nodes = (project(x[:, 0])[:, None] + project(x[:, 1])[None]).softmax(0)
    assert not graph_of((of_nodes * x[:, :1]).sum(0)).has_softmax_of_batch


class Words(nn.Module):
    """Scores of the next token, with an attention that may look ahead."""

    def __init__(self, is_causal):
        super().__init__()
        self.embedding, self.head = nn.Embedding(30, 8), nn.Linear(8, 30)
        self.is_causal = is_causal

    def forward(self, tokens):
        x = self.embedding(tokens).unsqueeze(1)
        x = functional.scaled_dot_product_attention(x, x, x, is_causal=self.is_causal)
        return self.head(x.squeeze(1))


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("drops_last_token", [False, True])
def test_a_language_model_that_sees_the_next_token_is_told(is_causal, drops_last_token):
    model = Words(is_causal)

    def loss_of(inputs, step):
        tokens = torch.randint(0, 30, (8, PLACES + 1))
        given = tokens[:, :-1] if drops_last_token else tokens
        inputs.note_model((given,), {}, step)
        scores = model(given)[:, :PLACES]
        return functional.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten())

    facts = facts_of(loss_of)
    assert (facts.target_shift, facts.sees_later) == (1, not is_causal)


def test_attention_of_a_decoder_to_an_encoder_tells_nothing():
    model = Words(is_causal=False)

    def loss_of(inputs, step):
        source, tokens = (torch.randint(0, 30, (8, PLACES + more)) for more in (0, 1))
        inputs.note_model((source, tokens[:, :-1]), {}, step)
        scores = model(tokens[:, :-1])
        return functional.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten())

    facts = facts_of(loss_of)
    assert (facts.target_shift, facts.sees_later) == (1, None)


def pixels(reshape):
    layer = nn.Conv2d(3, 5, 1)

    def loss_of(inputs, step):
        scores = layer(torch.randn(2, 3, 8, 8))
        return functional.cross_entropy(reshape(scores), torch.randint(0, 5, (128,)))

    return facts_of(loss_of).mixes_places


def test_a_view_that_mixes_places_and_classes_is_seen():
    assert pixels(lambda scores: scores.view(-1, 5)) is True
    assert pixels(lambda scores: scores.reshape(-1, 5)) is True
    assert pixels(lambda scores: scores.permute(0, 2, 3, 1).reshape(-1, 5)) is False


def test_a_view_of_pooled_scores_mixes_nothing():
    layer = nn.Sequential(nn.Conv2d(3, 5, 1), nn.AdaptiveAvgPool2d(1))

    def loss_of(inputs, step):
        scores = layer(torch.randn(16, 3, 8, 8)).view(-1, 5)
        return functional.cross_entropy(scores, torch.randint(0, 5, (16,)))

    assert facts_of(loss_of).mixes_places is False


def test_a_cross_entropy_of_images_mixes_nothing():
    layer = nn.Conv2d(3, 5, 1)

    def loss_of(inputs, step):
        scores = layer(torch.randn(2, 3, 8, 8))
        return functional.cross_entropy(scores, torch.randint(0, 5, (2, 8, 8)))

    assert facts_of(loss_of).mixes_places is False


@pytest.mark.parametrize(("ignored", "found"), [(0, 12), (-100, None)])
def test_a_class_that_the_loss_ignores_is_told_by_its_tokens(ignored, found):
    embedding = nn.Embedding(40, 3)

    def loss_of(inputs, step):
        tokens = torch.randint(1, 37, (16, 10))
        tokens[0, : 36 - 26] = torch.arange(3, 33, 3)
        inputs.note_model((tokens,), {}, step)
        return functional.cross_entropy(
            embedding(tokens).flatten(0, 1), (tokens % 3).flatten(), ignore_index=ignored
        )

    facts = facts_of(loss_of, steps=10)
    # The multiples of 3 from 3 to 36 have the label 0; a batch may lack some of them.
    assert facts.ignored_tokens == found or 9 <= facts.ignored_tokens <= found


def test_padding_is_no_class_that_the_loss_ignores():
    embedding = nn.Embedding(40, 3)

    def loss_of(inputs, step):
        tokens = torch.randint(1, 37, (16, 10))
        tokens[:, 7:] = 0
        inputs.note_model((tokens,), {}, step)
        labels = torch.where(tokens > 0, 1 + tokens % 2, 0)
        scores = embedding(tokens).flatten(0, 1)
        return functional.cross_entropy(scores, labels.flatten(), ignore_index=0)

    assert facts_of(loss_of).ignored_tokens == 0


def test_the_weights_of_the_most_and_the_least_frequent_class_are_told():
    layer = nn.Linear(4, 3)
    weights = torch.tensor([0.5, 1.0, 4.0])

    def loss_of(inputs, step):
        labels = torch.tensor([0] + 2 * [1] + 13 * [2])
        return functional.cross_entropy(layer(torch.randn(16, 4)), labels, weight=weights)

    assert facts_of(loss_of).class_weights == (4.0, 0.5)
    weights = None
    assert facts_of(loss_of).class_weights is None
