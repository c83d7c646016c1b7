# SPDX-License-Identifier: Apache-2.0
"""How often `opscope check` is right about real runs: pairs of one program, and of it and one whose step takes several
times as long. Not a test: what else the machine does decides how hard it is.

    bench/check_pairs.py [--build build] [--pairs 10] [--steps 60]

The program is a small model that PyTorch trains on the CPU; made slower, each of its four layers also sorts its
activations and sums them up. Its import takes longer than all of its steps."""

import argparse
import os
import subprocess
import sys
import tempfile

BATCH, LENGTH, WIDTH, LAYERS = 8, 8192, 4, 4


def train(is_slow, steps, workers):
    import torch
    from torch import nn

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.up = nn.Linear(WIDTH, WIDTH)
            self.down = nn.Linear(WIDTH, WIDTH)

        def forward(self, x):
            if is_slow:
                x = x + 1e-6 * torch.cumsum(torch.sort(x, dim=1).values, dim=1)
            return x + self.down(torch.relu(self.up(x)))

    class Rows(torch.utils.data.Dataset):
        def __init__(self):
            self.x = torch.randn(64, LENGTH, WIDTH)

        def __len__(self):
            return steps * BATCH

        def __getitem__(self, i):
            return self.x[i % 64], self.x[i % 64, :, :1]

    torch.manual_seed(0)
    model = nn.Sequential(*(Layer() for _ in range(LAYERS)), nn.Linear(WIDTH, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for x, y in torch.utils.data.DataLoader(Rows(), batch_size=BATCH, num_workers=workers):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def record(opscope, path, kind, options):
    program = [sys.executable, os.path.abspath(__file__), "--train", kind, "--steps", str(options.steps), "--workers", str(options.workers)]
    subprocess.run([opscope, "run", "-o", path, "--", *program], check=True, capture_output=True)
    return path


def check(opscope, baseline, path):
    done = subprocess.run([opscope, "check", "--no-config", "-b", baseline, path], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    print("  " + done.stdout.splitlines()[1])
    return done.returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--train", choices=("as-before", "slower"), help="be the program")
    options = parser.parse_args()
    if options.train:
        train(options.train == "slower", options.steps, options.workers)
        return
    opscope, passed, failed = os.path.abspath(os.path.join(options.build, "opscope")), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for i in range(options.pairs):
            a, b, c = (record(opscope, os.path.join(folder, f"{name}{i}.opscope"), kind, options)
                       for name, kind in (("a", "as-before"), ("b", "as-before"), ("c", "slower")))
            passed += check(opscope, a, b) == 0
            failed += check(opscope, b, c) == 1
    print(f"unchanged: {passed} of {options.pairs} passed; slower: {failed} of {options.pairs} failed")


if __name__ == "__main__":
    main()
