"""A program of somebody who has read docs/PROTOCOL.md, section 9, and has Python's own HTTP client: python3 client.py URL"""

import gzip
import http.client
import json
import sys
import uuid
from urllib.parse import quote, urlsplit


class Client:
    """One user's session."""

    def __init__(self, url, name):
        parts = urlsplit(url)
        self.connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
        self.token = None
        body = {"name": name, "password": "correct horse", "device": {"name": "script"}}
        status, _, session = self.send("POST", "/v1/accounts", body)
        expect(status, 201)
        self.token, self.user = session["token"], session["user"]["id"]

    def send(self, method, path, body=None, **fields):
        headers = {name.replace("_", "-"): value for name, value in fields.items()}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        content = None
        if isinstance(body, bytes):
            content = body
        elif body is not None:
            content = json.dumps(body).encode()
        if content is not None:
            headers.setdefault("Content-Type", "application/json")
        self.connection.request(method, path, content, headers)
        answer = self.connection.getresponse()
        data = answer.read()
        if answer.getheader("Content-Encoding") == "gzip":
            data = gzip.decompress(data)
        kind = (answer.getheader("Content-Type") or "").split(";")[0]
        return answer.status, answer.headers, json.loads(data) if data and kind.endswith("json") else data


def expect(found, wanted, where=""):
    assert found == wanted, f"{where}: {found!r} instead of {wanted!r}"


def new_id():
    return str(uuid.uuid4())


def records(c):
    a_list = new_id()
    status, headers, record = c.send("POST", "/v1/tables/lists", {"id": a_list, "columns": {"title": "Groceries"}})
    expect(status, 201)
    expect(record["rev"], 1)
    expect(headers["Location"], f"/v1/tables/lists/{a_list}")
    status, headers, item = c.send(
        "POST", "/v1/tables/items", {"columns": {"list_id": a_list, "title": "Milk", "amount": 2**53 + 1}}, X_Client_Request_ID="milk-1")
    expect(status, 201)
    expect(item["columns"]["done"], False)
    expect(item["created_by_request_id"], "milk-1")
    address = f"/v1/tables/items/{item['id']}"

    status, headers, again = c.send("GET", address)
    expect((status, again["columns"]["amount"], headers["ETag"]), (200, 2**53 + 1, '"1"'))
    expect(c.send("GET", address, If_None_Match='"1"')[0], 304)
    status, headers, _ = c.send("HEAD", address)
    expect((status, headers["ETag"]), (200, '"1"'))

    status, headers, item = c.send("PATCH", address, {"columns": {"title": "Oat milk", "extra": {"a": 1, "b": 2}}}, If_Match='"1"')
    expect((status, headers["ETag"], item["columns"]["title"]), (200, '"2"', "Oat milk"))
    status, _, problem = c.send("PATCH", address, {"columns": {"title": "Soy milk"}}, If_Match='"1"')
    expect((status, problem["code"], problem["record"]["columns"]["title"]), (412, "precondition-failed", "Oat milk"))
    status, _, item = c.send("PATCH", address, {"columns": {"extra": {"b": None, "c": 3}}}, Content_Type="application/merge-patch+json")
    expect(item["columns"]["extra"], {"a": 1, "c": 3})
    status, _, item = c.send("PUT", address, {"columns": {"list_id": a_list, "title": "Milk"}})
    expect((status, item["columns"]["extra"], item["columns"]["amount"]), (200, None, None))
    status, _, _ = c.send("PUT", address, {"columns": {"list_id": a_list, "title": "x"}}, If_None_Match="*")
    expect(status, 412)
    other = new_id()
    status, _, _ = c.send("PUT", f"/v1/tables/items/{other}", {"columns": {"list_id": a_list, "title": "Bread"}})
    expect(status, 201)

    status, _, short = c.send("DELETE", address)
    expect((status, short["deleted"], "columns" in short), (200, True, False))
    expect(c.send("DELETE", address)[0], 200)
    expect(c.send("DELETE", f"/v1/tables/items/{new_id()}")[0], 204)
    for method, body in [("GET", None), ("PATCH", {"columns": {"title": "z"}}), ("PUT", {"columns": {"list_id": a_list, "title": "z"}})]:
        status, _, gone = c.send(method, address, body)
        expect((status, gone["code"], gone["deleted"]), (410, "record-deleted", True), method)
    status, _, back = c.send("POST", address + "/restore", {"columns": {"list_id": a_list, "title": "Milk again"}})
    expect((status, back["columns"]["title"]), (200, "Milk again"))
    expect(c.send("POST", address + "/restore", {"columns": {"list_id": a_list, "title": "x"}})[0], 409)
    expect(c.send("GET", f"/v1/tables/items/{new_id()}")[0], 404)
    return a_list


def batches(c, a_list):
    ids = [new_id() for _ in range(50)]
    items = [{"id": i, "columns": {"list_id": a_list, "title": f"bulk {n:03}", "amount": n}} for n, i in enumerate(ids)]
    status, _, answer = c.send("POST", "/v1/tables/items", {"records": items + [{"columns": {"title": "no list"}}]})
    expect((status, [r["status"] for r in answer["results"]]), (200, [201] * 50 + [422]))
    status, _, answer = c.send("GET", "/v1/tables/items?ids=" + ",".join(ids[:3] + [new_id()]))
    expect([r["status"] for r in answer["results"]], [200, 200, 200, 404])
    status, _, answer = c.send(
        "PATCH", "/v1/tables/items", {"records": [{"id": ids[0], "columns": {"amount": 1000}}, {"id": ids[1], "if_match": 9, "columns": {"amount": 1}}]})
    expect([r["status"] for r in answer["results"]], [200, 412])
    status, _, answer = c.send("DELETE", "/v1/tables/items?ids=" + ",".join(ids[40:]))
    expect([r["status"] for r in answer["results"]], [200] * 10)
    # All or nothing, across tables and zones; later ones refer to earlier ones.
    other, child = new_id(), new_id()
    operations = [
        {"op": "create", "table": "lists", "id": other, "columns": {"title": "Party"}},
        {"op": "create", "table": "items", "id": child, "columns": {"list_id": other, "title": "Balloons"}},
        {"op": "update", "table": "items", "id": ids[2], "columns": {"list_id": other}},
        {"op": "delete", "table": "items", "id": ids[3]},
    ]
    status, _, answer = c.send("POST", "/v1/batch", {"operations": operations + [{"op": "create", "table": "items", "columns": {"list_id": other}}]})
    expect((status, answer["code"], [e["index"] for e in answer["errors"]]), (422, "batch-refused", [4]))
    expect(c.send("GET", f"/v1/tables/lists/{other}")[0], 404)
    status, _, answer = c.send("POST", "/v1/batch", {"operations": operations})
    expect((status, [r["status"] for r in answer["results"]]), (200, [201, 201, 200, 200]))
    status, _, moved = c.send("GET", f"/v1/tables/items/{ids[2]}")
    expect(moved["zone"], other)
    return ids


def repeats(c, a_list):
    body = {"columns": {"list_id": a_list, "title": "Once"}}
    first = c.send("POST", "/v1/tables/items", body, Idempotency_Key="once")
    second = c.send("POST", "/v1/tables/items", body, Idempotency_Key="once")
    expect((first[0], first[2]), (second[0], second[2]))
    expect(second[1]["Idempotency-Replayed"], "true")
    status, _, problem = c.send("POST", "/v1/tables/items", {"columns": {"list_id": a_list, "title": "Twice"}}, Idempotency_Key="once")
    expect((status, problem["code"]), (422, "request-id-reused"))


def index(c, a_list):
    path = f"/v1/tables/items?where.list_id={a_list}&order=-title&limit=7&count=true&columns=title"
    seen, pages = [], 0
    status, headers, page = c.send("GET", path)
    expect(status, 200)
    total = page["count"]
    while True:
        pages += 1
        seen += [r["columns"]["title"] for r in page["records"]]
        if "next" not in page:
            break
        assert 'rel="next"' in headers["Link"]
        # What is written meanwhile shifts nothing.
        c.send("POST", "/v1/tables/items", {"columns": {"list_id": a_list, "title": f"zz {pages}"}})
        status, headers, page = c.send("GET", page["next"])
        expect(status, 200)
    expect((len(seen), len(set(seen))), (total, total))
    expect(seen, sorted(seen, reverse=True))
    for query, count in [("where.amount.gte=10&where.amount.lt=20", 10), ("where.title.prefix=bulk%2000", 9), ("where.amount.in=5,6", 2)]:
        status, _, page = c.send("GET", f"/v1/tables/items?{query}")
        expect((status, len(page["records"])), (200, count), query)
    status, _, problem = c.send("GET", "/v1/tables/items?where.price.gt=1")
    expect((status, problem["code"]), (422, "index-missing"))
    assert "price" in problem["detail"]
    expect(c.send("GET", "/v1/tables/items?nonsense=1")[0], 400)
    expect(c.send("GET", "/v1/tables/items?page=AAAA.1")[0], 410)


def deltas(c, a_list):
    path = f"/v1/tables/items?zone={a_list}"
    known, tag = {}, None
    status, headers, page = c.send("GET", path + "&limit=1000")
    for r in page["records"]:
        known[r["id"]] = r["rev"]
    status, headers, _ = c.send("GET", path)
    tag, date = headers["ETag"], headers["Last-Modified"]
    expect(c.send("GET", path, If_None_Match=tag)[0], 304)
    expect(c.send("GET", path, If_Modified_Since=date)[0], 304)
    victim = next(iter(known))
    made = c.send("POST", "/v1/tables/items", {"columns": {"list_id": a_list, "title": "new"}})[2]["id"]
    c.send("DELETE", f"/v1/tables/items/{victim}")
    status, headers, delta = c.send("GET", path, If_None_Match=tag, A_IM="feed")
    expect((status, headers["IM"]), (226, "feed"))
    expect({(r["id"], r.get("deleted", False)) for r in delta["records"]}, {(made, False), (victim, True)})
    expect(c.send("GET", path, If_None_Match=headers["ETag"], A_IM="feed")[0], 304)
    status, _, delta = c.send("GET", path, If_Modified_Since=date)
    expect((status, len(delta["records"])), (200, 2))
    expect(c.send("GET", path, If_None_Match=tag)[0], 200)

    status, _, zones = c.send("GET", "/v1/zones")
    assert {a_list, c.user} <= {z["zone"] for z in zones["zones"]}
    token, seqs = "", []
    while True:
        status, headers, part = c.send("GET", f"/v1/zones/{a_list}/changes?limit=20&since={quote(token)}")
        expect(status, 200)
        seqs += [change["seq"] for change in part["changes"]]
        token = part["to"]
        if not part["more"]:
            break
    expect(seqs, sorted(set(seqs)))
    expect(c.send("GET", f"/v1/zones/{a_list}/changes?since={token}")[2]["count"], 0)
    expect(c.send("GET", f"/v1/zones/{a_list}/changes?since=ffffffff.1")[0], 410)


def lists(c):
    status, _, a_list = c.send("POST", "/v1/tables/lists", {"columns": {"title": "In order"}})

    def item(place):
        return {"list_id": a_list["id"], "title": "x", "position": place}

    def create(place):
        status, _, made = c.send("POST", "/v1/tables/items", {"columns": item(place)})
        expect(status, 201)
        return made["id"]

    last = create({"at": "last"})
    first = create({"at": "first"})
    second = create({"after": first})
    status, _, answer = c.send(
        "POST", "/v1/batch",
        {"operations": [
            {"op": "create", "table": "items", "columns": item({"before": last})},
            {"op": "update", "table": "items", "id": first, "columns": {"position": {"at": "last"}}},
        ]})
    expect((status, [r["status"] for r in answer["results"]]), (200, [201, 200]))
    third = answer["results"][0]["record"]["id"]
    address = f"/v1/tables/items?where.list_id={a_list['id']}&order=position&rank=position"
    status, headers, page = c.send("GET", address + "&limit=3")
    expect([(r["id"], r["rank"]) for r in page["records"]], [(second, 1), (third, 2), (last, 3)])
    status, _, page = c.send("GET", page["next"])
    expect([(r["id"], r["rank"]) for r in page["records"]], [(first, 4)])
    status, headers, ranked = c.send("GET", f"/v1/tables/items/{first}?rank=position")
    expect((status, ranked["rank"]), (200, 4))
    expect(c.send("DELETE", f"/v1/tables/items/{third}")[0], 200)
    status, _, ranked = c.send("GET", f"/v1/tables/items/{first}?rank=position", If_None_Match=headers["ETag"])
    expect((status, ranked["rank"], ranked["rev"]), (200, 3, 2))
    for place in [{"after": third}, {"after": new_id()}, {"at": "middle"}, {"next": first}]:
        status, _, problem = c.send("PATCH", f"/v1/tables/items/{first}", {"columns": {"position": place}})
        expect((status, problem["code"]), (422, "invalid-value"), place)
    expect(c.send("GET", "/v1/tables/items?rank=title")[0], 400)


def strangers(c, url, a_list):
    other = Client(url, "stranger" + uuid.uuid4().hex[:8])
    for path in [f"/v1/tables/lists/{a_list}", f"/v1/zones/{a_list}/changes", f"/v1/tables/items?zone={a_list}"]:
        expect(other.send("GET", path)[0], 404, path)
    expect(other.send("PATCH", f"/v1/tables/lists/{a_list}", {"columns": {"title": "mine"}})[0], 404)
    expect(other.send("DELETE", f"/v1/tables/lists/{a_list}")[0], 204)
    expect(c.send("GET", f"/v1/tables/lists/{a_list}")[0], 200)


def codings(c):
    body = gzip.compress(json.dumps({"records": [{"columns": {"text": "note " * 50}} for _ in range(100)]}).encode())
    status, _, answer = c.send("POST", "/v1/tables/notes", body, Content_Encoding="gzip")
    expect((status, len(answer["results"])), (200, 100))
    status, headers, page = c.send("GET", "/v1/tables/notes", Accept_Encoding="gzip")
    expect((headers["Content-Encoding"], len(page["records"])), ("gzip", 100))
    expect(c.send("GET", "/v1/tables/notes", Accept_Encoding="gzip", If_None_Match=headers["ETag"])[0], 304)


def main(url):
    c = Client(url, "script" + uuid.uuid4().hex[:8])
    a_list = records(c)
    batches(c, a_list)
    repeats(c, a_list)
    index(c, a_list)
    deltas(c, a_list)
    lists(c)
    strangers(c, url, a_list)
    codings(c)
    print("client.py: all is as the document says")


if __name__ == "__main__":
    main(sys.argv[1])
