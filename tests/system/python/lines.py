# SPDX-License-Identifier: Apache-2.0
def looped(n):
    total = 0
    for i in range(n):
        total += helper(i)
    return total


def helper(i):
    return i * 2


looped(5)
