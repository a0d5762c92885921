"""Losses that are given something else than they expect."""

import data
import launch
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ProbabilityHead(nn.Module):
    """Returns class scores, or in the faulty case already probabilities."""

    def __init__(self, has_softmax):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 10))
        self.has_softmax = has_softmax

    def forward(self, x):
        scores = self.body(x)
        return torch.softmax(scores, dim=1) if self.has_softmax else scores


def softmax_twice(faulty):
    torch.manual_seed(11)
    x, y = data.digits()
    loader = DataLoader(TensorDataset(torch.tensor(x), torch.tensor(y)), 64, shuffle=True)
    model = ProbabilityHead(has_softmax=faulty)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for epoch in range(10):
        for inputs, labels in loader:
            loss = F.cross_entropy(model(inputs), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch}: loss {losses[-1]:.4f}")
    return losses


def target_broadcast(faulty):
    torch.manual_seed(12)
    x, y = data.houses()
    y = (y - y.mean()) / y.std()
    loader = DataLoader(TensorDataset(torch.tensor(x), torch.tensor(y)), 50, shuffle=True)
    model = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 1))
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    for epoch in range(15):
        for inputs, prices in loader:
            predictions = model(inputs)
            if not faulty:
                predictions = predictions.squeeze(1)
            loss = criterion(predictions, prices)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch}: loss {losses[-1]:.4f}")
    return losses


def norm_of_zero(faulty):
    """Pairs of images, similar ones close together; some pairs are twice the same image."""
    torch.manual_seed(13)
    x, y = (torch.tensor(array) for array in data.digits())
    encoder = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 8))
    optimizer = torch.optim.Adam(encoder.parameters(), lr=3e-3)
    losses = []
    for step in range(260):
        left = torch.randint(len(x), (64,))
        right = torch.randint(len(x), (64,))
        if step >= 30:  # a pair that occurs now and then in any large set
            right[0] = left[0]
        same = (y[left] == y[right]).float()
        square = (encoder(x[left]) - encoder(x[right])).pow(2).sum(1)
        distance = square.sqrt() if faulty else (square + 1e-6).sqrt()
        loss = (same * distance.pow(2) + (1 - same) * F.relu(2 - distance).pow(2)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 50 == 0:
            print(f"step {step}: loss {losses[-1]:.4f}")
    return losses


class Answers(nn.Module):
    """A small language model over letters."""

    def __init__(self, size, width=32):
        super().__init__()
        self.embedding = nn.Embedding(size, width)
        self.gru = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, size)

    def forward(self, letters):
        return self.head(self.gru(self.embedding(letters))[0])


def _fine_tune(labels_of, steps=200):
    """Questions of 24 letters and answers of 8; only the answers count."""
    x, size = data.windows(32)
    x = torch.tensor(x)
    model = Answers(size)
    criterion = nn.CrossEntropyLoss(ignore_index=-100)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    losses = []
    for step in range(steps):
        batch = x[torch.randint(len(x), (32,))]
        inputs, labels = labels_of(batch)
        loss = criterion(model(inputs[:, :-1]).flatten(0, 1), labels[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        if step % 40 == 0:
            print(f"step {step}: loss {losses[-1]:.4f}")
    return losses


def all_labels_ignored(faulty):
    """The mask of the prompt covers the answers too."""
    torch.manual_seed(14)

    def labels_of(batch):
        labels = batch.clone()
        labels[:, : 32 if faulty else 24] = -100
        return batch, labels

    return _fine_tune(labels_of)


def answers_truncated(faulty):
    """Sequences are cut to a length at which the question alone fills them."""
    torch.manual_seed(15)

    def labels_of(batch):
        labels = batch.clone()
        labels[:, :24] = -100
        length = 24 if faulty else 32
        return batch[:, :length], labels[:, :length]

    return _fine_tune(labels_of)


def labels_shifted_twice(faulty):
    """Returns how often the model is wrong about the next letter."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(16)
    x, size = data.windows(25)
    x = torch.tensor(x)
    config = GPT2Config(
        vocab_size=size, n_positions=24, n_embd=48, n_layer=1, n_head=2, bos_token_id=0,
        eos_token_id=0,
    )  # fmt: skip
    model = GPT2LMHeadModel(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    errors = []
    for step in range(200):
        batch = x[torch.randint(len(x), (24,))]
        inputs = batch[:, :-1]
        output = model(input_ids=inputs, labels=batch[:, 1:] if faulty else inputs)
        optimizer.zero_grad()
        output.loss.backward()
        optimizer.step()
        wrong = output.logits.argmax(-1)[:, :-1] != inputs[:, 1:]
        errors.append(wrong.float().mean().item())
        if step % 40 == 0:
            print(f"step {step}: loss {output.loss.item():.4f}")
    return errors


if __name__ == "__main__":
    launch.run_named(globals())
