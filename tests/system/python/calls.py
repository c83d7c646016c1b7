# SPDX-License-Identifier: Apache-2.0
"""A known number of calls of each kind: plain, generators, exceptions, coroutines, threads, methods."""

import asyncio
import threading


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def count_to(n):
    for i in range(n):
        yield i


def raises(n):
    if n == 0:
        raise ValueError("from below")
    raises(n - 1)


def catches():
    try:
        raises(4)
    except ValueError:
        return True


def thrown_into():
    try:
        yield 1
    except KeyError:
        yield 2


async def child(n):
    await asyncio.sleep(0)
    return n


async def parent():
    return await child(1) + await child(2)


class Model:
    def forward(self):
        return fib(1)


def in_thread():
    fib(5)


fib(10)
for _ in count_to(3):
    pass
late = count_to(3)
next(late)
late.close()
for _ in range(5):
    catches()
generator = thrown_into()
next(generator)
generator.throw(KeyError)
generator.close()
asyncio.run(parent())
Model().forward()
thread = threading.Thread(target=in_thread, name="a worker")
thread.start()
thread.join()
