# SPDX-License-Identifier: Apache-2.0
"""A training step of many small ops on the CPU, with and without opscope's observer in turn, and with one that does nothing
(torch_floor.cpp). To be run by opscope run; prints the CPU time per op of the program itself, in ns: NAME VALUE for each
round.

    torch_workload.py ROUNDS FOLDER       FOLDER: for the observer that does nothing"""

import ctypes
import os
import subprocess
import sys
import time

import torch
from opscope import _torch
from torch.nn import functional

SIZE, HEADS, LAYERS, WORDS, LENGTH, STEPS = 16, 2, 4, 64, 8, 3


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.LayerNorm(SIZE), torch.nn.LayerNorm(SIZE)
        self.mix, self.out = torch.nn.Linear(SIZE, 3 * SIZE), torch.nn.Linear(SIZE, SIZE)
        self.up, self.down = torch.nn.Linear(SIZE, 4 * SIZE), torch.nn.Linear(4 * SIZE, SIZE)

    def forward(self, x):
        q, k, v = self.mix(self.first(x)).view(1, LENGTH, 3, HEADS, SIZE // HEADS).permute(2, 0, 3, 1, 4)
        seen = functional.softmax((q @ k.transpose(-1, -2)) * 0.35, -1) @ v
        x = x + self.out(seen.transpose(1, 2).reshape(1, LENGTH, SIZE))
        return x + self.down(functional.gelu(self.up(self.second(x))))


def ops_of(step):
    with torch.autograd.profiler.profile() as profile:
        step()
    return len(profile.function_events)


def build_floor(folder):
    """As opscope's own observer is built: None without a compiler."""
    package, output = os.path.dirname(os.path.abspath(torch.__file__)), os.path.join(folder, "torch_floor.so")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_floor.cpp")
    for standard in _torch.STANDARDS:
        command = _torch.command_of(torch, package, standard, output)
        command = [source if word.endswith("torch.cpp") else word for word in command]
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            return ctypes.CDLL(output)
    return None


def main(rounds, folder):
    torch.set_num_threads(1)
    layers = [torch.nn.Embedding(WORDS, SIZE), *(Block() for _ in range(LAYERS)), torch.nn.Linear(SIZE, WORDS)]
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    words = torch.randint(0, WORDS, (1, LENGTH))

    def step():
        optimizer.zero_grad()
        functional.cross_entropy(model(words).view(-1, WORDS), words.view(-1)).backward()
        optimizer.step()

    def nothing():
        pass

    observer = _torch.observer
    observer.opscope_torch_stop()
    ops = ops_of(step)
    modes = [("bare", nothing, nothing), ("observed", observer.opscope_torch_start, observer.opscope_torch_stop)]
    floor = build_floor(folder)
    if floor:
        modes.append(("floor", floor.torch_floor_start, floor.torch_floor_stop))
    for _ in range(rounds):
        for name, begin, end in modes:
            begin()
            step()
            start = time.process_time_ns()
            for _ in range(STEPS):
                step()
            print(name, (time.process_time_ns() - start) / STEPS / ops)
            end()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
