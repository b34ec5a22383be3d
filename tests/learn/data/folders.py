"""Small data sets in exactly the layouts of the real ones."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

if TYPE_CHECKING:
    from pathlib import Path

SPECIES = [
    # kingdom, phylum, class, order, family, genus, epithet, common name
    ("Animalia", "Chordata", "Aves", "Passeriformes", "Turdidae", "Turdus", "merula", "Eurasian Blackbird"),
    ("Animalia", "Chordata", "Aves", "Passeriformes", "Turdidae", "Turdus", "migratorius", "American Robin"),
    ("Animalia", "Chordata", "Aves", "Passeriformes", "Muscicapidae", "Oenanthe", "oenanthe", "Northern Wheatear"),
    (
        "Plantae",
        "Tracheophyta",
        "Magnoliopsida",
        "Apiales",
        "Apiaceae",
        "Oenanthe",
        "crocata",
        "Hemlock Water-dropwort",
    ),
]


def write_image(
    path: Path, colour: tuple[int, int, int] = (200, 40, 10), size: tuple[int, int] = (40, 30)
) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path)


def categories() -> list[dict[str, Any]]:
    listed = []
    for i, (kingdom, phylum, klass, order, family, genus, epithet, common) in enumerate(SPECIES):
        ranks = {"kingdom": kingdom, "phylum": phylum, "class": klass, "order": order, "family": family}
        folder = "_".join([f"{i:05d}", *ranks.values(), genus, epithet])
        listed.append(
            {
                "id": i,
                "name": f"{genus} {epithet}",
                "common_name": common,
                "supercategory": "Birds" if kingdom == "Animalia" else "Plants",
                **ranks,
                "genus": genus,
                "specific_epithet": epithet,
                "image_dir_name": folder,
            }
        )
    return listed


def write_inat21(folder: Path, train: str = "train_mini", images: int = 3) -> None:
    """The files of the public release; images and annotations in an order of their own."""
    for split, count in ((train, images), ("val", 1)):
        listed = []
        for category in categories():
            for k in range(count):
                name = f"{split}/{category['image_dir_name']}/{category['id']}{k}-uuid.jpg"
                write_image(folder / name, (60 * category["id"], 30, 30))
                listed.append((category["id"] * 100 + k, name, category["id"]))
        listed.reverse()
        data = {
            "info": {"year": 2021},
            "images": [
                {"id": i, "width": 40, "height": 30, "file_name": name, "license": 0, "rights_holder": "x"}
                for i, name, _ in listed
            ],
            "annotations": [
                {"id": 7 * i, "image_id": i, "category_id": category} for i, _, category in sorted(listed)
            ],
            "categories": categories()[::-1],
            "licenses": [],
        }
        (folder / f"{split}.json").write_text(json.dumps(data), encoding="utf-8")


WORDNET_EDGES = (
    "n00001930,n02084071\nn02084071,n02085620\nn02084071,n02085782\nn00001930,n01440764\n"  # dogs and a tench
)


def write_imagenet(folder: Path, images: int = 3) -> Path:
    for split in ("train", "val"):
        for wordnet_id in ("n02085620", "n02085782", "n01440764"):
            for k in range(images):
                name = f"{wordnet_id}_{k}.JPEG" if split == "train" else f"ILSVRC2012_val_{k:08d}.JPEG"
                write_image(folder / split / wordnet_id / name)
    tree = folder / "tree.csv"
    tree.write_text(WORDNET_EDGES, encoding="utf-8")
    return tree


def gradient_image(width: int, height: int) -> Image.Image:
    """Red grows to the right, green downwards."""
    red = np.broadcast_to(np.linspace(0, 255, width)[None], (height, width))
    green = np.broadcast_to(np.linspace(0, 255, height)[:, None], (height, width))
    return Image.fromarray(np.stack([red, green, np.zeros_like(red)], axis=2).astype(np.uint8))
