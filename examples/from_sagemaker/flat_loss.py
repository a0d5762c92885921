"""A training whose learning rate is 0 by mistake, so that its loss does not fall."""

import torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
loss_fn = torch.nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
x = torch.randn(64, 4)
y = x.sum(dim=1, keepdim=True)

for _ in range(100_000):
    loss = loss_fn(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("trained to the end")
