from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest

from hedgerow import methods
from hedgerow.errors import FileError, ParameterError
from hedgerow.files import descriptions
from hedgerow.learn import data
from hedgerow.learn.training.recipe import Recipe, available

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", available())
def test_shipped_recipes_name_what_exists_and_survive_a_round_trip(name: str) -> None:
    recipe = Recipe.load(name)
    assert recipe.data.name in data.LOADERS
    assert set(recipe.data.params) <= set(data.parameters(recipe.data.name))
    assert recipe.method.name in methods.METHODS
    assert Recipe.from_tables(tomllib.loads(recipe.to_toml())) == recipe


def test_the_papers_hyper_parameters() -> None:
    inat, imagenet = (Recipe.load(name).optimiser for name in ("inat21mini-resnet18", "imagenet-resnet50"))
    assert (inat.epochs, inat.batch_size, inat.lr, inat.weight_decay, inat.momentum) == (20, 64, 0.01, 3e-4, 0.9)
    assert (imagenet.epochs, imagenet.batch_size, imagenet.lr, imagenet.weight_decay) == (50, 64, 0.01, 3e-4)


def test_changes() -> None:
    recipe = Recipe.load(
        "glyphs", ["optimiser.lr=1", "method.name=softmax-margin", "method.alpha=3", "run.seed = 4"]
    )
    assert recipe.optimiser.lr == 1.0
    assert (recipe.method.name, dict(recipe.method.params)) == ("softmax-margin", {"alpha": 3})
    assert recipe.run.seed == 4


def test_another_choice_drops_the_parameters_of_the_old_one() -> None:
    recipe = Recipe.load("glyphs-quick", ["data.name=features", "data.path=x.npz"])
    assert recipe.data.table() == {"name": "features", "path": "x.npz"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("optimizer.lr=1", "Did you mean 'optimiser'"),
        ("optimiser.learning_rate=1", "no 'learning_rate'"),
        ("optimiser.epoch=1", "Did you mean 'epochs'"),
        ("optimiser.lr=fast", "optimiser.lr must be a number above 0 and up to 1e+06, not 'fast'"),
        ("optimiser.lr=0", "optimiser.lr must be a number above 0 and up to 1e+06, not 0"),
        ("optimiser.epochs=1.5", "epochs must be a whole number"),
        ("optimiser.kind=lion", "one of 'sgd', 'adamw'"),
        ("run.compile=maybe", "one of 'auto', 'yes', 'no'"),
        ("lr=1", "section.key=value"),
        ("method.name=3", "needs a name"),
    ],
)
def test_mistakes_are_named(change: str, said: str) -> None:
    with pytest.raises(ParameterError) as error:
        Recipe.load("glyphs", [change])
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("lr", "0 -1 nan inf 1e308"),
        ("momentum", "-1 nan inf 1e308"),
        ("weight_decay", "-1 nan inf 1e308"),
        ("C", "-1 nan 1e-308 1e-300"),
        ("clip", "-1 nan"),
        ("epochs", "0 -1 nan inf 1e308 1e-308 10000000000000000000"),
        ("batch_size", "0 -1 nan inf 1e308 1e-308 10000000000000000000"),
        ("accumulate", "0 -1 nan inf 1e308 1e-308 10000000000000000000"),
    ],
)
def test_numbers_that_make_no_sense(key: str, values: str) -> None:
    for value in values.split():
        with pytest.raises(ParameterError, match=rf"{key} must be .*, not"):
            Recipe.load("features-linear", [f"optimiser.{key}={value}"])


def test_unknown_recipe_names_the_nearest() -> None:
    with pytest.raises(ParameterError, match="Did you mean 'glyphs-quick'"):
        Recipe.load("glyph-quick")


def test_files_that_are_not_recipes(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="does not exist"):
        Recipe.load(str(tmp_path / "none.toml"))
    broken = tmp_path / "broken.toml"
    broken.write_text("[data\n")
    with pytest.raises(FileError, match="is not valid TOML"):
        Recipe.load(str(broken))


def test_show_explains_every_field() -> None:
    recipe = Recipe.load("glyphs")
    shown = recipe.to_toml(explained=True)
    for section in (recipe.optimiser, recipe.run):
        docs = descriptions(type(section))
        assert set(docs) == set(vars(section))
        assert all(doc in shown.replace("\n# ", " ") for doc in docs.values())
    assert tomllib.loads(shown) == recipe.tables()
