#!/usr/bin/env python3
"""A tool in Python, standard library only: counts the words of a file, and asks before a large one.

It checks `read` as docs/tool-protocol.md says: lexical form, canonical target, most specific rule. The check is
cooperative; the sandbox holds the same rules for tools that do not check.
"""

import json
import os
import sys

LARGE = 1_000_000


class Refused(Exception):
    def __init__(self, message, denied=None):
        super().__init__(message)
        self.denied = denied


def normal(path):
    """Workspace-relative and without `.` and `..`, before anything is looked at on the disk."""
    if path == "" or "\0" in path:
        raise Refused(f"invalid path: {json.dumps(path)}")
    if path.startswith("/"):
        raise Refused(f"path is outside the workspace: {path} (absolute paths are not permitted)")
    kept = []
    for part in path.split("/"):
        if part == "..":
            if not kept:
                raise Refused(f"path escapes the workspace: {path}")
            kept.pop()
        elif part not in ("", "."):
            kept.append(part)
    return "/".join(kept) or "."


def below(base, path):
    """What follows `base` in `path`, by whole components; None when it is not below."""
    if path == base:
        return "."
    prefix = base if base.endswith("/") else base + "/"
    return path[len(prefix):] if path.startswith(prefix) else None


def governing(rules, path):
    """The rule with the most components that covers the path; the last one of equals."""
    best, depth = None, -1
    for rule in rules:
        own = normal(rule["path"])
        if own != "." and below(own, path) is None:
            continue
        components = 0 if own == "." else own.count("/") + 1
        if components >= depth:
            best, depth = rule, components
    return best


def check_read(context, path):
    """The absolute path to open, or Refused."""
    rules = ((context.get("access") or {}).get("fs")) or []
    lexical = normal(path)
    root = os.path.realpath(context["root"])
    real = os.path.realpath(os.path.join(root, lexical))
    relative = below(root, real)
    named = governing(rules, lexical)
    if named and named.get("external") and relative is None:
        target = named.get("approved_target")
        inside = None if target is None else below(target, real)
        if inside is None:
            raise Refused(f"path escapes the workspace: {path}")
        relative = os.path.normpath(os.path.join(normal(named["path"]), inside))
    if relative is None:
        raise Refused(f"path escapes the workspace: {path}")
    rule = governing(rules, relative)
    tombstone = rule and rule.get("external") and not rule.get("approved_target")
    if rules and (not rule or tombstone or not rule.get("read")):
        raise Refused(f"access denied: read on {relative}", {"capability": "read", "target": relative})
    return real


def run(call):
    context, tool = call["context"], call["tool"]
    path = tool["arguments"]["path"]
    if context["action"] == "format_arguments":
        return success(f"count the words of {path}")
    real = check_read(context, path)
    size = os.stat(real).st_size
    if size > LARGE and (tool.get("answers") or {}).get("large") is not True:
        question = {"id": "large", "text": f"{path} has {size} bytes. Count anyway?", "answer_type": "boolean"}
        return {"type": "needs_input", "question": question}
    with open(real, encoding="utf-8") as file:
        return success(f"{sum(len(line.split()) for line in file)} words")


def success(text):
    return {"type": "success", "content": [{"type": "text", "text": text}]}


if __name__ == "__main__":
    try:
        result = run(json.load(sys.stdin))
    except (Refused, OSError, ValueError, KeyError, TypeError) as error:
        result = {"type": "error", "message": str(error), "trace": [], "transient": False}
        if getattr(error, "denied", None):
            result["denied"] = error.denied
    print(json.dumps(result))
    sys.exit(1 if result["type"] == "error" else 0)
