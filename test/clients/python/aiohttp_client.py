"""Asks over aiohttp, on one connection.

    aiohttp_client.py BASE < QUESTIONS

Reads a JSON array of questions and prints a JSON array of what became of each.
"""

import asyncio
import json
import sys

import aiohttp


async def ask(session, url, question):
    async with session.post(url, json=question) as response:
        body = await response.json()
        if response.status < 400:
            return {"answer": body}
        return {"status": response.status, "code": body["code"], "msg": body["msg"]}


async def main(base, questions):
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1)) as session:
        return [await ask(session, base + "/info", question) for question in questions]


print(json.dumps(asyncio.run(main(sys.argv[1], json.load(sys.stdin)))))
