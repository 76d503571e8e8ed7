"""Variables, plans and values of studies in plain words, and as fields of the request (contract 12.45)."""

from __future__ import annotations

import math
import numbers
import re
from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, Union

from ._errors import UsageError
from ._job import text_of

# FILE#JSONPATH, FILE:COLUMN[:TAKE] or FILE~PATTERN.
VALUE = re.compile(r"(?P<file>[^#~:]+)(?P<sign>[#~:])(?P<rest>.+)", re.DOTALL)
TAKES = ("FIRST", "LAST", "MIN", "MAX", "MEAN", "SUM", "COUNT")


@dataclass(frozen=True)
class Range:
    """A variable by its bounds, both inclusive.

    Samples are taken from all of it. A grid needs levels: at a distance of `step`, or `count` of them, evenly spaced.
    `log` spaces levels and samples by the logarithm. An `integer` variable gets whole numbers only. `unit` is for
    people.
    """

    lower: Optional[float] = None
    upper: Optional[float] = None
    unit: Optional[str] = None
    log: bool = False
    integer: bool = False
    step: Optional[float] = None
    count: Optional[int] = None


@dataclass(frozen=True)
class LatinHypercube:
    """Samples of a Latin hypercube: those of `scipy.stats.qmc.LatinHypercube` with the same seed."""

    count: int
    seed: int = 0


@dataclass(frozen=True)
class Sobol:
    """Samples of a Sobol sequence: those of `scipy.stats.qmc.Sobol`, scrambled with the seed, or not without one."""

    count: int
    seed: Optional[int] = None


@dataclass(frozen=True)
class OneAtATime:
    """A base point, and each level of each variable with all others as in the base: by default, their first levels."""

    base: Optional[Mapping[str, object]] = None


@dataclass(frozen=True)
class Open:
    """No points at first: a program adds them, and the study waits for more until it is stopped."""


Samples = Union[LatinHypercube, Sobol]
Plan = Union[Samples, OneAtATime, Open]
Point = Mapping[str, object]
Points = Iterable[Point]
Varied = Union[Range, Iterable[object]]
Vary = Mapping[str, Varied]
Values = Mapping[str, Union[str, Mapping[str, Any]]]
Conditions = Mapping[str, Tuple[Optional[float], Optional[float]]]


@dataclass(frozen=True)
class StopRules:
    """When a study stops by itself: see `StudyMethods.study`."""

    after_failures: Optional[int] = None
    after: Optional[int] = None
    when: Optional[Conditions] = None


def study_fields(
    vary: Optional[Vary],
    points: Optional[Points],
    plan: Optional[Plan],
    values: Optional[Values],
    success: Optional[Conditions],
    *,
    stop: StopRules = StopRules(),
    reuse: bool = False,
    bundle: bool = False,
    notify: Optional[str] = None,
) -> Dict[str, Any]:
    """The fields of a study beside those of its job. Raises `UsageError`."""
    fields = _listed(points, plan, vary) if points is not None else _planned(plan, vary)
    if values:
        fields["values"] = [_value_of(name, value) for name, value in values.items()]
    if success:
        fields["success"] = [_condition_of(name, bounds) for name, bounds in success.items()]
    if stop.after_failures is not None:
        fields["stopAfterFailures"] = stop.after_failures
    if stop.after is not None:
        fields["stopAfter"] = stop.after
    if stop.when:
        fields["stopWhen"] = [_condition_of(name, bounds) for name, bounds in stop.when.items()]
    if reuse:
        fields["reuse"] = True
    if bundle:
        fields["bundle"] = True
    if notify is not None:
        fields["notify"] = notify
    return fields


def samples_of(plan: Samples) -> Dict[str, Any]:
    """A plan of samples, as the hub takes it."""
    if isinstance(plan, LatinHypercube):
        return {"kind": "LATIN_HYPERCUBE", "count": plan.count, "seed": plan.seed}
    return {"kind": "SOBOL", "count": plan.count, **({} if plan.seed is None else {"seed": plan.seed})}


def list_of(points: Points, text_names: Iterable[str]) -> Dict[str, Any]:
    """A plan that lists points, as the hub takes it; the variables `text_names` get texts."""
    texts = frozenset(text_names)
    listed = [
        {name: _point_value(name, value, name in texts) for name, value in point.items()} for point in points
    ]
    if not listed:
        raise UsageError("there must be at least one point")
    return {"kind": "LIST", "points": listed}


def _listed(points: Points, plan: Optional[Plan], vary: Optional[Vary]) -> Dict[str, Any]:
    if plan is not None:
        raise UsageError("give either points, or a plan")
    given = [dict(point) for point in points]
    names = list(given[0]) if given else []
    columns: Vary = vary or {name: [point[name] for point in given if name in point] for name in names}
    variables = [_variable_of(name, column) for name, column in columns.items()]
    texts = [each["name"] for each in variables if each.get("kind") == "TEXT"]
    return {"variables": variables, "plan": list_of(given, texts)}


def _planned(plan: Optional[Plan], vary: Optional[Vary]) -> Dict[str, Any]:
    if not vary:
        raise UsageError("a study needs vary, with the values of each variable, or points")
    # An iterator gives its values once only.
    known: Vary = {
        name: varied if isinstance(varied, (Range, range)) else _texts_or_numbers(name, varied)
        for name, varied in vary.items()
    }
    variables = [_variable_of(name, each) for name, each in known.items()]
    return {"variables": variables, "plan": _plan_of(plan, known)}


def _plan_of(plan: Optional[Plan], vary: Vary) -> Dict[str, Any]:
    if isinstance(plan, Open):
        return {"kind": "OPEN"}
    if isinstance(plan, (LatinHypercube, Sobol)):
        for name, varied in vary.items():
            if not isinstance(varied, Range) or varied.step is not None or varied.count is not None:
                raise UsageError(f"{name} must be a Range(lower, upper) without levels, as the plan takes samples")
        return samples_of(plan)
    levels = {name: _levels_of(name, varied) for name, varied in vary.items()}
    if isinstance(plan, OneAtATime):
        base = dict(plan.base or {})
        for name, each in levels.items():
            if name not in base:
                given = _required(name, each)
                base[name] = given["values"][0] if "values" in given else given["from"]
        texts = [name for name, varied in vary.items() if _variable_of(name, varied).get("kind") == "TEXT"]
        point = list_of([base], texts)["points"][0]
        return {"kind": "ONE_AT_A_TIME", "base": point, "levels": [each for each in levels.values() if each]}
    if plan is not None:
        raise UsageError("plan must be LatinHypercube, Sobol, OneAtATime or Open; a grid is the default")
    return {"kind": "GRID", "levels": [_required(name, each) for name, each in levels.items()]}


def _variable_of(name: str, varied: Varied) -> Dict[str, Any]:
    if not isinstance(varied, Range):
        is_text = any(isinstance(each, str) for each in _texts_or_numbers(name, varied))
        return {"name": name, **({"kind": "TEXT"} if is_text else {})}
    variable: Dict[str, Any] = {"name": name}
    if varied.integer:
        variable["kind"] = "INTEGER"
    if varied.unit is not None:
        variable["unit"] = varied.unit
    for bound, value in (("lower", varied.lower), ("upper", varied.upper)):
        if value is not None:
            variable[bound] = _number(name, value)
    if varied.log:
        variable["scale"] = "LOGARITHMIC"
    return variable


def _levels_of(name: str, varied: Varied) -> Optional[Dict[str, Any]]:
    """Levels as the hub takes them; `None` for bounds without levels."""
    if isinstance(varied, range) and len(varied) > 1:
        return {"variable": name, "from": varied[0], "to": varied[-1], "step": varied.step}
    if not isinstance(varied, Range):
        return {"variable": name, "values": _texts_or_numbers(name, varied)}
    if varied.step is None and varied.count is None:
        return None
    if varied.step is not None and varied.count is not None:
        raise UsageError(f"the Range of {name} takes either step or count")
    if varied.lower is None or varied.upper is None:
        raise UsageError(f"the Range of {name} needs both bounds for its levels")
    ends = {"from": _number(name, varied.lower), "to": _number(name, varied.upper)}
    if varied.step is not None:
        return {"variable": name, **ends, "step": _number(name, varied.step)}
    return {"variable": name, **ends, "count": varied.count}


def _required(name: str, levels: Optional[Dict[str, Any]]) -> Dict[str, Any]:
    if levels is None:
        raise UsageError(
            f"{name} has bounds only: give its Range a step or count, or the study a plan of samples"
        )
    return levels


def _texts_or_numbers(name: str, values: Iterable[object]) -> List[Union[str, int, float]]:
    """Values of one variable: texts when one of them is a text, or else numbers."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise UsageError(
            f"{name} must have a list of values, or a Range; what is the same at all points belongs to variables"
        )
    given = list(values)
    if not given:
        raise UsageError(f"{name} must have at least one value")
    is_text = any(isinstance(each, (str, bool)) for each in given)
    return [_point_value(name, each, is_text) for each in given]


def _point_value(name: str, value: object, is_text: bool) -> Union[str, int, float]:
    text = text_of(name, value)
    if is_text or isinstance(value, (str, bool)):
        return text
    return int(value) if isinstance(value, numbers.Integral) else float(text)


def _number(name: str, value: object) -> Union[int, float]:
    number = _point_value(name, value, False)
    if isinstance(number, str):
        raise UsageError(f"the bounds and steps of {name} must be numbers")
    return number


def _value_of(name: str, given: Union[str, Mapping[str, Any]]) -> Dict[str, Any]:
    """Where a value is read, as the hub takes it: from the short form, or as given."""
    if isinstance(given, Mapping):
        return {"name": name, **given}
    found = VALUE.fullmatch(given)
    if found is None:
        raise UsageError(
            f"the value {name} must be like result.json#$.stress, motion.csv:force:max, or log~took (\\S+) s, "
            f"not {given!r}"
        )
    file, sign, rest = found.group("file", "sign", "rest")
    source = {"kind": "LOG"} if file == "log" else {"kind": "FILE", "path": file}
    if sign == "#":
        reader: Dict[str, Any] = {"kind": "JSON_PATH", "path": rest}
    elif sign == "~":
        reader = {"kind": "REGULAR_EXPRESSION", "pattern": rest}
    else:
        column, colon, take = rest.rpartition(":")
        reader = _csv_reader(name, column, take) if colon else _csv_reader(name, rest, "last")
    return {"name": name, "source": source, "reader": reader}


def _csv_reader(name: str, column: str, take: str) -> Dict[str, Any]:
    if take.upper() not in TAKES:
        raise UsageError(f"the value {name}: {take} must be one of {', '.join(TAKES).lower()}")
    is_number = re.fullmatch(r"[0-9]+", column) is not None
    return {"kind": "CSV", "column": int(column) if is_number else column, "take": take.upper()}


def _condition_of(name: str, bounds: Tuple[Optional[float], Optional[float]]) -> Dict[str, Any]:
    lower, upper = bounds
    condition: Dict[str, Any] = {"value": name}
    for bound, value in (("lower", lower), ("upper", upper)):
        if value is not None and not math.isinf(value):
            condition[bound] = _number(name, value)
    return condition
