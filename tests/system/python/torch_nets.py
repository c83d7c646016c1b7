# SPDX-License-Identifier: Apache-2.0
"""Small networks in PyTorch, forward and backward, for test_torch.py: torch_nets.py mlp|conv|attention|optimizer|threads [STEPS]
[flops]. With `flops` it prints what torch.utils.flop_counter counts for a step (torch 2.1 or later)."""

import sys
import threading

import torch
from torch import nn
from torch.nn import functional


def mlp():
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 10))
    x, y = torch.randn(8, 32), torch.randint(0, 10, (8,))
    return lambda: functional.cross_entropy(model(x), y)


def conv():
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 8, 3, groups=2), nn.MaxPool2d(2)
    )
    x = torch.randn(2, 3, 16, 16)
    return lambda: model(x).sum()


def attention():
    q, k, v = (torch.randn(2, 4, 16, 8, requires_grad=True) for _ in range(3))
    return lambda: functional.scaled_dot_product_attention(q, k, v, is_causal=True).sum()


def threads():
    def work():
        with torch.no_grad():
            for _ in range(20):
                torch.mm(torch.ones(8, 8), torch.ones(8, 8))

    def loss():
        workers = [threading.Thread(target=work) for _ in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return torch.ones(1, requires_grad=True) * 2

    return loss


def optimizer():
    model = nn.Linear(8, 8)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)

    def loss():
        sgd.step()
        sgd.zero_grad()
        return model(torch.ones(4, 8)).sum()

    return loss


def sizes():
    """More descriptions than the observer keeps, and lists that differ beyond the tensors that are listed."""

    def loss():
        for size in range(9000):
            torch.empty(size)
        same = [torch.ones(2, 2)] * 8
        for more in (torch.ones(2, 2), torch.ones(3, 2), torch.ones(2, 2, dtype=torch.float64)):
            torch.cat(same + [more] * 2)
        return torch.ones(1, requires_grad=True) * 2

    return loss


def main(words):
    torch.manual_seed(1)
    torch.set_num_threads(1)
    loss = {"mlp": mlp, "conv": conv, "attention": attention, "threads": threads, "sizes": sizes, "optimizer": optimizer}[words[0]]()
    steps = int(words[1]) if len(words) > 1 else 1
    if "flops" in words:
        from torch.utils.flop_counter import FlopCounterMode

        with FlopCounterMode(display=False) as counter:
            loss().backward()
        print(counter.get_total_flops())
        return
    for number in range(steps):
        if hasattr(torch.profiler, "record_function"):
            with torch.profiler.record_function("step %d" % number):
                loss().backward()
        else:
            loss().backward()
    print("done")


if __name__ == "__main__":
    main(sys.argv[1:])
