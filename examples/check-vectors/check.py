"""Runs Cordon's fs, net and env vectors: docs/tool-protocol.md in Python, standard library only.

A tool author's starting point, and the proof that the document is enough. Exits 1 on any failure.
"""

import ipaddress
import json
import re
import socket
import sys
import unicodedata
from pathlib import Path
from urllib.parse import unquote_to_bytes

VECTORS = Path(__file__).resolve().parents[2] / "packages" / "policy" / "vectors"
DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21, "ssh": 22}


class Refused(Exception):
    """Carries the error code of the protocol."""


def is_unicode(text):
    return not any(0xD800 <= ord(c) <= 0xDFFF for c in text)


def most_specific(rules, specificity):
    """The place of the winner: `specificity` is None for a rule that does not match; the last wins a tie."""
    scored = [(score, place) for place, rule in enumerate(rules) if (score := specificity(rule)) is not None]
    return max(scored)[1] if scored else None


def decision(rules, place, is_yes, yes, no):
    if place is None:
        return {"kind": "unmatched"}
    return {"kind": yes if is_yes(rules[place]) else no, "rule": place}


# Filesystem


def lexical(text):
    if text == "" or len(text) > 4096 or "\0" in text or not is_unicode(text):
        raise Refused("PATH_INVALID")
    if text.startswith("/"):
        raise Refused("PATH_OUTSIDE")
    kept = []
    for part in text.split("/"):
        if part == ".." and not kept:
            raise Refused("PATH_ESCAPE")
        if part == "..":
            kept.pop()
        elif part not in ("", "."):
            kept.append(part)
    return kept


def grants(rule, want):
    if rule.get("external") and rule.get("approved_target") is None:
        return False  # a tombstone
    fallback = rule.get("write") if want in ("create", "update", "delete") else False
    own = rule.get(want)
    return bool(fallback if own is None else own)


def evaluate_fs(rules, target, want):
    parts = lexical(target)

    def specificity(rule):
        prefix = lexical(rule["path"])
        return len(prefix) if parts[: len(prefix)] == prefix else None

    return decision(rules, most_specific(rules, specificity), lambda r: grants(r, want), "granted", "withheld")


# Network


def host(text):
    """An ipaddress object or an ASCII name; None when it is no host."""
    try:
        if re.fullmatch(r"\[.*\]|[0-9a-fA-F.]*:[0-9a-fA-F:.]+", text):
            return ipaddress.IPv6Address(text.strip("[]")) if "%" not in text else None
        if not 0 < len(text) <= 1024 or has_forbidden(text):
            return None
        ascii_name = text if text.isascii() else text.encode("idna").decode()
        name = ascii_name.lower().removesuffix(".")
        if has_forbidden(name) or "" in name.split("."):
            return None
        if re.fullmatch(r"[0-9]+|0x[0-9a-f]*", name.split(".")[-1]):
            return ipaddress.IPv4Address(socket.inet_aton(name))
        return name
    except (ValueError, OSError):
        return None


def has_forbidden(text):
    return any(c in "/\\?#@:%<>^|[]*\"'`{}" or unicodedata.category(c)[0] in "CZ" for c in text)


def segments(path):
    if re.search(r"%(?![0-9a-fA-F]{2})", path):
        raise Refused("URL_INVALID")
    kept = []
    for segment in unquote_to_bytes(path).split(b"/"):
        if segment == b"..":
            del kept[-1:]
        elif segment not in (b"", b"."):
            kept.append(segment)
    return kept


def read_url(url):
    if len(url) > 65536 or not is_unicode(url):
        raise Refused("URL_INVALID")
    if any(c == "\\" or unicodedata.category(c) in ("Cc", "Zs", "Zl", "Zp") for c in url):
        raise Refused("URL_INVALID")
    shape = re.match(r"([a-zA-Z][a-zA-Z0-9+.-]*)://([^/?#]*)([^?#]*)", url)
    place = shape and re.fullmatch(r"(\[[^\]]*\]|[^:]*)(?::([0-9]{0,5}))?", shape[2].rpartition("@")[2])
    name = place and host(place[1])
    if not name or int(place[2] or 0) > 65535:
        raise Refused("URL_INVALID")
    scheme = shape[1].lower()
    port = int(place[2]) if place[2] else DEFAULT_PORTS.get(scheme)
    return scheme, name, port, segments(shape[3])


def evaluate_net(rules, url):
    scheme, name, port, path = read_url(url)

    def specificity(rule):
        rule_scheme, rule_port = rule.get("scheme"), rule.get("port")
        prefix = segments(rule.get("path_prefix") or "")
        if host(rule["host"]) != name or (rule_scheme is not None and rule_scheme.lower() != scheme):
            return None
        if port != (DEFAULT_PORTS.get(scheme) if rule_port is None else rule_port) or path[: len(prefix)] != prefix:
            return None
        return (rule_scheme is not None) + (rule_port is not None) + len(prefix)

    return decision(rules, most_specific(rules, specificity), lambda r: r.get("allow"), "allowed", "refused")


# Environment


def evaluate_env(rules, variable):
    if variable == "" or "=" in variable or "\0" in variable or not is_unicode(variable):
        raise Refused("ENV_DENIED")

    def specificity(rule):
        literal = rule["name"].removesuffix("*")
        exact = literal == rule["name"]
        matches = variable == literal if exact else variable.startswith(literal)
        return (len(literal.encode()), exact) if matches else None

    return decision(rules, most_specific(rules, specificity), lambda r: r.get("read"), "allowed", "refused")


CHECKS = {
    "lexical": lambda v: {"path": "/".join(lexical(v["input"])) or "."},
    "fs": lambda v: evaluate_fs(v["rules"], v["target"], v["want"]),
    "net": lambda v: evaluate_net(v["rules"], v["url"]),
    "env": lambda v: evaluate_env(v["rules"], v["variable"]),
}


def main():
    failed = 0
    for name, check in CHECKS.items():
        vectors = json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))
        wrong = 0
        for vector in vectors:
            try:
                got = check(vector)
            except Refused as refusal:
                got = {"error": str(refusal)}
            if got != vector["expect"]:
                wrong += 1
                print(f"{name}: {vector['name']}: expected {vector['expect']}, got {got}")
        print(f"{name}: {len(vectors) - wrong} of {len(vectors)} passed")
        failed += wrong
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
