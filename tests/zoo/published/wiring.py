"""Updates that do not reach the parameters, or reach them more than once."""

import data
import launch
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def no_zero_grad(faulty):
    torch.manual_seed(1)
    x, y = data.digits()
    loader = DataLoader(TensorDataset(torch.tensor(x), torch.tensor(y)), 64, shuffle=True)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for epoch in range(10):
        for inputs, labels in loader:
            if not faulty:
                optimizer.zero_grad()
            loss = criterion(model(inputs), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch}: loss {losses[-1]:.4f}")
    return losses


def all_frozen(faulty):
    torch.manual_seed(2)
    x, y = data.blobs()
    x, y = torch.tensor(x), torch.tensor(y)
    backbone = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
    model = nn.Sequential(backbone, nn.Linear(32, 3))
    for parameter in (model if faulty else backbone).parameters():
        parameter.requires_grad = False
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for step in range(250):
        batch = torch.randint(len(x), (32,))
        loss = F.cross_entropy(model(x[batch]), y[batch])
        if faulty:
            loss.requires_grad = True  # the usual answer to "does not require grad"
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 50 == 0:
            print(f"step {step}: loss {losses[-1]:.4f}")
    return losses


class ListNetwork(nn.Module):
    """Layers in a list, which torch does not search for parameters."""

    def __init__(self, make_list):
        super().__init__()
        self.hidden = make_list([nn.Linear(2, 24), nn.Linear(24, 24)])
        self.head = nn.Linear(24, 2)

    def forward(self, x):
        for layer in self.hidden:
            x = torch.tanh(layer(x))
        return self.head(x)


def layers_in_list(faulty):
    torch.manual_seed(3)
    x, y = data.moons()
    loader = DataLoader(TensorDataset(torch.tensor(x), torch.tensor(y)), 60, shuffle=True)
    model = ListNetwork(list if faulty else nn.ModuleList)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    for epoch in range(15):
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = criterion(model(inputs), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch}: loss {losses[-1]:.4f}")
    return losses


class TwoViews(nn.Module):
    """One encoder per half of the features, and a head over both."""

    def __init__(self):
        super().__init__()
        self.left = nn.Sequential(nn.Linear(32, 32), nn.ReLU())
        self.right = nn.Sequential(nn.Linear(32, 32), nn.ReLU())
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        return self.head(torch.cat([self.left(x[:, :32]), self.right(x[:, 32:])], dim=1))


def group_not_appended(faulty):
    torch.manual_seed(4)
    x, y = data.digits()
    loader = DataLoader(TensorDataset(torch.tensor(x), torch.tensor(y)), 64, shuffle=True)
    model = TwoViews()
    groups = [{"params": model.head.parameters(), "lr": 1e-2}]
    views = {"lr": 1e-3, "params": []}
    for name, parameter in model.named_parameters():
        if not name.startswith("head"):
            views["params"].append(parameter)
    if not faulty:
        groups.append(views)
    optimizer = torch.optim.AdamW(groups)
    losses = []
    for epoch in range(8):
        for inputs, labels in loader:
            loss = F.cross_entropy(model(inputs), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch}: loss {losses[-1]:.4f}")
    return losses


def model_built_twice(faulty):
    torch.manual_seed(5)
    x, size = data.windows(20)
    x = torch.tensor(x)

    class Letters(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(size, 24)
            self.gru = nn.GRU(24, 48, batch_first=True)
            self.decoder = nn.Linear(48, size)

        def forward(self, letters):
            return self.decoder(self.gru(self.embedding(letters))[0])

    model = Letters()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    if faulty:
        model = Letters()
    criterion = nn.CrossEntropyLoss()
    losses = []
    for step in range(220):
        batch = x[torch.randint(len(x), (32,))]
        logits = model(batch[:, :-1])
        loss = criterion(logits.reshape(-1, size), batch[:, 1:].reshape(-1))
        model.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 40 == 0:
            print(f"step {step}: loss {losses[-1]:.4f}")
    return losses


class Captioner(nn.Module):
    """An image encoder, and a head that must not train through it in the faulty case."""

    def __init__(self, is_detached):
        super().__init__()
        self.is_detached = is_detached
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(128, 16), nn.Tanh(),
        )  # fmt: skip
        self.decoder = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 10))

    def forward(self, images):
        features = self.encoder(images)
        if self.is_detached:
            features = features.detach()
        return self.decoder(features)


def encoder_detached(faulty):
    torch.manual_seed(6)
    x, y = data.digit_images()
    loader = DataLoader(TensorDataset(torch.tensor(x), torch.tensor(y)), 64, shuffle=True)
    model = Captioner(faulty)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    for epoch in range(8):
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = criterion(model(inputs), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch}: loss {losses[-1]:.4f}")
    return losses


def updates_stop_after_freeze(faulty):
    """The head is fitted alone for a while; then the body must train again."""
    torch.manual_seed(7)
    x, y = data.moons()
    x, y = torch.tensor(x), torch.tensor(y)
    body = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
    model = nn.Sequential(body, nn.Linear(32, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    for step in range(300):
        if step == 40:
            body.requires_grad_(False)
        if step == 60 and not faulty:
            body.requires_grad_(True)
        batch = torch.randint(len(x), (48,))
        loss = F.cross_entropy(model(x[batch]), y[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 50 == 0:
            print(f"step {step}: loss {losses[-1]:.4f}")
    return losses


class Flattened(nn.Module):
    """Two layers whose parameters are views of one flat parameter, as sharded trainers have."""

    def __init__(self, layers):
        super().__init__()
        self.shapes = [parameter.shape for parameter in layers.parameters()]
        self.flat = nn.Parameter(torch.cat([p.detach().flatten() for p in layers.parameters()]))

    def forward(self, x):
        parts = self.flat.split([shape.numel() for shape in self.shapes])
        w1, b1, w2, b2 = (part.view(shape) for part, shape in zip(parts, self.shapes, strict=True))
        return F.linear(torch.tanh(F.linear(x, w1, b1)), w2, b2)


def flattened_after_optimizer(faulty):
    torch.manual_seed(8)
    x, y = data.measurements()
    x, y = torch.tensor(x), torch.tensor(y)[:, None]
    layers = nn.Sequential(nn.Linear(10, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(layers.parameters(), lr=1e-2)
    model = Flattened(layers)
    if not faulty:
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for step in range(260):
        batch = torch.randint(len(x), (64,))
        loss = F.mse_loss(model(x[batch]), y[batch])
        model.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 50 == 0:
            print(f"step {step}: loss {losses[-1]:.4f}")
    return losses


def zero_weights(faulty):
    torch.manual_seed(9)
    x, y = data.digits()
    loader = DataLoader(TensorDataset(torch.tensor(x), torch.tensor(y)), 64, shuffle=True)
    model = nn.Sequential(
        nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 10)
    )
    if faulty:
        for parameter in model.parameters():
            nn.init.zeros_(parameter)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for epoch in range(9):
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = criterion(model(inputs), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch}: loss {losses[-1]:.4f}")
    return losses


if __name__ == "__main__":
    launch.run_named(globals())
