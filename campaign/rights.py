"""What a process may do: give up the rights of root, and see disks of its own (Linux only)."""

import ctypes
import os
import subprocess
from pathlib import Path

CLONE_NEWNS = 0x20000
PR_CAPBSET_DROP = 24
CAPABILITY_VERSION = 0x20080522
ABOVE_PERMISSIONS = (1, 2)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


def obey_permissions() -> None:
    """Give up the right of root to read and write what permissions forbid; new programs do not get it back."""
    if os.getuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in ABOVE_PERMISSIONS:
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted and inheritable, of capabilities below and from 32
    libc.capget(header, sets)
    for number in range(3):
        sets[number] &= ~sum(1 << capability for capability in ABOVE_PERMISSIONS)
    if libc.capset(header, sets) != 0:
        raise OSError(ctypes.get_errno(), "cannot give up rights")


def can_mount() -> bool:
    """Whether this process can mount disks; it takes a view of them of its own, which ends with the process."""
    if os.getuid() != 0 or not hasattr(os, "fork"):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.unshare(CLONE_NEWNS) == 0 and _mount("--make-rprivate", "/")


def mount_small_disk(folder: Path, n_bytes: int) -> None:
    """Put a disk of this size over a folder."""
    if not _mount("-t", "tmpfs", "-o", f"size={n_bytes}", "campaign", str(folder)):
        raise OSError(f"cannot mount a disk at '{folder}'")


def mount_read_only(folder: Path) -> None:
    """Let nobody write into a folder."""
    if not (_mount("--bind", str(folder), str(folder)) and _mount("-o", "remount,ro,bind", str(folder))):
        raise OSError(f"cannot mount '{folder}' read-only")


def unmount(folder: Path) -> None:
    """Take away what is mounted over a folder."""
    subprocess.run(["umount", "-l", str(folder)], check=False, capture_output=True)


def _mount(*arguments: str) -> bool:
    return subprocess.run(["mount", *arguments], check=False, capture_output=True).returncode == 0
