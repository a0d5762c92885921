"""Trains on handwritten digits with one corrupted batch and a rule inside the step.

The rule finds NaN in the gradients before the optimizer uses them, and that one update is skipped.
With --unwatched there is no rule, and NaN spreads through the network.
"""

import argparse

import torch
from torch import nn
from train import digits, net_of

import smdebug.pytorch as smd

SPOILED_STEP = 40
STEPS = 120


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out_dir")
    parser.add_argument("--unwatched", action="store_true")
    options = parser.parse_args()

    torch.manual_seed(7)
    train_x, train_y, test_x, test_y = digits()
    net = net_of(nn.ReLU, depth=2, width=128)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(net.parameters())

    hook = None
    if not options.unwatched:
        hook = smd.Hook(
            options.out_dir,
            save_config=smd.SaveConfig(save_interval=1),
            rules=["ExplodingTensor"],
            on_fire="skip_step",
        )
        hook.register_module(net)
        hook.register_loss(criterion)

    for step in range(STEPS):
        batch = torch.randint(len(train_y), (64,))
        x = train_x[batch]
        if step == SPOILED_STEP:
            x[0, 0] = float("nan")  # an image that was not read correctly
        optimizer.zero_grad()
        criterion(net(x), train_y[batch]).backward()
        optimizer.step()

    if hook:
        hook.close()
        print(f"updates skipped: {hook.skipped_steps}")
        print(hook.verdicts()[0]["message"])
    with torch.no_grad():
        accuracy = (net(test_x).argmax(1) == test_y).float().mean().item()
    print(f"accuracy after {STEPS} steps: {accuracy:.1%}")


if __name__ == "__main__":
    main()
