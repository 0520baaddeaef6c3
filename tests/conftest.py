"""What all tests begin with."""

import signal

# A shell that starts tests in the background ignores Ctrl-C for them, and so would all commands that are interrupted.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
