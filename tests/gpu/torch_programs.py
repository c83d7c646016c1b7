# SPDX-License-Identifier: Apache-2.0
"""What the tests of PyTorch on a GPU record:

    torch_programs.py block eager|graph [flops|profiler]      a transformer block, forward and backward
    torch_programs.py train [STEPS] [toggle|pause|kernels|floor] [large]    a GPT with data-loader processes

Each prints a line of JSON. With `flops` it prints what torch.utils.flop_counter counts for a step, with `profiler` the
kernels and their time that torch.profiler sees. With `toggle` the observer of ops is off in every second group of steps,
with `pause` recording is paused besides: what they cost, in one process; with `kernels` it is paused, and there is no observer;
with `floor` it is one that does nothing.
The GPT is so small that the host takes the time, or, with `large`, as large as GPT-2 (124 M
parameters, batches of 16 x 1,024, bfloat16)."""

import json
import os
import sys
import tempfile
import time

import torch
from torch import nn
from torch.nn import functional

STEPS = 30


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.qkv(self.first(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.project(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(functional.gelu(self.up(self.second(x))))


def block(how):
    """A function that does one step."""
    torch.manual_seed(1)
    model = Block(768, 12).cuda().to(torch.bfloat16)
    x = torch.randn(8, 512, 768, device="cuda", dtype=torch.bfloat16, requires_grad=True)

    def step():
        for parameter in [x, *model.parameters()]:
            parameter.grad = None
        model(x).sum().backward()

    if how == "eager":
        return step
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def run_block(how):
    step = block(how)
    for _ in range(STEPS):
        step()
    torch.cuda.synchronize()
    return {"steps": STEPS}


def count_flops():
    from torch.utils.flop_counter import FlopCounterMode

    step = block("eager")
    with FlopCounterMode(display=False) as counter:
        step()
    found = {str(op): flops for op, flops in counter.get_flop_counts()["Global"].items()}
    return {"flops": counter.get_total_flops(), "by_op": found, "torch": torch.__version__}


def see_with_profiler(how):
    from torch.profiler import ProfilerActivity, profile

    torch.cuda.init()
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        run_block(how)
    events = [e for e in profiler.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    kernels = [e for e in events if not e.name.startswith(("Memcpy", "Memset"))]
    time_us = sum(getattr(e, "device_time_total", getattr(e, "cuda_time_total", 0)) for e in kernels)
    return {"kernels": len(kernels), "us": time_us, "others": len(events) - len(kernels)}


class Text(torch.utils.data.Dataset):
    def __init__(self, words, length):
        self.words, self.length = words, length

    def __len__(self):
        return 1 << 20

    def __getitem__(self, i):
        generator = torch.Generator().manual_seed(i)
        tokens = torch.randint(0, self.words, (self.length + 1,), generator=generator)
        return tokens[:-1], tokens[1:]


class Gpt(nn.Module):
    def __init__(self, width=256, layers=8, heads=8, words=1024, length=64):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens):
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for inner in self.blocks:
            x = inner(x)
        return self.head(self.norm(x))


class Toggle:
    """The observer, or everything, is on in five steps, off in five, and so on."""

    def __init__(self, words):
        self.package = self.change = None
        self.is_on = True
        if "toggle" in words or "pause" in words:
            observer = sys.modules["opscope._torch"].observer
            self.change = (observer.opscope_torch_stop, observer.opscope_torch_start)
        if "kernels" in words:
            self.change = (lambda: None, lambda: None)
        if "pause" in words or "kernels" in words:
            import opscope

            self.package = opscope
        if "floor" in words:
            observer = self.floor()
            self.change = (observer.torch_floor_stop, observer.torch_floor_start)
            observer.torch_floor_start()

    def floor(self):
        sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
        from torch_workload import build_floor

        return build_floor(tempfile.mkdtemp())

    def before(self, number):
        if self.change is None or number % 5:
            return
        self.is_on = not self.is_on
        if self.package:
            (self.package.resume if self.is_on else self.package.pause)()
        self.change[self.is_on]()


def middle(values):
    return sorted(values)[len(values) // 2] * 1e6 if values else None


def make_training(is_large):
    """(model, optimizer, loader, what to compute in)"""
    torch.manual_seed(1)
    words, length = (50304, 1024) if is_large else (1024, 64)
    model = (Gpt(768, 12, 12, words, length) if is_large else Gpt()).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=is_large)
    size = 16 if is_large else 8
    loader = torch.utils.data.DataLoader(Text(words, length), batch_size=size, num_workers=2, pin_memory=True)
    return model, optimizer, loader, torch.autocast("cuda", torch.bfloat16, enabled=is_large)


def train(steps, words):
    toggle, off = Toggle(words), []
    model, optimizer, loader, precision = make_training("large" in words)
    took = []
    for number, (tokens, targets) in enumerate(loader):
        toggle.before(number)
        begin = time.perf_counter()
        tokens, targets = tokens.cuda(non_blocking=True), targets.cuda(non_blocking=True)
        with precision:
            loss = functional.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
        if number >= 20 and number % 5:
            (took if toggle.is_on else off).append(time.perf_counter() - begin)
        print("synchronised %d" % (number + 1), flush=True)
        if number + 1 == steps:
            break
    return {"steps": steps, "step_us": middle(took), "off_us": middle(off), "torch": torch.__version__}


def main(words):
    if words[0] == "train":
        return train(int(words[1]) if len(words) > 1 else 60, words[2:])
    if "flops" in words:
        return count_flops()
    return see_with_profiler(words[1]) if "profiler" in words else run_block(words[1])


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1:])))
