"""Classifies scikit-learn's handwritten digits with a convolutional network.

The bug: the network ends in a softmax, and nn.CrossEntropyLoss applies one of its own. The loss
cannot fall below 1.46. With --repaired, the network returns its scores.
"""

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn


class Net(nn.Module):
    def __init__(self, ends_in_softmax: bool) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
        )
        self.classifier = nn.Linear(16 * 4 * 4, 10)
        self.ends_in_softmax = ends_in_softmax

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        scores = self.classifier(self.features(images))
        return scores.softmax(1) if self.ends_in_softmax else scores


def main() -> None:
    torch.manual_seed(0)
    pixels, labels = load_digits(return_X_y=True)
    images = torch.tensor(pixels, dtype=torch.float32).view(-1, 1, 8, 8)
    images = (images - images.mean()) / images.std()
    data = torch.utils.data.TensorDataset(images, torch.tensor(labels))
    model = Net(ends_in_softmax="--repaired" not in sys.argv)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(6):
        for inputs, targets in torch.utils.data.DataLoader(data, batch_size=64, shuffle=True):
            optimizer.zero_grad()
            loss = loss_fn(model(inputs), targets)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
