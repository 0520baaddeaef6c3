"""Downloads that resume after an interruption, are checked, and appear under their name only when complete."""

import os
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple

from invariance._core.progress import track

MAX_ATTEMPTS = 5  # per call; a later call resumes
MEGABYTE = 2**20  # bytes between two updates of the progress bar
PIECE = 2**14  # bytes read at a time: those of a piece that is broken off are lost, and asked for again
TIMEOUT_SECONDS = 30  # without any byte


class Remote(NamedTuple):
    """A file to download and its checksum.

    `unpack` is the folder to unpack from an archive. With `is_root` it becomes the folder of the data set itself, not
    a part of it.
    """

    url: str
    checksum: str
    unpack: str | None = None
    is_root: bool = False


def fetch(remotes: tuple[Remote, ...], folder: Path) -> Path:
    """Download the files of a data set to `folder` and unpack its archives; existing files are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    for remote in remotes:
        if remote.unpack is None:
            download(remote.url, remote.checksum, folder)
        elif remote.is_root or not (folder / remote.unpack).exists():
            archive = download(remote.url, remote.checksum, folder.parent)
            unpack(archive, remote.unpack, folder if remote.is_root else folder / remote.unpack)
            archive.unlink()
    return folder


def download(url: str, checksum: str, folder: Path) -> Path:
    """Download `url` to `folder` and check it; an interrupted download leaves a `.part` to resume from."""
    import pooch
    import requests

    name = url.rsplit("/", 1)[-1]
    try:
        pooch.get_logger().setLevel("WARNING")
        return Path(pooch.retrieve(url, checksum, fname=name, path=folder, downloader=_download_resuming))
    except requests.RequestException as error:
        raise OSError(f"cannot download {url}: {error}. Check the network, then try again: it resumes.") from error
    except ValueError as error:
        raise OSError(f"{url} does not have the known checksum {checksum}; nothing was kept. Try again.") from error


def _download_resuming(url: str, output_file: str, _pooch: object) -> None:
    """Pooch's downloader interface: fill a `.part` beside the output over several attempts, then rename it."""
    import requests

    part = Path(output_file).with_name(url.rsplit("/", 1)[-1] + ".part")
    for attempt in range(1, MAX_ATTEMPTS + 1):
        try:
            _append_rest(url, part)
            break
        except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError):
            if attempt == MAX_ATTEMPTS:
                raise
    os.replace(part, output_file)


def _append_rest(url: str, part: Path) -> None:
    """Request the bytes that `part` lacks and append them; start over if the server cannot resume."""
    import requests

    have = part.stat().st_size if part.exists() else 0
    # A server that compresses on the fly would send other bytes than those of the checksum.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT_SECONDS) as response:
        if response.status_code == requests.codes.requested_range_not_satisfiable:
            return  # nothing is missing; the checksum decides
        response.raise_for_status()
        resumed = response.status_code == requests.codes.partial_content
        n_megabytes = -(-int(response.headers.get("Content-Length", 0)) // MEGABYTE) or None
        with open(part, "ab" if resumed else "wb") as handle:
            for _ in track(_write_pieces(response.iter_content(PIECE), handle), f"{part.stem} (MB)", n_megabytes):
                pass


def _write_pieces(pieces: Iterable[bytes], handle: BinaryIO) -> Iterator[None]:
    """Write pieces as they come, and yield after every megabyte and at the end."""
    n_new = 0
    for piece in pieces:
        handle.write(piece)
        n_new += len(piece)
        if n_new >= MEGABYTE:
            n_new -= MEGABYTE
            yield
    if n_new:
        yield


def unpack(archive: Path, inside: str, target: Path) -> None:
    """Extract the folder `inside` of a tar (or of a tar within a zip) to `target`, which appears only when complete."""
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as scratch:
        with _open_tar(archive, inside) as tar:
            tar.extractall(scratch, filter="data")
        if target.is_dir():
            target.rmdir()
        os.replace(Path(scratch) / inside, target)


@contextmanager
def _open_tar(archive: Path, inside: str) -> Iterator[tarfile.TarFile]:
    """The archive itself, or the tar file in it that has the name of the folder."""
    if not zipfile.is_zipfile(archive):
        with tarfile.open(archive) as tar:
            yield tar
        return
    with zipfile.ZipFile(archive) as outer:
        members = [name for name in outer.namelist() if PurePosixPath(name).name == f"{inside}.tar.gz"]
        if not members:
            raise OSError(f"'{archive}' contains no {inside}.tar.gz. Delete it and unpack the data set by hand.")
        with outer.open(members[0]) as stream, tarfile.open(fileobj=stream, mode="r:gz") as tar:
            yield tar
