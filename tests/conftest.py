"""What all tests begin with."""

import atexit
import os
import shutil
import signal
import tempfile

# A shell that starts tests in the background ignores Ctrl-C for them, and so would all commands that are interrupted.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# What tests describe is kept in a folder of their own, also by the processes that they start; never in the user's.
_cache = tempfile.mkdtemp(prefix="invariance-tests-")
os.environ["INVARIANCE_CACHE"] = _cache
atexit.register(shutil.rmtree, _cache, ignore_errors=True)
