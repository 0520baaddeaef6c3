"""A campaign against the library: hostile files, odd arguments, kills, full disks, crowds, and memory.

`python -m campaign` runs all parts; `campaign/part.py` says what a part is, and every part is a file of this folder.
A failure is a traceback, an abort, a hang, a lost or half-written file, memory above its limit, or another result for
the same seed.
"""
