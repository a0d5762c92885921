"""Fine-tunes a frozen network on other classes with a new head.

The first training learns the digits 0 to 4. The second reuses its layers for the digits 5 to 9.
The bug: the optimizer is created before the head is replaced, and updates the head that is no
longer used. With --repaired, the optimizer is created afterward.
"""

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn


def train(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    images: torch.Tensor,
    labels: torch.Tensor,
    epochs: int,
) -> None:
    for epoch in range(epochs):
        for batch in torch.randperm(len(labels)).split(32):
            loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.3f}")


def main() -> None:
    torch.manual_seed(0)
    pixels, digits = load_digits(return_X_y=True)
    images = torch.tensor(pixels, dtype=torch.float32) / 8 - 1
    labels = torch.tensor(digits)
    is_low = labels < 5
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
    model.append(nn.Linear(64, 5))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    train(model, optimizer, images[is_low], labels[is_low], epochs=4)

    print("a new head for the digits 5 to 9")
    model.requires_grad_(False)
    model[-1] = nn.Linear(64, 5)
    if "--repaired" in sys.argv:
        optimizer = torch.optim.Adam(model[-1].parameters(), lr=1e-2)
    train(model, optimizer, images[~is_low], labels[~is_low] - 5, epochs=10)


if __name__ == "__main__":
    main()
