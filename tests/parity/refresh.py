#!/usr/bin/env python3
# refresh.py -- runs the Python half of cases.txt in PyTorch and writes ops.jsonl
#
#   python3 tests/parity/refresh.py            all cases
#   python3 tests/parity/refresh.py WORD       only ids that contain WORD (the rest is kept)
#
# A case is a block: "id: NAME", then lines "py  CODE", then lines "lua CODE"; a blank line ends it.
# What PyTorch prints becomes the text that dlrepl must print for the Lua half. Lines "txt TEXT"
# give the text themselves, where it changed after the version we follow (2.14.1).
import contextlib, io, json, os, sys, warnings

import torch, torch.nn as nn, torch.nn.functional as F, torch.optim as optim

here = os.path.dirname(os.path.abspath(__file__))


def read_cases(path):
    case = None
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        line = line.rstrip("\n")
        if line.startswith("id: "):
            case = {"id": line[4:], "python": [], "lua": [], "text": []}
            yield case
        elif line[:4] in ("py  ", "lua ", "txt "):
            case[{"p": "python", "l": "lua", "t": "text"}[line[0]]].append(line[4:])
        elif line and not line.startswith("#"):
            sys.exit(f"{path}:{number}: neither id, py nor lua: {line}")


def run(code):
    out = io.StringIO()
    torch.set_printoptions(profile="default")
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(code, {"torch": torch, "nn": nn, "F": F, "optim": optim, "math": __import__("math")})
    return out.getvalue()


def main():
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    target = os.path.join(here, "ops.jsonl")
    old = {}
    if word and os.path.exists(target):
        old = {c["id"]: c for c in map(json.loads, open(target, encoding="utf-8"))}
    seen, lines = set(), []
    torch.set_num_threads(1)
    for case in list(read_cases(os.path.join(here, "cases.txt"))):
        if case["id"] in seen:
            sys.exit("id used twice: " + case["id"])
        seen.add(case["id"])
        python, lua = "\n".join(case["python"]), "\n".join(case["lua"])
        try:
            keep = word and word not in case["id"] and case["id"] in old
            text = "".join(line + "\n" for line in case["text"])
            text = text or (old[case["id"]]["text"] if keep else run(python))
        except Exception as e:
            sys.exit(f"{case['id']}: {type(e).__name__}: {e}")
        lines.append(json.dumps({"id": case["id"], "python": python, "lua": lua, "text": text},
                                ensure_ascii=False))
    open(target, "w", encoding="utf-8").write("\n".join(lines) + "\n")
    print(f"{len(lines)} cases, PyTorch {torch.__version__}")


main()
