"""PyTorch's side of tests/bench: trains the convnet or ResNet-50 and answers on stdout with the seconds of each step.

    peer_torch.py convnet|resnet50 BATCH THREADS RANKS STEPS [compile]

With RANKS > 1 it starts them itself (DistributedDataParallel over gloo). For every line on stdin it runs STEPS steps
and prints them as a JSON list; the first answer ("ready", seconds since the start, peak memory) comes after one step.
"""

import json
import os
import resource
import subprocess
import sys
import time

START = time.monotonic()
import torch  # noqa: E402  (its import is part of the start-up that is measured)
from torch import nn  # noqa: E402


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.path = nn.Sequential(
            nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width))
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != 4 * width:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width))

    def forward(self, x):
        return torch.relu(self.path(x) + self.shortcut(x))


def convnet():
    return nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1600, 128), nn.ReLU(), nn.Linear(128, 10))


def resnet50():
    blocks, inputs = [], 64
    for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for index in range(count):
            blocks.append(Bottleneck(inputs, width, stride if index == 0 else 1))
            inputs = 4 * width
    return nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
                         *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


def serve(name, batch, threads, rank, ranks, steps, compiled):
    torch.set_num_threads(threads)
    if ranks > 1:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29577", RANK=str(rank), WORLD_SIZE=str(ranks))
        torch.distributed.init_process_group("gloo")
    model = {"convnet": convnet, "resnet50": resnet50}[name]().to(memory_format=torch.channels_last)
    if ranks > 1:
        model = nn.parallel.DistributedDataParallel(model)
    if compiled:
        model = torch.compile(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    shape, classes = ((1, 28, 28), 10) if name == "convnet" else ((3, 224, 224), 1000)
    local = batch // ranks
    images = torch.rand(4 * local, *shape).contiguous(memory_format=torch.channels_last)
    labels = torch.randint(0, classes, (4 * local,))

    def step(index):
        begin = (index % 4) * local
        start = time.monotonic()
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images[begin:begin + local]), labels[begin:begin + local])
        loss.backward()
        optimizer.step()
        return time.monotonic() - start

    step(0)
    if rank == 0:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"ready": time.monotonic() - START, "peak_mb": peak}), flush=True)
    go = torch.zeros(1)
    while True:
        if rank == 0:
            go[0] = 1.0 if sys.stdin.readline() else 0.0
        if ranks > 1:
            torch.distributed.broadcast(go, 0)
        if not go[0]:
            return
        seconds = [step(index) for index in range(steps)]
        if rank == 0:
            print(json.dumps(seconds), flush=True)


def start_other_ranks(ranks):
    """Rank 0 starts the others; they end when it broadcasts the end."""
    for rank in range(1, ranks):
        subprocess.Popen([sys.executable, *sys.argv], env=dict(os.environ, STOKER_BENCH_RANK=str(rank)),
                         stdin=subprocess.DEVNULL)


def main():
    name = sys.argv[1]
    batch, threads, ranks, steps = map(int, sys.argv[2:6])
    rank = int(os.environ.get("STOKER_BENCH_RANK", 0))
    if rank == 0:
        start_other_ranks(ranks)
    serve(name, batch, threads, rank, ranks, steps, compiled=sys.argv[6:] == ["compile"])


if __name__ == "__main__":
    main()
