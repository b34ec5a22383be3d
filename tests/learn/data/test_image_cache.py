"""Images that are kept at training size: the same to the last bit, decoded once, whatever happens to the file."""

from __future__ import annotations

import errno
import multiprocessing
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image
from torch.utils.data import DataLoader

from hedgerow.errors import FileError
from hedgerow.learn import data
from hedgerow.learn.data import ImageFiles, LabelledInputs

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIZE, NUMBER = 28, 6


@pytest.fixture
def photographs(tmp_path: Path) -> Path:
    """A folder of smooth photographs, twice as large as they are used or more."""
    folder = tmp_path / "photographs"
    folder.mkdir()
    random = np.random.default_rng(0)
    for i in range(NUMBER):
        coarse = Image.fromarray(random.integers(256, size=(5, 5, 3), dtype=np.uint8))
        coarse.resize((120 + 20 * i, 90), Image.Resampling.BICUBIC).save(folder / f"{i}.png")
    return folder


def files(folder: Path, cache: Path | None, *, size: int = SIZE, channels: int = 3) -> ImageFiles:
    return ImageFiles.of([f"{i}.png" for i in range(NUMBER)], folder, size, channels, cache=cache)


def read(images: ImageFiles, seed: int | None) -> NDArray[np.uint8]:
    generators = [None if seed is None else np.random.default_rng([seed, i]) for i in range(len(images))]
    return np.stack([images.read(i, rng) for i, rng in enumerate(generators)])


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The images that were decoded."""
    found = []
    decode = ImageFiles._decoded

    def watched(self: ImageFiles, path: Path, *given: Any) -> Any:
        found.append(path)
        return decode(self, path, *given)

    monkeypatch.setattr(ImageFiles, "_decoded", watched)
    return found


def damaged(cache: Path, change: Any) -> None:
    for path in cache.iterdir():
        content = bytearray(path.read_bytes())
        change(content)
        path.write_bytes(content)


@pytest.mark.parametrize("channels", [1, 3])
def test_what_is_not_changed_at_random_is_the_same_to_the_last_bit(
    channels: int, photographs: Path, tmp_path: Path, decoded: list[Path]
) -> None:
    expected = read(files(photographs, None, channels=channels), None)
    for _ in range(2):  # from the files, then from the cache
        decoded.clear()
        np.testing.assert_array_equal(read(files(photographs, tmp_path / "c", channels=channels), None), expected)
    assert decoded == []


def test_random_crops_are_of_the_same_parts(photographs: Path, tmp_path: Path, decoded: list[Path]) -> None:
    expected = read(files(photographs, None), 5).astype(float)
    other = read(files(photographs, None), 6).astype(float)
    first = read(files(photographs, tmp_path / "c"), 5)
    decoded.clear()
    again = read(files(photographs, tmp_path / "c"), 5)
    assert decoded == []
    np.testing.assert_array_equal(again, first)
    assert np.abs(first - expected).mean() < 4 < 20 < np.abs(other - expected).mean()


def test_parts_of_a_list_share_its_file(photographs: Path, tmp_path: Path, decoded: list[Path]) -> None:
    whole = files(photographs, tmp_path / "c")
    expected = read(whole, None)
    decoded.clear()
    np.testing.assert_array_equal(read(whole[np.array([4, 1])], None), expected[[4, 1]])
    examples = LabelledInputs(whole, np.zeros(NUMBER)).subset([3]).subset([0])
    np.testing.assert_array_equal(examples.as_torch_dataset()[0][0], expected[3])
    assert decoded == []
    assert len(list((tmp_path / "c").iterdir())) == 2
    read(files(photographs, tmp_path / "c", size=20), None)  # another size, other files
    assert len(list((tmp_path / "c").iterdir())) == 4


def test_an_image_that_changed_is_decoded_again(photographs: Path, tmp_path: Path, decoded: list[Path]) -> None:
    read(files(photographs, tmp_path / "c"), None)
    shutil.copy(photographs / "0.png", photographs / "3.png")
    decoded.clear()
    found = read(files(photographs, tmp_path / "c"), None)
    assert decoded == [photographs / "3.png"]
    np.testing.assert_array_equal(found[3], found[0])
    (photographs / "3.png").unlink()
    with pytest.raises(FileError, match="does not exist"):
        read(files(photographs, tmp_path / "c"), None)


def cut_short(content: bytearray) -> None:
    del content[len(content) // 2 :]


def flip(content: bytearray) -> None:
    for place in range(40, len(content), 1000):
        content[place] ^= 1


def erase(content: bytearray) -> None:
    content[: len(content) // 2] = bytes(len(content) // 2)


@pytest.mark.parametrize("change", [cut_short, flip, erase, bytearray.clear])
def test_a_damaged_file_is_mended(change: Any, photographs: Path, tmp_path: Path, decoded: list[Path]) -> None:
    images = files(photographs, tmp_path / "c")
    expected = read(images, None), read(images, 1)
    damaged(tmp_path / "c", change)
    decoded.clear()
    for seed, good in zip((None, 1), expected, strict=True):
        np.testing.assert_array_equal(read(images, seed), good)
    assert decoded
    decoded.clear()
    read(images, None)
    assert not decoded


def fill(images: ImageFiles) -> None:
    for _ in range(5):
        read(images, None)


def test_several_processes_fill_it(photographs: Path, tmp_path: Path, decoded: list[Path]) -> None:
    expected = read(files(photographs, None), None)
    images = files(photographs, tmp_path / "c")
    processes = [multiprocessing.get_context("fork").Process(target=fill, args=(images,)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    decoded.clear()
    loader = DataLoader(LabelledInputs(images, np.zeros(NUMBER)).as_torch_dataset(), batch_size=4, num_workers=2)
    np.testing.assert_array_equal(np.concatenate([batch.numpy() for batch, *_ in loader]), expected)
    np.testing.assert_array_equal(read(images, None), expected)
    assert decoded == []


def write_set(photographs: Path, folder: Path) -> None:
    for split in ("train", "test"):
        for name in ("cat", "dog"):
            shutil.copytree(photographs, folder / "set" / split / name)


def test_disks_that_are_full(photographs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images = files(photographs, tmp_path / "c")
    real_open = Path.open

    def full(self: Path, mode: str = "r", *given: Any, **options: Any) -> Any:
        if mode == "r+b":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real_open(self, mode, *given, **options)

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(FileError, match=r"No space left on device. Check the disk, or leave out data.cache"):
        read(images, None)
    monkeypatch.undo()

    write_set(photographs, tmp_path)
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1000))
    chosen = {"path": tmp_path / "set", "image_size": SIZE}
    with pytest.raises(FileError, match=r"0\.0 GB free, but the images need 0\.0 GB more"):
        data.load("images", **chosen, cache=str(tmp_path / "d"))
    data.load("images", **chosen)


def test_a_cache_that_is_gone_or_no_file_is_named(photographs: Path, tmp_path: Path) -> None:
    images = files(photographs, tmp_path / "c")
    (part, *_) = sorted((tmp_path / "c").iterdir())
    shutil.rmtree(tmp_path / "c")
    with pytest.raises(FileError, match=rf"{part.name} cannot be read: No such file or directory"):
        read(images, None)
    part.mkdir(parents=True)
    with pytest.raises(FileError, match=rf"{part.name} cannot be written: Is a directory\. Check the disk"):
        files(photographs, tmp_path / "c")


def test_data_sets_take_it(photographs: Path, tmp_path: Path, decoded: list[Path]) -> None:
    write_set(photographs, tmp_path)
    chosen = {"path": tmp_path / "set", "image_size": SIZE, "cache": str(tmp_path / "d" / "e"), "val_share": 0.5}
    for seed in (0, 0, 1):
        before = len(decoded)
        splits = data.load("images", **chosen, seed=seed)
        for part, augment in ((splits.train, True), (splits.val, False), (splits.test, False)):
            dataset = part.as_torch_dataset(augment=augment)
            for i in range(len(part)):
                assert dataset[i][0].shape == (SIZE, SIZE, 3)
        if seed == 0:
            assert len(decoded) == 4 * NUMBER  # each image once
    assert before < len(decoded) < 6 * NUMBER  # others are held out
    assert len(list((tmp_path / "d" / "e").iterdir())) == 4
