"""The examples of docs/clusters.md run, each on the real engine, and leave a dataset that is whole."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import penstock as ps

PAGE = (Path(__file__).parents[2] / "docs" / "clusters.md").read_text(encoding="utf-8")
# A block that follows the code is what it prints.
BLOCK = r"^```text\n(.*?)^```$"
RECIPE = re.compile(rf"^## (\w+)\n(?:(?!^## ).)*?{BLOCK}(?:\n+{BLOCK})?", re.MULTILINE | re.DOTALL)
RECIPES = {name: (code, printed) for name, code, printed in RECIPE.findall(PAGE)}

# Few processes, and nothing that looks for the network.
SMALL = {
    "Ray": "import ray\nray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)\n",
    "Spark": "from pyspark.sql import SparkSession\n"
    "SparkSession.builder.master('local[2]').config('spark.ui.enabled', False).getOrCreate()\n",
    "Beam": "",
}


@pytest.mark.parametrize("engine", SMALL)
def test_a_recipe_runs_and_leaves_a_whole_dataset(engine: str, tmp_path: Path):
    code, printed = RECIPES[engine]
    script = tmp_path / "recipe.py"
    script.write_text(SMALL[engine] + code.replace("/shared/train", str(tmp_path / "train")))
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    result = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300, env=environment)
    assert result.returncode == 0, result.stderr
    assert printed in result.stdout
    ds = ps.Dataset(tmp_path / "train")
    assert sorted(int(row["x"]) for row in ds) == list(range(1000))
    assert len(ds.files) == 8
    assert ps.Manifest.load(tmp_path / "train.penstock.json").verify(tmp_path) == []
