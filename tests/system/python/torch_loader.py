# SPDX-License-Identifier: Apache-2.0
"""A training loop with data-loader processes that says after each step how many it has done, until it is killed or has done
as many as its argument says."""

import sys

import torch
from torch import nn
from torch.nn import functional

BATCH = 4


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 1 << 20

    def __getitem__(self, i):
        return torch.full((32,), float(i % 7))


def main(steps):
    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    loader = torch.utils.data.DataLoader(Numbers(), batch_size=BATCH, num_workers=2)
    targets = torch.arange(BATCH)
    for number, batch in enumerate(loader, 1):
        loss = functional.cross_entropy(model(batch), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print("done", number, flush=True)
        if number == steps:
            break


main(int(sys.argv[1]))
