"""Healthy trainings of kinds that differ from the ordinary fit of a classifier."""

import copy
import itertools
import math

import data
import launch
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def _tensors(arrays):
    return [torch.as_tensor(array) for array in arrays]


def _batches(arrays, size):
    """Shuffled batches, without end."""
    loader = DataLoader(TensorDataset(*_tensors(arrays)), size, shuffle=True, drop_last=True)
    while True:
        yield from loader


def gan():
    return _trained_gan(has_three_passes=False)


def gan_in_three_passes():
    """With two backward passes for the critic, as in DCGAN: each call of a model after one of them
    is a step."""
    return _trained_gan(has_three_passes=True)


def _trained_gan(has_three_passes):
    """Points on a circle. Returns how far the generated points are from it."""
    torch.manual_seed(101)
    generator = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(),
                              nn.Linear(32, 2))  # fmt: skip
    critic = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32),
                           nn.LeakyReLU(0.2), nn.Linear(32, 1))  # fmt: skip
    criterion = nn.BCEWithLogitsLoss()
    generate = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    criticize = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.999))
    yes, no = torch.ones(64, 1), torch.zeros(64, 1)
    errors = []
    for step in range(600):
        angle = 2 * math.pi * torch.rand(64)
        real = 2 * torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(64, 2)
        fake = generator(torch.randn(64, 4))
        criticize.zero_grad()
        loss = criterion(critic(real), yes)
        if has_three_passes:
            loss.backward()
            loss = criterion(critic(fake.detach()), no)
        else:
            loss = loss + criterion(critic(fake.detach()), no)
        loss.backward()
        criticize.step()
        generate.zero_grad()
        criterion(critic(fake), yes).backward()
        generate.step()
        errors.append((fake.norm(dim=1) - 2).abs().mean().item())
        if step % 100 == 0:
            print(f"step {step}: critic {loss.item():.3f}")
    return errors


class Vae(nn.Module):
    """A variational autoencoder of 64 pixels."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 48), nn.ReLU())
        self.mean, self.log_variance = nn.Linear(48, 6), nn.Linear(48, 6)
        self.decoder = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 64))

    def forward(self, x):
        hidden = self.encoder(x)
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        code = mean + torch.randn_like(mean) * (log_variance / 2).exp()
        return self.decoder(code), mean, log_variance


def vae():
    torch.manual_seed(102)
    x, _ = data.digits()
    model = Vae()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    for step, (images,) in zip(range(280), _batches([x], 64), strict=False):
        copies, mean, log_variance = model(images)
        fit = F.mse_loss(copies, images, reduction="sum") / len(images)
        divergence = -0.5 * (1 + log_variance - mean.pow(2) - log_variance.exp()).sum(1).mean()
        loss = fit + divergence
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 50 == 0:
            print(f"step {step}: loss {losses[-1]:.2f}")
    return losses


class Corridor:
    """Seven places; the walk starts in the middle and ends at the goal on the right, or after 20
    steps. A step costs 0.05, the goal pays 1."""

    def __init__(self):
        self.place, self.steps = 3, 0

    def observe(self):
        return F.one_hot(torch.tensor(self.place), 7).float()

    def move(self, is_right):
        self.place = max(0, self.place + (1 if is_right else -1))
        self.steps += 1
        is_done = self.place == 6 or self.steps == 20
        return (1.0 if self.place == 6 else -0.05), is_done


def reinforce():
    """REINFORCE with a running baseline. Returns the negative return of each episode."""
    torch.manual_seed(103)
    policy = nn.Sequential(nn.Linear(7, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    baseline, errors = 0.0, []
    for episode in range(160):
        walk, log_probabilities, rewards, is_done = Corridor(), [], [], False
        while not is_done:
            choice = torch.distributions.Categorical(logits=policy(walk.observe()))
            action = choice.sample()
            log_probabilities.append(choice.log_prob(action))
            reward, is_done = walk.move(action.item())
            rewards.append(reward)
        returns = list(itertools.accumulate(reversed(rewards), lambda sum_, r: r + 0.95 * sum_))
        advantage = torch.tensor(returns[::-1]) - baseline
        baseline = 0.95 * baseline + 0.05 * returns[-1]
        loss = -(torch.stack(log_probabilities) * advantage).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        errors.append(-sum(rewards))
        if episode % 40 == 0:
            print(f"episode {episode}: return {sum(rewards):.2f}")
    return errors


def diffusion():
    """Learns to predict the noise in noisy points of two half circles."""
    torch.manual_seed(104)
    x, _ = data.moons()
    kept = torch.cumprod(1 - torch.linspace(1e-3, 0.15, 40), 0)
    model = nn.Sequential(nn.Linear(3, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(),
                          nn.Linear(64, 2))  # fmt: skip
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for step, (points,) in zip(range(400), _batches([x], 128), strict=False):
        time = torch.randint(40, (len(points),))
        noise = torch.randn_like(points)
        share = kept[time, None]
        noisy = share.sqrt() * points + (1 - share).sqrt() * noise
        loss = F.mse_loss(model(torch.cat([noisy, time[:, None] / 40], 1)), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 80 == 0:
            print(f"step {step}: loss {losses[-1]:.4f}")
    return losses


def contrastive():
    """Two noisy views of an image are to be close together, other images far away."""
    torch.manual_seed(105)
    x, _ = data.digits()
    encoder = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 16))
    optimizer = torch.optim.Adam(encoder.parameters(), lr=2e-3)
    losses = []
    for step, (images,) in zip(range(260), _batches([x], 64), strict=False):
        views = [
            F.normalize(encoder(images + 0.4 * torch.randn_like(images)), dim=1) for _ in range(2)
        ]
        similarity = views[0] @ views[1].T / 0.2
        loss = F.cross_entropy(similarity, torch.arange(len(images)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 50 == 0:
            print(f"step {step}: loss {losses[-1]:.4f}")
    return losses


class GraphNetwork(nn.Module):
    """Two layers that average over neighbors."""

    def __init__(self, features, classes):
        super().__init__()
        self.first, self.second = nn.Linear(features, 24), nn.Linear(24, classes)

    def forward(self, x, adjacency):
        return adjacency @ self.second(torch.relu(adjacency @ self.first(x)))


def graph_network():
    """Classifies the nodes of a graph in which neighbors often have the same class; a few labels
    are known."""
    torch.manual_seed(106)
    x, y = _tensors(data.blobs(classes=4, count=240))
    same = y[:, None] == y[None]
    edges = torch.rand(240, 240) < torch.where(same, 0.06, 0.01)
    adjacency = (edges | edges.T | torch.eye(240, dtype=torch.bool)).float()
    adjacency = adjacency / adjacency.sum(1, keepdim=True)
    known = torch.rand(240) < 0.3
    model = GraphNetwork(8, 4)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=5e-4)
    losses = []
    for epoch in range(220):
        model.train()
        optimizer.zero_grad()
        loss = criterion(model(x, adjacency)[known], y[known])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if epoch % 20 == 0:
            model.eval()
            with torch.no_grad():
                right = model(x, adjacency).argmax(1)[~known] == y[~known]
            print(f"epoch {epoch}: loss {losses[-1]:.4f}, accuracy {right.float().mean():.1%}")
    return losses


class LstmLetters(nn.Module):
    """A language model over letters."""

    def __init__(self, size):
        super().__init__()
        self.embedding = nn.Embedding(size, 24)
        self.lstm = nn.LSTM(24, 48, batch_first=True)
        self.head = nn.Linear(48, size)

    def forward(self, letters):
        return self.head(self.lstm(self.embedding(letters))[0])


def lstm_language_model():
    torch.manual_seed(107)
    rows, size = data.windows(21)
    model = LstmLetters(size)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    for step, (row,) in zip(range(220), _batches([rows], 24), strict=False):
        optimizer.zero_grad()
        loss = criterion(model(row[:, :-1]).flatten(0, 1), row[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        if step % 40 == 0:
            print(f"step {step}: loss {losses[-1]:.4f}")
    return losses


class Block(nn.Module):
    """Attention and a perceptron, each with a normalization and a shortcut."""

    def __init__(self, width, is_causal):
        super().__init__()
        self.is_causal = is_causal
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.Linear(width, 3 * width)
        self.projection = nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x):
        query, key, value = (
            part.unflatten(-1, (2, -1)).transpose(1, 2)
            for part in self.attention(self.norm1(x)).chunk(3, -1)
        )
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=self.is_causal)
        x = x + self.projection(mixed.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    """Causal blocks whose head shares its weight with the embedding."""

    def __init__(self, size, length, width=48):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(size, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, is_causal=True) for _ in range(2))
        self.norm = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, size, bias=False)
        nn.init.normal_(self.wte.weight, std=0.1)
        self.lm_head.weight = self.wte.weight

    def forward(self, letters, labels):
        x = self.wte(letters) + self.wpe(torch.arange(letters.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.norm(x))
        return logits, F.cross_entropy(logits.flatten(0, 1), labels.flatten())


def gpt_language_model():
    torch.manual_seed(108)
    rows, size = data.windows(25)
    model = Gpt(size, 24)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.1)
    warm_up = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, (step + 1) / 30))
    losses = []
    for step, (row,) in zip(range(360), _batches([rows], 24), strict=False):
        _, loss = model(row[:, :-1], row[:, 1:])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        warm_up.step()
        losses.append(loss.item())
        if step % 40 == 0:
            print(f"step {step}: loss {losses[-1]:.4f}")
    return losses


class VisionTransformer(nn.Module):
    """Patches of 2 by 2, a class token and learned places."""

    def __init__(self, width=32):
        super().__init__()
        self.patches = nn.Conv2d(1, width, 2, stride=2)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.pos_embed = nn.Parameter(0.02 * torch.randn(1, 17, width))
        self.blocks = nn.Sequential(*(Block(width, is_causal=False) for _ in range(2)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, images):
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], 1) + self.pos_embed
        return self.head(self.norm(self.blocks(x))[:, 0])


def _fit(model, batches, steps, optimizer, schedule=None):
    """An ordinary loop for a classifier; returns the losses."""
    criterion = nn.CrossEntropyLoss()
    losses = []
    for step, (inputs, labels) in zip(range(steps), batches, strict=False):
        optimizer.zero_grad()
        loss = criterion(model(inputs), labels)
        loss.backward()
        optimizer.step()
        if schedule:
            schedule.step()
        losses.append(loss.item())
        if step % 50 == 0:
            print(f"step {step}: loss {losses[-1]:.4f}")
    return losses


def vision_transformer():
    torch.manual_seed(109)
    model = VisionTransformer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05)
    return _fit(model, _batches(data.digit_images(), 48), 240, optimizer)


def _convolutions(normalization=nn.BatchNorm2d):
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), normalization(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(256, 10),
    )  # fmt: skip


def mixed_precision():
    torch.manual_seed(110)
    model = _convolutions()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    losses = []
    for _, (images, labels) in zip(range(240), _batches(data.digit_images(), 64), strict=False):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = criterion(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def frozen_backbone():
    """Trains on five classes, then only a new head on the other five. Returns the losses of the
    head."""
    torch.manual_seed(111)
    x, y = data.digits()
    backbone = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 32), nn.ReLU())
    first = nn.Sequential(backbone, nn.Linear(32, 5))
    _fit(first, _batches([x[y < 5], y[y < 5]], 48), 120, torch.optim.Adam(first.parameters(), 3e-3))
    for parameter in backbone.parameters():
        parameter.requires_grad = False
    model = nn.Sequential(backbone, nn.Linear(32, 5))
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=5e-3)
    return _fit(model, _batches([x[y > 4], y[y > 4] - 5], 48), 240, optimizer)


class Lora(nn.Module):
    """A frozen layer and two trained factors, the second of which starts at zero."""

    def __init__(self, base, rank=4):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.lora_A = nn.Parameter(torch.randn(rank, base.in_features) / base.in_features**0.5)
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        return self.base(x) + 2 * x @ self.lora_A.T @ self.lora_B.T


def lora():
    torch.manual_seed(112)
    model = nn.Sequential(
        Lora(nn.Linear(64, 64)), nn.ReLU(), Lora(nn.Linear(64, 64)), nn.ReLU(),
        Lora(nn.Linear(64, 10)),
    )  # fmt: skip
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return _fit(model, _batches(data.digits(), 48), 260, torch.optim.AdamW(trained, lr=5e-3))


def weight_averaging():
    """Evaluates an exponential moving average of the weights."""
    torch.manual_seed(113)
    x, y = _tensors(data.digits())
    model = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 10))
    average = copy.deepcopy(model).requires_grad_(False)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    errors = []
    for step, (inputs, labels) in zip(range(250), _batches([x[360:], y[360:]], 48), strict=False):
        optimizer.zero_grad()
        criterion(model(inputs), labels).backward()
        optimizer.step()
        with torch.no_grad():
            for mean, now in zip(average.parameters(), model.parameters(), strict=True):
                mean.lerp_(now, 0.05)
        if step % 25 == 0:
            average.eval()
            with torch.no_grad():
                errors.append(criterion(average(x[:360]), y[:360]).item())
            print(f"step {step}: loss of the average {errors[-1]:.4f}")
    return errors


def gradient_accumulation():
    """Four batches for each update."""
    torch.manual_seed(114)
    model = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 10))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    for number, (x, y) in zip(range(480), _batches(data.digits(), 16), strict=False):
        loss = criterion(model(x), y)
        (loss / 4).backward()
        if number % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()
        losses.append(loss.item())
        if number % 80 == 0:
            print(f"batch {number}: loss {losses[-1]:.4f}")
    return losses


def unscaled_images():
    """Pixels from 0 to 1, as many tutorials have them."""
    torch.manual_seed(115)
    x, y = data.glyphs()
    model = _convolutions()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    return _fit(model, _batches([x[:, None] / 255, y], 64), 240, optimizer)


def batch_of_one():
    torch.manual_seed(116)
    x, y = data.digit_images()
    model = _convolutions(lambda width: nn.GroupNorm(2, width))
    optimizer = torch.optim.SGD(model.parameters(), lr=5e-3)
    return _fit(model, _batches([x, y], 1), 900, optimizer)


def curriculum():
    """Images get noisier, so the loss rises again with each stage. Returns the errors on images
    without noise."""
    torch.manual_seed(117)
    x, y = _tensors(data.digits())
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    errors = []
    for step, (images, labels) in zip(range(300), _batches([x, y], 64), strict=False):
        noisy = images + 0.4 * (step // 75) * torch.randn_like(images)
        optimizer.zero_grad()
        loss = criterion(model(noisy), labels)
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            with torch.no_grad():
                errors.append((model(x).argmax(1) != y).float().mean().item())
            print(f"step {step}: loss {loss.item():.4f}, {errors[-1]:.1%} wrong")
    return errors


def early_stopping():
    """Ends after three epochs without a better validation loss."""
    torch.manual_seed(118)
    x, y = _tensors(data.measurements())
    y = y[:, None]
    model = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Dropout(0.1), nn.Linear(24, 1))
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses, best, patience = [], math.inf, 0
    loader = DataLoader(TensorDataset(x[100:], y[100:]), 16, shuffle=True)
    for epoch in range(40):
        model.train()
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = criterion(model(inputs), targets)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            validation = criterion(model(x[:100]), y[:100]).item()
        print(f"epoch {epoch}: validation loss {validation:.4f}")
        patience = 0 if validation < best else patience + 1
        best = min(best, validation)
        if patience == 3:
            break
    return losses


def cyclic_rates():
    torch.manual_seed(119)
    model = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CyclicLR(optimizer, 1e-3, 0.1, step_size_up=40)
    return _fit(model, _batches(data.digits(), 64), 320, optimizer, schedule)


def loss_below_zero():
    """The negative log-likelihood of a narrow density."""
    torch.manual_seed(120)
    x = torch.rand(1000, 1) * 6 - 3
    y = 0.3 * torch.sin(x) + 0.02 * torch.randn_like(x)
    model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for step, (inputs, targets) in zip(range(350), _batches([x, y], 64), strict=False):
        mean, log_scale = model(inputs).chunk(2, 1)
        loss = (((targets - mean) / log_scale.exp()) ** 2 / 2 + log_scale).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 50 == 0:
            print(f"step {step}: loss {losses[-1]:.4f}")
    return losses


class TwoTasks(nn.Module):
    """One body with a head for the digit and one for the share of ink."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 48), nn.ReLU())
        self.digit, self.ink = nn.Linear(48, 10), nn.Linear(48, 1)

    def forward(self, x):
        hidden = self.body(x)
        return self.digit(hidden), self.ink(hidden).squeeze(1)


def multi_task():
    torch.manual_seed(121)
    x, y = _tensors(data.digits())
    ink = (x.mean(1) - x.mean()) / x.mean(1).std()
    model = TwoTasks()
    classify, measure = nn.CrossEntropyLoss(), nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    for step, (images, labels, inks) in zip(
        range(260), _batches([x, y, ink], 64), strict=False
    ):  # fmt: skip
        digit_scores, ink_guess = model(images)
        loss = classify(digit_scores, labels) + 0.5 * measure(ink_guess, inks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 50 == 0:
            print(f"step {step}: loss {losses[-1]:.4f}")
    return losses


if __name__ == "__main__":
    launch.run_named(globals())
