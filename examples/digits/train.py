"""Trains a small network on scikit-learn's handwritten digits.

An ordinary PyTorch script that does not use smdebug.
With --planted-fault the network is a deep stack of sigmoids, in which the
gradient vanishes on its way back to the first layers.
"""

import argparse

import torch
from sklearn.datasets import load_digits
from torch import nn


def net_of(activation: type[nn.Module], depth: int, width: int = 512) -> nn.Module:
    layers = [nn.Linear(64, width), activation()]
    for _ in range(depth - 1):
        layers += [nn.Linear(width, width), activation()]
    return nn.Sequential(*layers, nn.Linear(width, 10))


def digits() -> tuple[torch.Tensor, ...]:
    pixels, labels = load_digits(return_X_y=True)
    pixels = torch.tensor(pixels, dtype=torch.float32) / 16
    labels = torch.tensor(labels)
    order = torch.randperm(len(labels))
    test, train = order[:360], order[360:]
    return pixels[train], labels[train], pixels[test], labels[test]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--planted-fault", action="store_true")
    parser.add_argument("--epochs", type=int, default=25)
    parser.add_argument("--batch-size", type=int, default=240)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    train_x, train_y, test_x, test_y = digits()
    net = net_of(nn.Sigmoid, depth=12) if options.planted_fault else net_of(nn.ReLU, depth=3)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    for epoch in range(options.epochs):
        net.train()
        for batch in torch.randperm(len(train_y)).split(options.batch_size):
            optimizer.zero_grad()
            loss = criterion(net(train_x[batch]), train_y[batch])
            loss.backward()
            optimizer.step()

        net.eval()
        with torch.no_grad():
            scores = net(test_x)
            accuracy = (scores.argmax(1) == test_y).float().mean().item()
            test_loss = criterion(scores, test_y).item()
        print(f"epoch {epoch}: test loss {test_loss:.3f}, accuracy {accuracy:.1%}", flush=True)


if __name__ == "__main__":
    main()
