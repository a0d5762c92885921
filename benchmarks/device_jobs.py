#!/usr/bin/env python3
"""The overhead of `smdebug run`, without options, in trainings on an accelerator.

    benchmarks/device_jobs.py [--device TYPE] [--steps N]

Each training runs in a process of its own: bare, and under `smdebug run`, in the interpreter that
runs this program. Figures are milliseconds per step, the lower quartile over blocks of ten steps
from the third block on; the program waits for the device at the end of each block. A language model
with 0.9 million parameters and a convolutional network have steps so short that the processor, not
the device, determines their time; a language model with 217 million parameters is as large as
trainings for which people buy accelerators. The models train in bfloat16 autocast, with AdamW and
SGD.
"""

import argparse
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from torch import nn
from torch.nn import functional

JOBS = ("small language model", "convolutions", "large language model")
BLOCK = 10  # steps
TIME = "milliseconds per step: "


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.projected, self.joined = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.activation = nn.Linear(width, 4 * width), nn.GELU()
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        heads = self.projected(self.norm1(x)).view(batch, length, 3, self.heads, -1)
        attended = functional.scaled_dot_product_attention(
            *heads.permute(2, 0, 3, 1, 4), is_causal=True
        )
        x = x + self.joined(attended.transpose(1, 2).reshape(x.shape))
        return x + self.down(self.activation(self.up(self.norm2(x))))


class LanguageModel(nn.Module):
    def __init__(self, words, width, heads, blocks, length):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        for embedding in (self.words, self.places):
            nn.init.normal_(embedding.weight, std=0.02)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(blocks)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, x):
        places = torch.arange(x.shape[1], device=x.device)
        return self.head(self.norm(self.blocks(self.words(x) + self.places(places))))


def language_model(device, words, width, heads, blocks, length, batch):
    generator = torch.Generator().manual_seed(1)
    successors = torch.randint(0, words, (words,), generator=generator)
    texts = torch.randint(0, words, (8, batch, 1), generator=generator)
    for _ in range(length):
        texts = torch.cat([texts, successors[texts[..., -1:]]], dim=-1)
    texts = texts.to(device)
    model = LanguageModel(words, width, heads, blocks, length).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    return model, optimizer, [(text[:, :-1], text[:, 1:]) for text in texts]


def convolutions(device):
    layers, channels = [], 3
    for width in (64, 128, 256, 512):
        for stride in (2, 1):
            layers += [
                nn.Conv2d(channels, width, 3, stride, 1),
                nn.BatchNorm2d(width),
                nn.ReLU(True),
            ]
            channels = width
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10))
    model = model.to(device)
    generator = torch.Generator().manual_seed(1)
    means = torch.randn(10, 3, 64, 64, generator=generator)
    batches = []
    for _ in range(8):
        y = torch.randint(0, 10, (128,), generator=generator)
        x = means[y] + 0.5 * torch.randn(128, 3, 64, 64, generator=generator)
        batches.append((x.to(device), y.to(device)))
    return model, torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9), batches


def train(job, device, steps):
    torch.manual_seed(0)
    if job == "convolutions":
        model, optimizer, batches = convolutions(device)
    elif job == "small language model":
        model, optimizer, batches = language_model(device, 256, 128, 4, 4, 64, 32)
    else:
        model, optimizer, batches = language_model(device, 32000, 1024, 16, 12, 512, 16)
    loss = nn.CrossEntropyLoss()
    blocks = []
    for _ in range(steps // BLOCK):
        start = time.perf_counter()
        for step in range(BLOCK):
            x, y = batches[step % len(batches)]
            optimizer.zero_grad()
            with torch.autocast(device, torch.bfloat16):
                output = model(x)
                error = loss(output.flatten(0, -2), y.flatten())
            error.backward()
            optimizer.step()
        if device != "cpu":
            torch.accelerator.synchronize()
        blocks.append((time.perf_counter() - start) / BLOCK)
    print(f"{TIME}{1e3 * statistics.quantiles(blocks[2:])[0]}", flush=True)


def milliseconds(launcher, job, device, steps):
    command = [*launcher, sys.executable, __file__, "--device", device, "--steps", str(steps), job]
    done = subprocess.run(command, capture_output=True, text=True)
    found = re.search(f"{TIME}(.*)", done.stdout)
    if found is None:
        raise SystemExit(f"{' '.join(command)}: ended without a figure:\n{done.stderr[-2000:]}")
    return float(found[1])


def recorded_milliseconds(job, device, steps):
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder, "run")
        launcher = [sys.executable, "-m", "smdebug", "run", "--out", str(run), "--"]
        figure = milliseconds(launcher, job, device, steps)
        if not any(run.glob("index/*/*.json")):
            raise SystemExit(
                f"'{job}' was not recorded: smdebug must be installed in a folder whose .pth files "
                "Python reads, such as site-packages"
            )
    return figure


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("job", nargs="?", choices=JOBS, help="train it here, and print its time")
    options = parser.parse_args()
    if options.job:
        train(options.job, options.device, options.steps)
        return 0
    print("| training | bare, ms | `smdebug run`, ms | ratio |\n| --- | ---: | ---: | ---: |")
    for job in JOBS:
        bare = milliseconds([], job, options.device, options.steps)
        watched = recorded_milliseconds(job, options.device, options.steps)
        print(f"| {job} | {bare:.2f} | {watched:.2f} | {watched / bare:.3f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
