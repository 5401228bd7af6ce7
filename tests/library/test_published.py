"""The papers' datasets from small files in the original formats, whole and broken.

Nothing here needs the internet: this machine serves the files, and the addresses and checksums of
the downloads are replaced by those of the small files.
"""

import hashlib
import io
import pickle
import socket
import tarfile
import threading
from contextlib import closing
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from mialib import data
from mialib.data import published
from mialib.data.published import binary_table

SHAPES = {"purchase100": (600, 100), "texas100": (6169, 100), "location30": (446, 30)}


def forget() -> None:
    """As in a new process: nothing is remembered."""
    published._share.cache_clear()
    published._whole.cache_clear()


@dataclass
class Site:
    """A web site of this machine: `files` by name; those in `cut` break off half-way.

    `asked` counts the calls.
    """

    address: str
    files: dict[str, bytes] = field(default_factory=dict)
    cut: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)


@pytest.fixture
def site():
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            name = self.path.rpartition("/")[2]
            here.asked.append(name)
            if name not in here.files:
                return self.send_error(404)
            content = here.files[name]
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) // 2] if name in here.cut else content)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    here = Site(f"http://127.0.0.1:{server.server_port}")
    threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
    ).start()
    yield here
    server.shutdown()
    server.server_close()


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty home of the test's own."""
    monkeypatch.setenv("MIALIB_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return tmp_path / "home"


def files_in(folder) -> set[str]:
    return (
        {path.relative_to(folder).as_posix() for path in folder.rglob("*")}
        if folder.exists()
        else set()
    )


def archive(contents: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in contents.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def sha256(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def git_blob(content: bytes) -> str:
    return "git-blob:" + hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def csv(rows) -> bytes:
    return "".join(",".join(map(str, row)) + "\n" for row in rows).encode()


def original(name: str, n: int = 40) -> tuple[bytes, np.ndarray, np.ndarray]:
    """A small archive laid out as the published one, its features and (from 0) its labels."""
    features, classes = SHAPES[name]
    rng = np.random.default_rng(features)
    x, y = rng.integers(0, 2, (n, features)), rng.integers(0, classes, n)
    y[:2] = 0, classes - 1
    with_labels = csv(np.column_stack([y + 1, x]))
    if name == "purchase100":
        return archive({"dataset_purchase": with_labels}), x, y
    if name == "location30":
        quoted = b"".join(
            b'"%s",%s\n' % tuple(row.split(b",", 1)) for row in with_labels.splitlines()
        )
        return archive({"bangkok": quoted}), x, y
    parts = {
        "texas/100/labels": csv(y[:, None] + 1),
        "texas/100/feats": csv(x),
        "texas/10/feats": b"not this\n",
    }
    return archive(parts), x, y


def offer(
    monkeypatch, name: str, content: bytes, *addresses: str, checksum: str | None = None
) -> str:
    """Let the loader of `name` look for `content` at these addresses; return the file's name."""
    old = published.REMOTES[name]
    kind = sha256 if old.checksum.startswith("sha256") else git_blob
    remote = replace(
        old,
        checksum=checksum or kind(content),
        addresses=tuple(f"{a}/{old.file}" for a in addresses),
    )
    monkeypatch.setitem(published.REMOTES, name, remote)
    return old.file


def dead_address() -> str:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


# Purchase100, Texas100 and Location30


@pytest.mark.parametrize("name", SHAPES)
def test_a_table_is_downloaded_verified_parsed_and_kept(name, site, home, monkeypatch):
    content, x, y = original(name)
    file = offer(monkeypatch, name, content, site.address)
    site.files[file] = content
    records = data.load(name)
    assert records.x.dtype == np.uint8
    assert_array_equal(records.x, x)
    assert_array_equal(records.y, y)
    assert (records.name, records.classes, records.shift, records.scale) == (
        name,
        SHAPES[name][1],
        (0.0,),
        (1.0,),
    )
    assert files_in(home) == {"downloads", f"downloads/{file}", f"downloads/{name}.npz"}

    site.files.clear()
    (home / "downloads" / file).unlink()
    forget()
    assert data.load(name).fingerprint == records.fingerprint
    assert site.asked == [file]


def test_the_real_addresses_are_pinned_and_checked():
    for remote in published.REMOTES.values():
        first, second = remote.addresses
        assert "privacytrustlab/datasets" in first
        assert "169de9de00de049dd2e571cf7279e64698ac046a" in first
        assert second.startswith("https://www.comp.nus.edu.sg/")
        assert first.endswith(remote.file)
        assert second.endswith(remote.file)
        algorithm, _, digest = remote.checksum.partition(":")
        assert len(bytes.fromhex(digest)) == {"sha256": 32, "git-blob": 20}[algorithm]


@pytest.mark.parametrize("name", ["purchase100", "location30"])
def test_a_wrong_file_is_refused_and_leaves_nothing(name, site, home, monkeypatch):
    content, _, _ = original(name)
    file = offer(monkeypatch, name, content, site.address)
    site.files[file] = original(name, n=41)[0]
    with pytest.raises(ConnectionError, match="not the file that was expected"):
        data.load(name)
    assert files_in(home) == {"downloads"}


def test_a_download_that_breaks_off_leaves_nothing(site, home, monkeypatch):
    content, _, _ = original("purchase100")
    file = offer(monkeypatch, "purchase100", content, site.address)
    site.files[file] = content
    site.cut.add(file)
    with pytest.raises(
        ConnectionError, match=r"dataset_purchase\.tgz could not be had from any of its 1 addresses"
    ):
        data.load("purchase100")
    assert files_in(home) == {"downloads"}
    site.cut.clear()
    assert len(data.load("purchase100")) == 40


def test_a_short_file_that_claims_to_be_whole_leaves_nothing(site, home, monkeypatch):
    content, _, _ = original("purchase100")
    file = offer(monkeypatch, "purchase100", content, site.address)
    site.files[file] = content[:-100]
    with pytest.raises(ConnectionError, match=f"{len(content) - 100:,} bytes"):
        data.load("purchase100")
    assert files_in(home) == {"downloads"}


@pytest.mark.parametrize("fault", ["dead", "missing", "wrong", "cut"])
def test_the_second_address_serves_when_the_first_fails(fault, site, home, monkeypatch):
    content, x, _ = original("location30")
    file = offer(monkeypatch, "location30", content, dead_address(), site.address)
    site.files[file] = content
    if fault != "dead":
        remote = published.REMOTES["location30"]
        addresses = (f"{site.address}/first.tgz", remote.addresses[1])
        monkeypatch.setitem(published.REMOTES, "location30", replace(remote, addresses=addresses))
    if fault == "wrong":
        site.files["first.tgz"] = content + b"more"
    if fault == "cut":
        site.files["first.tgz"] = content
        site.cut.add("first.tgz")
    assert_array_equal(data.load("location30").x, x)
    assert site.asked == ([file] if fault == "dead" else ["first.tgz", file])
    assert files_in(home) == {"downloads", f"downloads/{file}", "downloads/location30.npz"}


def test_when_all_addresses_are_dead_each_is_named(home, monkeypatch):
    first, second = dead_address(), dead_address()
    offer(monkeypatch, "texas100", b"", first, second)
    with pytest.raises(ConnectionError) as caught:
        data.load("texas100")
    assert f"{first}/dataset_texas.tgz" in str(caught.value)
    assert f"{second}/dataset_texas.tgz" in str(caught.value)
    assert f"put the file into {home / 'downloads'}" in str(caught.value)
    assert files_in(home) == {"downloads"}


def test_a_file_put_there_by_hand_is_verified_too(site, home, monkeypatch):
    content, x, _ = original("location30")
    file = offer(monkeypatch, "location30", content)
    (home / "downloads").mkdir(parents=True)
    (home / "downloads" / file).write_bytes(content[:-1])
    with pytest.raises(ConnectionError, match="not the file that was expected"):
        data.load("location30")
    (home / "downloads" / file).write_bytes(content)
    assert_array_equal(data.load("location30").x, x)
    assert site.asked == []


def climbing(name: str) -> bytes:
    return archive({name: b"boo", "dataset_purchase": csv([[1] + [0] * 600])})


def linking() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        entry = tarfile.TarInfo("dataset_purchase")
        entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(entry)
    return buffer.getvalue()


@pytest.mark.filterwarnings("ignore:loadtxt")
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (climbing("../outside"), "climbs out"),
        (climbing("inside/../../outside"), "climbs out"),
        (climbing("/outside"), "climbs out"),
        (climbing("..\\outside"), "climbs out"),
        (climbing("C:/outside"), "climbs out"),
        (linking(), "is a link"),
        (archive({"something": b"else"}), "should hold dataset_purchase, but holds something"),
        (b"<html>not an archive</html>", "not a whole .tgz"),
        (original("purchase100")[0][:-2000], "not a whole .tgz"),
        (archive({"dataset_purchase": csv([[1] + [0] * 599])}), "600 zeros and ones"),
        (archive({"dataset_purchase": b""}), "found 0 rows"),
        (archive({"dataset_purchase": csv([[101] + [0] * 600])}), "0 … 99"),
        (archive({"dataset_purchase": csv([[0] + [0] * 600])}), "0 … 99"),
    ],
    ids=str.split(
        "up inside-up root backslash drive link other html cut ragged empty class-101 class-0"
    ),
)
def test_an_archive_with_something_wrong_inside_is_refused(
    content, words, site, home, monkeypatch, tmp_path
):
    file = offer(monkeypatch, "purchase100", content, site.address)
    site.files[file] = content
    with pytest.raises(ValueError, match=words):
        data.load("purchase100")
    assert not [name for name in files_in(tmp_path) if "outside" in name]
    assert files_in(home) == {"downloads", f"downloads/{file}"}


def test_a_damaged_cache_is_made_again(site, home, monkeypatch):
    content, x, _ = original("purchase100")
    site.files[offer(monkeypatch, "purchase100", content, site.address)] = content
    data.load("purchase100")
    cache = home / "downloads" / "purchase100.npz"
    whole = cache.read_bytes()
    middle = len(whole) // 2
    for damaged in (
        b"",
        whole[:middle],
        whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
    ):
        cache.write_bytes(damaged)
        forget()
        with pytest.warns(UserWarning, match=r"purchase100\.npz is damaged"):
            assert_array_equal(data.load("purchase100").x, x)
        assert cache.read_bytes() == whole


def test_a_full_disk_leaves_no_half_cache(tmp_path, monkeypatch):
    def half_written(file, **arrays):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", half_written)
    with pytest.raises(OSError, match="No space left"):
        published.cached(tmp_path / "x.npz", lambda: {"x": np.zeros(3)})
    assert files_in(tmp_path) == set()


def test_a_cache_with_pickled_objects_is_never_opened(tmp_path):
    np.savez(tmp_path / "x.npz", x=np.array([{"an": "object"}], dtype=object))
    with pytest.warns(UserWarning, match="damaged"):
        made = published.cached(tmp_path / "x.npz", lambda: {"x": np.zeros(3)})
    assert_array_equal(made["x"], np.zeros(3))


def test_git_blob_ids_are_those_of_git(tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "line").write_bytes(b"hello world\n")
    published.verify(tmp_path / "empty", "git-blob:e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")
    published.verify(tmp_path / "line", "git-blob:3b18e512dba79e4c8300dd08aeb37f8e728b8dad")
    with pytest.raises(ValueError, match="not the file"):
        published.verify(tmp_path / "line", "git-blob:e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")
    with pytest.raises(ValueError, match="should be md5:0, but is sha256:"):
        published.verify(tmp_path / "line", "md5:0")


# The parser


@given(
    y=st.lists(st.integers(0, 255), min_size=1, max_size=20),
    features=st.integers(1, 12),
    seed=st.integers(0, 99),
    newline=st.sampled_from(["\n", "\r\n"]),
    quotes=st.sampled_from(["", '"']),
    last=st.booleans(),
)
def test_tables_parse_as_written(y, features, seed, newline, quotes, last):
    x = np.random.default_rng(seed).integers(0, 2, (len(y), features))
    rows = [
        ",".join([f"{quotes}{label}{quotes}", *map(str, row)])
        for label, row in zip(y, x, strict=True)
    ]
    text = (newline.join(rows) + (newline if last else "")).encode()
    found_x, found_y = binary_table(io.BytesIO(text), features=features)
    alone, none = binary_table(io.BytesIO(csv(x)), features=features, label=False)
    empty, labels = binary_table(io.BytesIO(csv([[label] for label in y])), features=0)
    assert_array_equal(found_x, x)
    assert_array_equal(found_y, y)
    assert_array_equal(alone, x)
    assert_array_equal(none, np.zeros(len(y)))
    assert empty.shape == (len(y), 0)
    assert_array_equal(labels, y)
    assert found_x.dtype == np.uint8
    assert found_x.flags.c_contiguous


def by_hand(text: str) -> tuple[list, list]:
    """The slow parser: rows of a label and two features, blank lines passed over.

    Anything else is a ValueError.
    """
    rows = [[int(value) for value in row.split(",")] for row in text.split("\n") if row]
    if not rows or any(
        len(row) != 3 or not 0 <= row[0] <= 255 or not set(row[1:]) <= {0, 1} for row in rows
    ):
        raise ValueError(rows)
    return [row[1:] for row in rows], [row[0] for row in rows]


pieces = st.sampled_from(
    ["1,0,1\n", "23,1,1\n", "4,0,0", "\n", ",", "0", "1", "2", "-", "x", "/", ":", "99"]
)


@pytest.mark.filterwarnings("ignore:loadtxt")
@given(st.lists(pieces, min_size=1, max_size=6).map("".join))
def test_any_text_is_parsed_rightly_or_refused(text):
    try:
        expected = by_hand(text)
    except ValueError:
        with pytest.raises(ValueError, match="Every row should hold a label and 2 zeros and ones"):
            binary_table(io.BytesIO(text.encode()), features=2)
    else:
        x, y = binary_table(io.BytesIO(text.encode()), features=2)
        assert (x.tolist(), y.tolist()) == expected


# CIFAR-10, CIFAR-100, SVHN and ImageNet


def md5(content: bytes) -> str:
    return hashlib.md5(content).hexdigest()


def cifar(monkeypatch, site, name: str, n: int = 4) -> tuple[np.ndarray, list[int]]:
    """Offer a small CIFAR in the original format: pickled batches of n rows in a .tar.gz."""
    from torchvision.datasets import CIFAR10, CIFAR100

    dataset, key, classes = {
        "cifar10": (CIFAR10, "labels", 10),
        "cifar100": (CIFAR100, "fine_labels", 100),
    }[name]
    rng = np.random.default_rng(0)
    contents, x, y = {}, [], []
    lists = {
        "train_list": [row[0] for row in dataset.train_list],
        "test_list": [row[0] for row in dataset.test_list],
    }
    for attribute, files in lists.items():
        for file in files:
            rows, labels = (
                rng.integers(0, 256, (n, 3072), np.uint8),
                rng.integers(0, classes, n).tolist(),
            )
            x, y = [*x, rows], y + labels
            contents[file] = pickle.dumps({"data": rows, key: labels})
        monkeypatch.setattr(dataset, attribute, [[file, md5(contents[file])] for file in files])
    meta = dataset.meta["filename"]
    contents[meta] = pickle.dumps({dataset.meta["key"]: [str(i) for i in range(classes)]})
    monkeypatch.setattr(dataset, "meta", {**dataset.meta, "md5": md5(contents[meta])})
    packed = archive(
        {f"{dataset.base_folder}/{file}": content for file, content in contents.items()}
    )
    site.files[dataset.filename] = packed
    monkeypatch.setattr(dataset, "url", f"{site.address}/{dataset.filename}")
    monkeypatch.setattr(dataset, "tgz_md5", md5(packed))
    return np.concatenate(x).reshape(-1, 3, 32, 32), y


@pytest.mark.parametrize("name", ["cifar10", "cifar100"])
def test_cifar_is_train_and_test_together(name, site, home, monkeypatch):
    x, y = cifar(monkeypatch, site, name)
    records = data.load(name)
    assert_array_equal(records.x, x)
    assert_array_equal(records.y, y)
    assert files_in(home) == {"downloads", f"downloads/{name}.npz"}
    site.files.clear()
    past = data.load(f"{name}_past")
    assert_array_equal(past.x, x)
    assert past.name == name
    assert past.fingerprint != records.fingerprint
    np.testing.assert_allclose(past.scaled(), x / 255, rtol=1e-6)
    mean, deviation = {
        "cifar10": ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)),
        "cifar100": ((0.5070, 0.4865, 0.4409), (0.2673, 0.2564, 0.2761)),
    }[name]
    by_channel = (x / 255 - np.reshape(mean, (3, 1, 1))) / np.reshape(deviation, (3, 1, 1))
    np.testing.assert_allclose(records.scaled(), by_channel, atol=1e-5)


@pytest.mark.parametrize("fault", ["wrong", "cut", "missing"])
def test_a_broken_cifar_leaves_nothing(fault, site, home, monkeypatch):
    cifar(monkeypatch, site, "cifar10")
    (file,) = site.files
    if fault == "wrong":
        site.files[file] += b"more"
    elif fault == "cut":
        site.cut.add(file)
    else:
        site.files.clear()
    with pytest.raises(ConnectionError, match="cifar10 could not be downloaded"):
        data.load("cifar10")
    assert files_in(home) == {"downloads"}


def test_original_files_that_are_there_already_are_used(site, home, monkeypatch):
    x, _ = cifar(monkeypatch, site, "cifar10")
    (packed,) = site.files.values()
    (home / "downloads").mkdir(parents=True)
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        tar.extractall(home / "downloads", filter="data")
    assert_array_equal(data.load("cifar10").x, x)
    assert site.asked == []


def test_svhn_is_train_and_test_with_ten_for_zero(site, home, monkeypatch):
    from scipy.io import savemat
    from torchvision.datasets import SVHN

    rng, splits, x, y = np.random.default_rng(0), {}, [], []
    for part, n in (("train", 7), ("test", 5)):
        images, labels = rng.integers(0, 256, (32, 32, 3, n), np.uint8), rng.integers(1, 11, (n, 1))
        labels[0] = 10
        buffer, file = io.BytesIO(), f"{part}_32x32.mat"
        savemat(buffer, {"X": images, "y": labels})
        site.files[file] = buffer.getvalue()
        splits[part] = [f"{site.address}/{file}", file, md5(buffer.getvalue())]
        x, y = [*x, images.transpose(3, 2, 0, 1)], [*y, labels[:, 0] % 10]
    monkeypatch.setattr(SVHN, "split_list", splits)
    records = data.load("svhn")
    assert_array_equal(records.x, np.concatenate(x))
    assert_array_equal(records.y, np.concatenate(y))
    np.testing.assert_allclose(records.scaled(), np.concatenate(x) / 255, rtol=1e-6)
    assert files_in(home) == {"downloads", "downloads/svhn.npz"}


def test_imagenet_comes_from_a_folder_at_224_pixels(home, monkeypatch):
    from PIL import Image

    with pytest.raises(FileNotFoundError, match="image-net"):
        data.load("imagenet")
    rng = np.random.default_rng(0)
    for part, sizes in (("train", [(300, 260), (224, 500), (256, 256)]), ("val", [(256, 256)])):
        for label in ("n01", "n02"):
            folder = home / "downloads" / "imagenet" / part / label
            folder.mkdir(parents=True)
            for i, (width, height) in enumerate(sizes):
                Image.fromarray(rng.integers(0, 256, (height, width, 3), np.uint8)).save(
                    folder / f"{i}.JPEG"
                )
    records = data.load("imagenet")
    assert records.x.shape == (8, 3, 224, 224)
    assert_array_equal(records.y, [0, 0, 0, 1, 1, 1, 0, 1])
    with Image.open(home / "downloads" / "imagenet" / "val" / "n02" / "0.JPEG") as image:
        middle = np.asarray(image)[16:240, 16:240].transpose(2, 0, 1)
    assert_array_equal(records.x[7], middle)
    expected = (middle / 255 - np.reshape([0.485, 0.456, 0.406], (3, 1, 1))) / np.reshape(
        [0.229, 0.224, 0.225], (3, 1, 1)
    )
    np.testing.assert_allclose(records.take([7]).scaled()[0], expected, atol=1e-4)
    share = data.load("imagenet", size=3, seed=1)
    assert_array_equal(share.x, records.x[share.index])
    assert_array_equal(share.y, records.y[share.index])


def test_more_images_than_fit_are_refused_before_they_are_read(home, monkeypatch):
    from PIL import Image

    from mialib.data import records

    folder = home / "downloads" / "imagenet" / "n01"
    folder.mkdir(parents=True)
    for i in range(4):
        Image.new("RGB", (256, 256)).save(folder / f"{i}.png")
    monkeypatch.setattr(records, "LARGEST", 3 * 3 * 224 * 224)
    with pytest.raises(ValueError, match=r"4 images of imagenet would take .* size=, at most 3\."):
        data.load("imagenet")
    assert len(data.load("imagenet", size=3)) == 3


# A share of a dataset


def test_size_keeps_a_random_share(site, home, monkeypatch):
    content, _, _ = original("purchase100", n=200)
    site.files[offer(monkeypatch, "purchase100", content, site.address)] = content
    whole, share, other = (
        data.load("purchase100", size=s, seed=seed) for s, seed in ((None, 0), (50, 1), (50, 2))
    )
    assert len(set(share.index)) == 50
    assert_array_equal(share.x, whole.x[share.index])
    assert_array_equal(share.y, whole.y[share.index])
    assert set(share.index) != set(other.index)
    assert data.load("purchase100", size=50, seed=1) is share
    with pytest.raises(ValueError, match="purchase100 has 200 records, 201 were asked for"):
        data.load("purchase100", size=201)
