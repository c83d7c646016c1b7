# SPDX-License-Identifier: Apache-2.0
"""A job spread over processes, however they are started: all of them are in one trace.

    opscope run python3 examples/python/workers.py [fork | spawn | forkserver]
    opscope zones --by process -n count_primes workers.opscope
"""

import multiprocessing
import subprocess
import sys

IN_ANOTHER_PROGRAM = """
def report(count):
    print("primes below 4000:", count)
report(int(input()))
"""


def is_prime(n):
    return n > 1 and all(n % i for i in range(2, int(n**0.5) + 1))


def count_primes(bounds):
    return sum(1 for n in range(*bounds) if is_prime(n))


def main(method):
    ranges = [(start, start + 1000) for start in range(0, 4000, 1000)]
    with multiprocessing.get_context(method).Pool(2) as pool:
        count = sum(pool.map(count_primes, ranges, chunksize=1))
        pool.close()
        pool.join()
    subprocess.run([sys.executable, "-c", IN_ANOTHER_PROGRAM], input=str(count), text=True, check=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "spawn")
