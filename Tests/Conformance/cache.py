"""Reads through a cache, beside writes past it, and looks at what the server was asked: python3 cache.py SERVER CACHE LOG"""

import http.client
import json
import sys
import time
from urllib.parse import urlsplit

from client import Client, expect, new_id


class Cached(Client):
    """A session through the cache."""

    def __init__(self, url, token):
        parts = urlsplit(url)
        self.connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
        self.token = token

    def send(self, *arguments, **fields):
        time.sleep(0.01)  # what the cache keeps is old after a millisecond
        return super().send(*arguments, **fields)


def asked(log, path, least=0):
    """The statuses of the server's answers to GET of a path, once there are so many: it writes its log behind the answers."""
    for _ in range(1000):
        with open(log) as lines:
            entries = [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}\n")]
        found = [e["status"] for e in entries if e["event"] == "request" and e["method"] == "GET" and e["path"] == path]
        if len(found) >= least:
            return found
        time.sleep(0.01)
    raise AssertionError(f"{path}: the server was asked {len(found)} times, not {least}")


def main(server, cache, log):
    writer = Client(server, "cache" + new_id()[:8])
    reader = Client(server, "other" + new_id()[:8])
    through = Cached(cache, writer.token)
    a_list = new_id()
    expect(writer.send("POST", "/v1/tables/lists", {"id": a_list, "columns": {"title": "one"}})[0], 201)
    paths = [f"/v1/tables/lists/{a_list}", "/v1/tables/lists", f"/v1/zones/{a_list}/changes"]
    for coding in ["gzip", "identity"]:
        for path in paths:
            before = asked(log, path)
            first = through.send("GET", path, Accept_Encoding=coding)
            second = through.send("GET", path, Accept_Encoding=coding)
            expect((first[0], second[0]), (200, 200), path)
            expect(first[2], second[2], path)
            # The cache had it, and asked whether it is still good.
            expect(asked(log, path, len(before) + 2)[-1], 304, path)
    for number in range(20):
        title = f"title {number} " + "x" * 2000 * (number % 2)
        writer.send("PATCH", f"/v1/tables/lists/{a_list}", {"columns": {"title": title[:200]}})
        for path in paths:
            assert title[:200] in json.dumps(through.send("GET", path)[2]), f"{path} is stale"
    # What one user's token gave is not another's.
    through.token = reader.token
    expect(through.send("GET", f"/v1/tables/lists/{a_list}")[0], 404)
    expect(through.send("GET", "/v1/tables/lists")[2]["records"], [])
    print("cache.py: the cache asks again, and gives nothing that is old")


if __name__ == "__main__":
    main(*sys.argv[1:])
