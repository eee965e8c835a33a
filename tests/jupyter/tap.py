"""tap.py -- test lines for the programs of this folder: ok(), same(), skip(), done()."""
import sys
import traceback

count = failed = 0


def say(text):
    for line in str(text).splitlines() or [""]:
        print("# " + line)
    sys.stdout.flush()


def ok(fine, name, *more):
    """One line; what is in `more` is shown where it failed."""
    global count, failed
    count += 1
    print(("ok " if fine else "not ok ") + f"{count} - {name}", flush=True)
    if not fine:
        failed += 1
        for m in more:
            say(m)
    return fine


def same(got, want, name):
    return ok(got == want, name, f"     got: {got!r}", f"expected: {want!r}")


def has(text, part, name):
    return ok(part in text, name, f"does not hold {part!r}:", repr(text))


def skip(name, why):
    global count
    count += 1
    print(f"ok {count} - {name} # SKIP {why}", flush=True)


def section(function):
    """Run it; an exception is a failed test and not the end."""
    try:
        function()
    except Exception:
        ok(False, f"{function.__name__} runs to its end", traceback.format_exc())


def done():
    print(f"1..{count}", flush=True)
    sys.exit(1 if failed else 0)
