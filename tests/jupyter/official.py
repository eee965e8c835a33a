"""official.py -- jupyter_kernel_test with every optional test on, as TAP

The kernelspec is the one that `dlrepl kernel install` writes.
"""
import os
import subprocess
import unittest

import tap
from client import DLREPL, TMP

os.environ["JUPYTER_PATH"] = TMP + "/share/jupyter"
subprocess.run([DLREPL, "kernel", "install", "--prefix", TMP], check=True,
               stdout=subprocess.DEVNULL)

import jupyter_kernel_test as jkt  # noqa: E402 (it reads JUPYTER_PATH)


class Official(jkt.KernelTests):
    kernel_name = "dlrepl"
    language_name = "lua"
    file_extension = ".lua"
    code_hello_world = "print('hello, world')"
    code_stderr = "io.stderr:write('oops\\n')"
    completion_samples = [
        {"text": "torch.eyes", "matches": set()},
        {"text": "retu", "matches": {"return"}},
        {"text": "string.re", "matches": {"rep", "reverse"}},
        {"text": "torch.manual_s", "matches": {"manual_seed"}},
    ]
    complete_code_samples = ["1 + 1", "for i = 1, 3 do print(i) end", "x = [[a\nb]]", "-- words",
                             "?torch.sum", "%time 1 + 1", ""]
    incomplete_code_samples = ["for i = 1, 3 do", "print(", "x = [[a", "--[[ words", "x ="]
    invalid_code_samples = ["x = = 2", "end", "for i in range(3):"]
    code_page_something = "?torch.sum"
    code_generate_error = "error('boom')"
    code_execute_result = [
        {"code": "6 * 7", "result": "42"},
        {"code": "local x = 40\nx + 2", "result": "42"},
        {"code": "torch.ones(2)", "result": "tensor([1., 1.])"},
        {"code": "torch.ones(2, 2)", "mime": "text/html"},
    ]
    code_display_data = [{"code": "dlrepl.display(torch.ones(2))", "mime": "text/plain"},
                         {"code": "dlrepl.show(torch.rand(8, 8))", "mime": "image/png"}]
    supported_history_operations = ("tail", "range", "search")
    code_history_pattern = "6 ?* 7"
    code_inspect_sample = "torch.sum"
    code_clear_output = "dlrepl.kernel.clear_output(true)"


class Welcome(jkt.IopubWelcomeTests):
    kernel_name = "dlrepl"
    support_iopub_welcome = True


class Result(unittest.TestResult):
    def addSuccess(self, test):
        tap.ok(True, test.id().split(".", 1)[1])

    def addFailure(self, test, err):
        tap.ok(False, test.id().split(".", 1)[1], self._exc_info_to_string(err, test))

    addError = addFailure

    def addSkip(self, test, reason):
        tap.ok(False, test.id().split(".", 1)[1] + " is not skipped", reason)

    def addSubTest(self, test, subtest, err):
        if err:
            self.addFailure(subtest, err)


if __name__ == "__main__":
    load = unittest.defaultTestLoader.loadTestsFromTestCase
    unittest.TestSuite([load(Official), load(Welcome)]).run(Result())
    tap.done()
