"""Trainings in the wrong mode, in the wrong order, or with the wrong schedule."""

import data
import launch
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def _network():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.3), nn.Linear(128, 10),
    )  # fmt: skip


def stays_in_evaluation(faulty):
    torch.manual_seed(21)
    x, y = (torch.tensor(array) for array in data.digit_images())
    loader = DataLoader(TensorDataset(x[360:], y[360:]), 64, shuffle=True)
    model = _network()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    losses = []
    model.train()
    for epoch in range(10):
        if not faulty:
            model.train()
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = criterion(model(inputs), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            accuracy = (model(x[:360]).argmax(1) == y[:360]).float().mean()
        print(f"epoch {epoch}: loss {losses[-1]:.4f}, accuracy {accuracy:.1%}")
    return losses


def not_shuffled(faulty):
    """The folder of images is sorted by class. Returns the errors on other images."""
    torch.manual_seed(22)
    x, y = (torch.tensor(array) for array in data.digit_images())
    test_x, test_y, x, y = x[:360], y[:360], x[360:], y[360:]
    order = torch.argsort(y, stable=True)
    loader = DataLoader(TensorDataset(x[order], y[order]), 48, shuffle=not faulty)
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 10)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    errors = []
    for epoch in range(10):
        model.train()
        for inputs, labels in loader:
            loss = F.cross_entropy(model(inputs), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            errors.append((model(test_x).argmax(1) != test_y).float().mean().item())
        print(f"epoch {epoch}: loss {loss.item():.4f}, {errors[-1]:.1%} wrong")
    return errors


def scheduler_in_batch_loop(faulty):
    torch.manual_seed(23)
    x, y = (torch.tensor(array) for array in data.digit_images())
    loader = DataLoader(TensorDataset(x, y), 64, shuffle=True)
    model = _network()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.7)
    losses = []
    for epoch in range(10):
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = criterion(model(inputs), labels)
            loss.backward()
            optimizer.step()
            if faulty:
                scheduler.step()
            losses.append(loss.item())
        if not faulty:
            scheduler.step()
        print(f"epoch {epoch}: loss {losses[-1]:.4f}")
    return losses


if __name__ == "__main__":
    launch.run_named(globals())
