"""The code blocks of the page on Python and of the README, run against real hubs."""

from __future__ import annotations

import contextlib
import io
import os
import random
import re
import shutil
import sys
from pathlib import Path
from typing import Any, Dict, List, Tuple
from unittest import mock

from workbench_hub import Hub

from .site import MODEL, SCRIPT, OnSite, recorded_requests, setting

PACKAGE = Path(__file__).parents[1]
PAGE = PACKAGE.parent / "docs" / "python.md"
# What the first example with an open study prepares for the others.
OPEN_STUDY = """
from workbench_hub import Open, Range
vary = {"angle": Range(5, 85), "aim": Range(-60, 60)}
job = {"model": "ball.xml", "script": "throw.js", "labels": ["mujoco"], "values": {"range": "throw.json#$.range"}}
"""
BLOCK = re.compile(r"(?:<!-- (\w+) -->\n)?```python\n(.*?)```", re.DOTALL)


class Page(OnSite):
    def setUp(self) -> None:
        super().setUp()
        shutil.copy(SCRIPT, self.folder)
        # A model of its own for each test, which the hub does not have yet.
        (self.folder / MODEL.name).write_bytes(MODEL.read_bytes() + f"<!-- {self.id()} -->".encode())
        shutil.copy(setting("WB_TEST_CA_FILE"), self.folder / "ca.pem")
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        self.names: Dict[str, Any] = {}

    def blocks(self, path: Path) -> List[Tuple[str, str]]:
        """Mark and code of each block; addresses are those of the hubs of this test."""
        text = path.read_text(encoding="utf-8")
        text = text.replace("http://127.0.0.1:8080", setting("WB_TEST_URL"))
        text = text.replace("https://hub.example.com:8443", setting("WB_TEST_SECURE_URL"))
        return [(mark, code) for mark, code in BLOCK.findall(text)]

    def run_block(self, code: str) -> str:
        """Runs a block with the names of those before it, and returns what it prints."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "block", "exec"), self.names)
        return printed.getvalue()

    def marked(self, mark: str) -> str:
        return next(code for each, code in self.blocks(PAGE) if each == mark)

    def test_all_blocks_run_one_after_the_other(self) -> None:
        blocks = [code for mark, code in self.blocks(PAGE) if mark == ""]
        made = recorded_requests(self)
        printed = [self.run_block(code) for code in blocks[:2]]
        self.assertEqual(len([path for path in made if path.endswith("/upload")]), 1)
        self.assertEqual(len([path for path in made if path.endswith("/create")]), 51)
        printed += [self.run_block(code) for code in blocks[2:]]
        self.assertRegex(printed[0], r"^40\.\d+ m on mujoco-\d\n$")
        self.assertEqual(self.contents(self.folder / "results").keys(), {"throw.json"})
        self.assertEqual(printed[1], "{'angle': 45.0, 'aim': 0}\n")
        rows = [line.split() for line in printed.pop(2).splitlines()]
        self.assertEqual(len(rows), 15)
        self.assertEqual({row[2] for row in rows if row[0] in ("15", "75")}, {"RULE_FAILED"})
        self.assertEqual(next(row for row in rows if row[:3] == ["45", "0", "FINISHED"])[3][:4], "40.7")
        self.assertEqual(printed.pop(2), "9 results, 0 points tried again\n")
        self.assertRegex(printed.pop(2), r"^\[35\.3\d+, 35\.3\d+\]\n$")
        self.assertRegex(printed[2], r"range 35\.3\d\d m\n$")
        self.assertEqual(self.contents(self.folder / "steep").keys(), {"throw.json"})
        self.assertIn("mujoco-1 3.14.0 is idle\n", printed[3])
        self.assertRegex(printed[4], r"has finished\n$")
        self.assertEqual(self.contents(self.folder / "big"), {"big.bin": bytes(3_000_000)})
        self.assertEqual(printed[6], "anna\nanna\n")

    def test_the_profile_file_of_the_page_names_a_hub(self) -> None:
        text = PAGE.read_text(encoding="utf-8").replace("https://hub.example.com:8443", setting("WB_TEST_SECURE_URL"))
        found = re.search(r"```json\n(.*?)```", text, re.DOTALL)
        assert found is not None
        path = self.folder / "profiles.json"
        path.write_text(found.group(1), encoding="utf-8")
        path.chmod(0o600)
        clean = {"WB_PROFILES": str(path), "WB_URL": "", "WB_TOKEN": "", "WB_PROFILE": ""}
        with mock.patch.dict(os.environ, clean):
            self.assertEqual(Hub().url, setting("WB_TEST_SECURE_URL"))
            self.assertEqual(Hub(profile="site")._access.token(), "wbh_…")

    def test_the_blocks_of_the_readme_run(self) -> None:
        for _, code in self.blocks(PACKAGE / "README.md"):
            self.run_block(code)
        self.assertTrue((self.folder / "results" / "throw.json").exists())

    def test_a_sweep_of_50_points_takes_6_lines(self) -> None:
        sweep = [code for _, code in self.blocks(PAGE) if "number in range(50)" in code][0]
        self.assertLessEqual(len([line for line in sweep.splitlines() if line.strip()]), 6)

    def test_scipy_finds_the_farthest_throw(self) -> None:
        try:
            import scipy.optimize
        except ImportError:
            self.skipTest("scipy is not installed")
        self.assertTrue(scipy.optimize)
        self.run_block(f"from workbench_hub import Hub\nhub = Hub({self.hub.url!r})")
        for mark in ("scipy", "scipy_study"):
            with self.subTest(mark):
                self.run_block(self.marked(mark))
                best = self.names["best"]
                self.assertAlmostEqual(best.x[0], 45, delta=3)
                self.assertAlmostEqual(best.x[1], 0, delta=5)
                self.assertAlmostEqual(-best.fun, 20**2 / 9.81, delta=0.3)
        self.assertEqual(self.names["study"].state(), "STOPPED")

    def test_optuna_finds_the_farthest_throw(self) -> None:
        try:
            import optuna
        except ImportError:
            self.skipTest("optuna is not installed")
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        with mock.patch.dict(os.environ, {"WB_URL": self.hub.url}):
            self.run_block("from workbench_hub import Hub\nhub = Hub()")
            self.run_block(self.marked("optuna"))
            found = [self.names["study"]]
            self.run_block(OPEN_STUDY)
            self.run_block(self.marked("optuna_study"))
            found.append(self.names["search"])
        for study in found:
            self.assertEqual(len(study.trials), 40)
            self.assertAlmostEqual(study.best_params["angle"], 45, delta=5)
            self.assertAlmostEqual(study.best_params["aim"], 0, delta=5)
            self.assertGreater(study.best_value, 0.98 * 20**2 / 9.81)

    def test_an_optimizer_is_told_of_points_that_failed(self) -> None:
        try:
            import optuna
        except ImportError:
            self.skipTest("optuna is not installed")
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.run_block(f"from workbench_hub import Hub\nhub = Hub({self.hub.url!r})\n{OPEN_STUDY}")
        self.run_block(self.marked("optuna_study").replace("(0, None)", "(30, None)"))
        trials = self.names["search"].trials
        rows = self.names["study"].points()
        self.assertEqual({row["outcome"] for row in rows}, {"FINISHED", "RULE_FAILED"})
        self.assertEqual(
            [trial.state.name == "COMPLETE" for trial in trials], [row["outcome"] == "FINISHED" for row in rows]
        )

    def test_a_loop_of_questions_and_answers_sees_all_its_points(self) -> None:
        asked: List[List[float]] = []

        class Optimizer:
            """Stands in for that of scikit-optimize, which Debian does not have."""

            def __init__(self, dimensions: List[Tuple[float, float]], random_state: int) -> None:
                self._random = random.Random(random_state)
                self._dimensions = dimensions

            def ask(self, n_points: int) -> List[List[float]]:
                return [[self._random.uniform(*each) for each in self._dimensions] for _ in range(n_points)]

            def tell(self, x: List[List[float]], y: List[float]) -> None:
                asked.extend(x)

        self.run_block(f"from workbench_hub import Hub\nhub = Hub({self.hub.url!r})\n{OPEN_STUDY}")
        with mock.patch.dict(sys.modules, skopt=mock.Mock(Optimizer=Optimizer)):
            printed = self.run_block(self.marked("skopt_study"))
        self.assertEqual(len(asked), 40)
        self.assertRegex(printed, "'outcome': 'FINISHED'")
