# SPDX-License-Identifier: Apache-2.0
"""Three asyncio clients that fetch three times each: a track for each task.

    opscope run python3 serve.py
    opscope zones serve.opscope
"""

import asyncio


def encode(client, number):
    import json

    return json.dumps({"client": client, "number": number})


async def fetch(client, number):
    await asyncio.sleep(0.002)  # the network
    return len(encode(client, number))


async def serve(client):
    return sum([await fetch(client, number) for number in range(3)])


async def main():
    tasks = [asyncio.create_task(serve(client), name="client %d" % client) for client in range(3)]
    print("bytes fetched:", sum(await asyncio.gather(*tasks)))


if __name__ == "__main__":
    asyncio.run(main())
