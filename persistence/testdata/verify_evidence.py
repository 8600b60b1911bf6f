"""Checks a record of a run by docs/evidence.md alone. The signature is OpenSSL's."""
import base64
import csv
import hashlib
import hmac
import io
import json
import struct
import subprocess
import sys
import tempfile
import zipfile
from datetime import datetime, timezone

wrong = []
record = zipfile.ZipFile(sys.argv[1])
manifest = json.loads(record.read("manifest.json"))


def signature():
    with tempfile.TemporaryDirectory() as folder:
        for name in ("manifest.json", "manifest.sig", "public_key.pem"):
            record.extract(name, folder)
        done = subprocess.run(
            ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", "public_key.pem", "-rawin",
             "-in", "manifest.json", "-sigfile", "manifest.sig"], cwd=folder, capture_output=True)
        if done.returncode != 0:
            wrong.append("signature")


def parts():
    for part in manifest["parts"]:
        text = record.read(part["file"])
        if len(text) != part["bytes"] or hashlib.sha256(text).hexdigest() != part["sha256"]:
            wrong.append("part " + part["file"])


def lines(name):
    return [line for line in record.read(name).split(b"\n") if line]


def canonical(value):
    """RFC 8785 for the values that occur: keys sorted, shortest numbers."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda k: k.encode("utf-16-be"))
        return "{" + ",".join(canonical(k) + ":" + canonical(value[k]) for k in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(v) for v in value) + "]"
    if isinstance(value, float):
        if value == int(value) and abs(value) < 1e21:
            return str(int(value))
        return repr(value).replace("e-0", "e-")
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def encoded(kind, value):
    if kind == "text":
        return value.encode()
    if kind in ("uuid", "bytea"):
        return bytes.fromhex(value)
    if kind == "timestamptz":
        at = datetime.strptime(value, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc)
        since = at - datetime(2000, 1, 1, tzinfo=timezone.utc)
        return struct.pack(">q", (since.days * 86400 + since.seconds) * 1000000 + since.microseconds)
    if kind == "boolean":
        return b"\1" if value else b""
    if kind == "integer":
        return struct.pack(">i", value)
    if kind == "bigint":
        return struct.pack(">q", value)
    if kind == "double precision":
        return struct.pack(">d", value)
    return canonical(value).encode()


def entries(data):
    at = 0
    while at < len(data):
        part, ident = data[at], data[at + 1:at + 17]
        at, order, shift = at + 17, 0, 0
        while True:
            byte = data[at]
            at, order, shift = at + 1, order | (byte & 127) << shift, shift + 7
            if byte < 128:
                break
        yield (part, ident), order, data[at:at + 16]
        at += 16


last, of_run, hashes = {}, set(), {}


def chain(name, events, ends):
    before, number = bytes(32), 0
    for line in lines(name):
        batch = json.loads(line)
        data = base64.b64decode(batch.get("rows", ""))
        digests = b"".join(hashlib.sha256(events.pop(0)).digest() for _ in range(batch["events"]))
        length = struct.pack(">I", len(data)) if data else b""
        before = hashlib.sha256(before + digests + data + length).digest()
        number += 1
        if batch["batch"] != number or before.hex() != batch["hash"]:
            wrong.append("%s batch %d" % (name, batch["batch"]))
            return
        if events is not none:
            hashes[number] = before.hex()
        for row, order, digest in entries(data):
            if events is not none or row[0] in (7, 8, 18):
                of_run.add(row)
            had = last.setdefault(row, (order, set()))
            if order > had[0]:
                last[row] = had = (order, set())
            if order == had[0]:
                had[1].add(digest)
    if (number, before.hex() if number else "") != ends or events:
        wrong.append("the end of " + name)


def rows():
    seen, cells = set(), {}
    for line in lines("rows.jsonl"):
        row = json.loads(line)
        types, message = manifest["columns"][row["table"]], b""
        for name in sorted(row["columns"]):
            value = encoded(types[name], row["columns"][name])
            message += bytes([len(name)]) + name.encode() + struct.pack(">I", len(value)) + value
        digest = hmac.new(bytes.fromhex(row["key"]), message, hashlib.sha256).digest()[:16]
        ident = (row["part"], bytes.fromhex(row["id"]))
        if ident in seen or digest not in last.get(ident, (0, ()))[1]:
            wrong.append("row %s %s" % (row["table"], row["id"]))
        seen.add(ident)
        if row["table"] == "attempts":
            cells.setdefault(row["id"], {}).update(row["columns"])
    for ident in of_run - seen:
        if bytes(16) not in last[ident][1]:
            wrong.append("a row is missing")
    for line in csv.DictReader(io.StringIO(record.read("attempts.csv").decode())):
        if line["ended_at"]:
            row = cells.get(line["attempt_id"], {})
            for column, cell in (("outcome", "outcome"), ("to_number", "phone_number"), ("cause", "cause")):
                if str(row.get(column, "")) != line[cell]:
                    wrong.append("attempts.csv %s: %s" % (line["attempt_id"], column))


def stamped(answer, hashed):
    """A time stamp must be of the hash: OpenSSL reads it; docs/evidence.md says how to check its signature."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(answer)
        file.flush()
        text = subprocess.run(["openssl", "ts", "-reply", "-in", file.name, "-text"], capture_output=True).stdout
    dump = "".join(line.split("-", 1)[1][:49] for line in text.decode().splitlines() if " - " in line[:12])
    return hashed in dump.replace(" ", "").replace("-", "")


def anchors():
    witnesses, number, hashed, head = [], 0, "", None
    for line in lines("anchors.jsonl"):
        line = json.loads(line)
        if "entry" in line:
            entry = json.loads(line["entry"])
            if entry["n"] != number + 1 or entry["previous"] != hashed:
                head = None
            number, hashed = entry["n"], hashlib.sha256(line["entry"].encode()).hexdigest()
            for of in entry["data"]["heads"] if entry["kind"] == "seal" else ():
                if (of["campaign"], of["run"]) == (manifest["campaign_id"], manifest["run"]):
                    head = of
            continue
        receipt = line["receipt"]
        if (receipt["n"], receipt["hash"]) != (number, hashed) or head is None or \
                hashes.get(head["n"]) != head["hash"] or receipt["kind"] == "timestamp" and \
                not stamped(base64.b64decode(receipt["data"]), hashed):
            wrong.append("receipt of seal %d" % receipt["n"])
            return
        name = (receipt["kind"], receipt["url"])
        known = [w for w in witnesses if (w["kind"], w["url"]) == name]
        if not known:
            known = [{"kind": name[0], "url": name[1], "receipts": 0}]
            witnesses += known
        known[0].update(receipts=known[0]["receipts"] + 1, n=number, hash=hashed, at=receipt["at"], batch=head["n"])
    if witnesses != manifest.get("anchors", []):
        wrong.append("the manifest names other witnesses")


def counted(event):
    """What an event adds to live answers and abandoned calls, and the cause."""
    kind, data = event["type"], event["data"]
    if kind == "attempt.connected":
        return 1, 0, ""
    if kind == "attempt.revised" and not data.get("connected"):
        return -1, 0, ""
    if kind == "attempt.ended" and data.get("outcome") == "abandoned":
        return 1, 1, data.get("cause", "")
    return 0, 0, ""


def rates():
    live = abandoned = 0
    events = sorted((json.loads(line) for line in lines("events.jsonl")), key=lambda event: event["seq"])
    events = [event for event in events if counted(event)[0]]
    caps = manifest.get("abandon_caps", [])
    table = list(csv.DictReader(io.StringIO(record.read("abandon_rate.csv").decode())))
    if len(table) != len(events):
        wrong.append("abandon_rate.csv has other events")
    for event, line in zip(events, table):
        more, bad, cause = counted(event)
        live, abandoned = live + more, abandoned + bad
        cap = ([c for c in caps if c["seq"] <= event["seq"]] or caps[:1] or [manifest])[-1]["abandon_cap_ppm"]
        want = [event["seq"], event["type"], event["attempt_id"], cause, live, abandoned,
                abandoned * 1000000 // live if live else 0, cap]
        if [str(cell) for cell in want] != [cell for name, cell in line.items() if name != "at"]:
            wrong.append("abandon_rate.csv event %d" % event["seq"])
    if (live, abandoned) != (manifest["live_answers"], manifest["abandoned"]):
        wrong.append("the abandon rate of the events is not the manifest's")


none = []
try:
    signature()
    parts()
    events = lines("events.jsonl")[manifest["unchained_events"]:]
    chain("batches.jsonl", events, (manifest["batches"], manifest["head"]))
    chain("campaign_batches.jsonl", none, (manifest["campaign_batches"], manifest["campaign_head"]))
    if manifest["digests"]:
        rows()
    anchors()
    rates()
    if manifest["findings"]:
        wrong.append("findings")
except (KeyError, ValueError, IndexError, struct.error) as unreadable:
    wrong.append("unreadable: %r" % unreadable)
print("\n".join(wrong))
sys.exit(1 if wrong else 0)
