# SPDX-License-Identifier: Apache-2.0
"""Uses the whole API; with -p only what runs inside a Profiler is recorded."""

import opscope


def inner():
    pass


def outer():
    inner()
    inner()


@opscope.zone("decorated")
def decorated():
    inner()


def suspended():
    with opscope.zone("in generator"):
        yield 1
        inner()
        yield 2


def consume():
    for _ in suspended():
        inner()
    left = suspended()
    next(left)
    return left


class Tensor:
    shape = (2, 3)
    dtype = "torch.bfloat16"


outer()
profiler = opscope.Profiler()
profiler.enable()
profiler.enable()
outer()
profiler.disable()
decorated()
profiler.disable()
profiler.disable()
outer()
with opscope.Profiler():
    left = consume()
with opscope.zone("plain"):
    pass
opscope.signpost("end", "of the run")
opscope.message("a message")
opscope.counter("queue", 3)
opscope.frame()
opscope.frame("step")
with opscope.op("matmul", inputs=[Tensor(), Tensor()], attributes={"fidelity": "HiFi4"}) as call:
    call.output(Tensor())
