"""Predicts the progression of diabetes (scikit-learn's data) with a small network.

The bug: the network returns one column, shape (N, 1), and the targets have shape (N,). The
difference has shape (N, N), so that every prediction is compared with every target. With
--repaired, the column is squeezed.
"""

import sys
import warnings

import torch
from sklearn.datasets import load_diabetes
from torch import nn

# As in many logs, the warning of torch about the shapes is not seen.
warnings.filterwarnings("ignore")


def main() -> None:
    torch.manual_seed(0)
    features, progression = load_diabetes(return_X_y=True, scaled=False)
    features = torch.tensor(features, dtype=torch.float32)
    features = (features - features.mean(0)) / features.std(0)
    targets = torch.tensor(progression, dtype=torch.float32)
    targets = (targets - targets.mean()) / targets.std()
    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(20):
        for batch in torch.randperm(len(targets)).split(32):
            predicted = model(features[batch])
            if "--repaired" in sys.argv:
                predicted = predicted.squeeze(1)
            loss = nn.functional.mse_loss(predicted, targets[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 5 == 4:
            print(f"epoch {epoch}: loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
