"""The command line answers what the functions answer, and its exit status says how it went."""

import io
import json
import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from calc import estimate, plan
from calc.calculators.options import fleet
from calc.command.arguments import main, names, parser
from calc.command.verbs import answered
from calc.lines.comparing import read_line
from calc.units import show_gib, show_number, show_seconds

ROOT = Path(__file__).parents[2]


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Return the exit status of a command line and what it printed."""
    status = main(arguments)
    return status, capsys.readouterr().out


def reported(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    """Return the exit status of a command line and its JSON."""
    status, out = said(capsys, *arguments, "--json")
    return status, json.loads(out)


PAGE = (ROOT / "docs/reference/command-line.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^(?:echo '(.*)' \| )?calc (.*?)(?: \| jq .*)?$", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("piped", "line"), SHOWN, ids=[line for _, line in SHOWN])
def test_the_page_s_commands_work(piped: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command that the page shows is answered as it stands there."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(piped))
    assert main(shlex.split(line)) in (0, 1)


def test_fit_is_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    """With --json it prints what `estimate` returns for the scenario, and 0 where it fits."""
    status, report = reported(capsys, "fit", "llama-3.1-8b", "RTX 4090", "-w", "q4_k_m", "-c", "32k")
    scenario = {"model": "llama-3.1-8b", "accelerator": "RTX 4090", "weights": "q4_k_m", "context_tokens": "32k"}
    assert status == 0 and report == estimate({**scenario, "engine": "usual"})


def test_fit_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    """Without it comes the sentence of the calculator, the parts that add up, and 1 where it does not fit."""
    status, out = said(capsys, "fit", "llama-3.3-70b", "2x3090")
    memory: Any = estimate({"model": "llama-3.3-70b", "accelerator": "2x3090", "engine": "usual"})["memory"]
    assert status == 1 and out.startswith(f"It does not fit, {show_gib(-memory['headroom_bytes'])} are missing")
    assert re.search(rf"^Total +{show_gib(memory['device_bytes'])}", out, re.MULTILINE)


def test_memory_alone_needs_no_device(capsys: pytest.CaptureFixture[str]) -> None:
    """A model alone is answered with what it takes, without an engine."""
    status, out = said(capsys, "fit", "llama-3.1-8b", "-w", "bf16")
    report: Any = estimate({"model": "llama-3.1-8b", "weights": "bf16"})
    assert status == 0 and f"It takes {show_gib(report['memory']['device_bytes'])}" in out


def test_training_and_any_field(capsys: pytest.CaptureFixture[str]) -> None:
    """--train makes a training scenario, and --set any of its fields, as JSON or as text."""
    arguments = (
        "fit",
        "llama-3.1-8b",
        "4x H100",
        "--train",
        "full",
        "--set",
        "sharding=zero-3",
        "--set",
        "micro_batch=2",
    )
    status, report = reported(capsys, *arguments)
    assert status == 0 and report["scenario"]["sharding"] == "zero-3" and report["scenario"]["micro_batch"] == 2
    lora = reported(capsys, "fit", "llama-3.1-8b", "--train", "lora", "--set", 'lora={"rank": 64}')[1]
    assert lora["scenario"]["lora"]["rank"] == 64


def test_a_scenario_from_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A file holds a scenario; arguments beside it win."""
    file = tmp_path / "scenario.json"
    file.write_text(json.dumps({"model": "llama-3.1-8b", "weights": "awq", "engine": "vllm"}))
    _, report = reported(capsys, "fit", "--scenario", str(file), "-w", "fp8")
    assert (report["scenario"]["weights"], report["scenario"]["engine"]) == ("fp8", "vllm")


def test_explain_is_the_working(capsys: pytest.CaptureFixture[str]) -> None:
    """Each step is printed with its numbers and its source."""
    _, out = said(capsys, "explain", "llama-3.1-8b", "RTX 4090")
    report: Any = estimate({"model": "llama-3.1-8b", "accelerator": "RTX 4090", "engine": "usual"})
    assert all(step["name"] in out and step["substituted"] in out and step["source"] in out for step in report["steps"])


def test_plan_is_the_planner(capsys: pytest.CaptureFixture[str]) -> None:
    """Arguments make a question; its options come in the order of the planner."""
    arguments = ("plan", "hardware", "-m", "gpt-oss-120b", "--users", "4", "--price", "20000", "--count", "3")
    status, found = reported(capsys, *arguments)
    question = {
        "want": "hardware",
        "model": "gpt-oss-120b",
        "need": {"users": 4},
        "limits": {"price": 20000.0},
        "count": 3,
    }
    assert status == 0 and [option["scenario"] for option in found["options"]] == [
        option["scenario"]
        for option in plan(question)["options"]  # type: ignore[attr-defined]
    ]
    _, out = said(capsys, *arguments)
    places = [out.index(fleet(option)) for option in found["options"]]
    assert places == sorted(places)
    status, out = said(capsys, "plan", "hardware", "-m", "llama-3.1-405b", "--price", "100")
    assert status == 1 and "Nothing serves" in out


def test_ask_answers_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A line is answered in words; what was not understood is said; JSON has the reading and the report."""
    status, out = said(capsys, "ask", "llama", "3.3", "70b", "on", "2x3090", "with", "foolink")
    assert status == 0 and "It likely fits" in out and "left out: foolink" in out and "KV cache" in out
    _, found = reported(capsys, "ask", "qlora 13b 4090")
    assert found["reading"]["asks"] == "training" and found["report"]["memory"]["fits"]
    run = "pretrain 7b 2 trillion tokens 512 h100"
    _, timed = reported(capsys, "ask", run)
    days = show_seconds(timed["report"]["speed"]["duration_s"]["typical"])
    _, out = said(capsys, "ask", run)
    assert out.count(days) == 2 and f"{days} for full training of Qwen2.5 7B" in out  # the sentence and the table
    _, listed = reported(capsys, "ask", "max context for qwen3 32b on a 3090")
    assert listed["answer"]["options"]
    assert said(capsys, "ask", "run flux on a 4090")[0] == 1


def test_ask_lists_what_stands_in_servers_or_on_a_processor_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """A processor alone is no accelerator, and servers that stand side by side are counted, as their price is."""
    status, out = said(capsys, "ask", "8gb laptop")
    assert status == 0 and "a processor alone" in out.partition("Each answer")[2]
    assert re.search(r"\d servers of \d × ", said(capsys, "ask", "serve llama 3.3 70b to 200 people")[1])


def test_sides_of_a_line_are_those_that_its_sentence_compares(capsys: pytest.CaptureFixture[str]) -> None:
    """Where one card holds more bits, both are told in the format that both hold, in tables and as JSON too."""
    line = "3060 12gb vs 3090 for llama 8b"
    status, out = said(capsys, "ask", line)
    assert status == 0 and out.startswith("Both fit in Q8_0.") and out.count("7.97 GB") == 2
    _, found = reported(capsys, "ask", line)
    small, large = (side["report"]["speed"]["decode_tokens_per_s"]["typical"] for side in found["sides"])
    assert f"writes {show_number(large / small)} times as many tokens" in out
    _, asked = reported(capsys, "ask", "what runs on a 4090 or a 3090")
    assert all(side["answer"]["options"] for side in asked["sides"])
    assert "scenario" not in answered(dict(read_line("hello")))


def test_what_is_wrong_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Every wrong field is named on standard error, and the status is 2."""
    assert main(["fit", "llama-9", "RTX 4090", "-w", "q4_k_x"]) == 2
    said_ = capsys.readouterr().err
    assert "calc: model:" in said_ and "calc: weights:" in said_
    assert main(["fit", "llama-3.1-8b", "--set", "nonsense"]) == 2 and "FIELD=VALUE" in capsys.readouterr().err
    assert main(["fit", "--scenario", str(tmp_path / "none.json")]) == 2 and "cannot be read" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stopped:
        main(["nonsense"])
    assert stopped.value.code == 2


def test_names_are_completed() -> None:
    """A shell with argcomplete completes ids of the catalogue."""
    assert "llama-3.3-70b" in names("models")(prefix="llama-3.3")
    verb: Any = parser()._subparsers._group_actions[0].choices["fit"]  # type: ignore[union-attr]
    completers = {action.dest: action.completer for action in verb._actions if hasattr(action, "completer")}
    assert set(completers) == {"model", "accelerator", "weights"} and "q4_k_m" in completers["weights"]("q4_k")


def test_as_a_module() -> None:
    """`python -m calc` is the command."""
    command = [sys.executable, "-m", "calc", "fit", "llama-3.1-8b", "RTX 4090", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["memory"]["fits"] is True


def test_the_wheel_is_the_whole_distribution(tmp_path: Path) -> None:
    """The wheel that the site offers answers by itself, from its own facts, and brings the command `calc`."""
    from macros.downloads import wheel

    made = wheel()
    with zipfile.ZipFile(made) as opened:
        opened.extractall(tmp_path)
        (scripts,) = [name for name in opened.namelist() if name.endswith("entry_points.txt")]
        assert "calc=calc.command.arguments:main" in opened.read(scripts).decode().replace(" ", "")
    ask = "import calc; print(calc.__file__, calc.estimate({'model': 'llama-3.1-8b'})['model']['parameters_total'])"
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path[0:0] = [{str(tmp_path)!r}]; {ask}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(str(tmp_path)) and done.stdout.strip().endswith("8030261248")
