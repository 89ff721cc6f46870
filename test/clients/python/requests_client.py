"""Asks as api.py of hyperliquid-python-sdk does: one session, `post` and `_handle_exception` as they are there.

    requests_client.py BASE < QUESTIONS

Reads a JSON array of questions and prints a JSON array of what became of each.
"""

import json
import sys
from json import JSONDecodeError

import requests


class ClientError(Exception):
    def __init__(self, status_code, error_code, error_message):
        self.status_code = status_code
        self.error_code = error_code
        self.error_message = error_message


class API:
    def __init__(self, base_url):
        self.base_url = base_url
        self.session = requests.Session()
        self.session.headers.update({"Content-Type": "application/json"})

    def post(self, url_path, payload=None):
        url = self.base_url + url_path
        response = self.session.post(url, json=payload or {}, timeout=20)
        self._handle_exception(response)
        return response.json()

    def _handle_exception(self, response):
        status_code = response.status_code
        if status_code < 400:
            return
        try:
            err = json.loads(response.text)
        except JSONDecodeError:
            raise ClientError(status_code, None, response.text)
        raise ClientError(status_code, err["code"], err["msg"])


def ask(api, question):
    try:
        return {"answer": api.post("/info", question)}
    except ClientError as error:
        return {"status": error.status_code, "code": error.error_code, "msg": error.error_message}


api = API(sys.argv[1])
print(json.dumps([ask(api, question) for question in json.load(sys.stdin)]))
