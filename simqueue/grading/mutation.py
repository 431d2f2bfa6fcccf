"""Which mistakes would a grader not see? Each statement of a reference, deleted or altered in turn.

    python -m simqueue.grading.mutation 06

prints the mutants of a reference solution that get full points. Each of them is either as good as
the reference, or a check is missing.
"""

from __future__ import annotations

import ast
import copy
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from simqueue.grading.exercise import Exercise, find, find_root
from simqueue.grading.grader import grade_here
from simqueue.grading.process import Limits

TAILS: Final = (" ON CONFLICT", " RETURNING", " WHERE", " AND ")
"""Where SQL is cut off, if no parameter comes after that."""

_OTHER: Final[dict[type[ast.AST], Callable[[], ast.AST]]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


@dataclass(frozen=True)
class Mutant:
    """A reference with one change: where it is, what it is, and the whole text."""

    line: int
    change: str
    source: str

    def __str__(self) -> str:
        return f"{self.line}: {self.change}"


def mutants(source: str) -> list[Mutant]:
    """Return every mutant of `source`, each with one statement deleted or one place altered."""
    tree = ast.parse(source)
    found = []
    for number, node in enumerate(ast.walk(tree)):
        for line, change, alter in _alterations(node):
            copied = copy.deepcopy(tree)
            twin = next(each for place, each in enumerate(ast.walk(copied)) if place == number)
            alter(twin)
            text = ast.unparse(ast.fix_missing_locations(copied))
            found.append(Mutant(line, change, text))
    return sorted(found, key=lambda mutant: mutant.line)


def survivors(exercise: Exercise) -> list[Mutant]:
    """Return the mutants of the reference that the grader of `exercise` gives full points."""
    alive = []
    limits = Limits(step=1.0)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mutant.py"
        for mutant in mutants(exercise.solution.read_text(encoding="utf-8")):
            file.write_text(mutant.source, encoding="utf-8")
            if grade_here(exercise, file, limits, until_first_failure=True).passed:
                alive.append(mutant)
    return alive


def excused(file: Path) -> dict[str, str]:
    """Return why each of the mutants in `file`, a ``survivors.toml``, is as good as the reference.

    By what `str` says of the mutant, without its line.
    """
    if not file.exists():
        return {}
    listed = tomllib.loads(file.read_text(encoding="utf-8")).get("survivor", [])
    return {each["change"]: each["why"] for each in listed}


def _alterations(node: ast.AST) -> Iterator[tuple[int, str, Callable[[ast.AST], None]]]:
    """Yield each change that can be made at `node`: line, words, and what is done to its twin."""
    for name in ("body", "orelse", "finalbody"):
        statements = getattr(node, name, None)
        if isinstance(statements, list) and not isinstance(node, ast.Module | ast.ClassDef):
            for place, statement in enumerate(statements):
                if not _is_docstring(statement):
                    yield statement.lineno, f"delete {_said(statement)}", _deletion(name, place)
    for change, alter in _alterations_of_one(node):
        yield getattr(node, "lineno", 0), change, alter


def _alterations_of_one(node: ast.AST) -> Iterator[tuple[str, Callable[[ast.AST], None]]]:
    match node:
        case ast.If(test=test):
            yield f"negate {_said(test)}", _negation
        case ast.Compare(ops=[operator]) if type(operator) in _OTHER:
            yield f"alter the comparison of {_said(node)}", _swap_comparison
        case ast.BinOp(op=operator) | ast.BoolOp(op=operator) if type(operator) in _OTHER:
            yield f"alter the operator of {_said(node)}", _swap_operator
        case ast.Constant(value=bool()):
            yield f"negate {_said(node)}", _swap_bool
        case ast.Constant(value=int() | float()):
            yield f"add 1 to {_said(node)}", _increase
        case ast.Constant(value=str() as text):
            for tail in TAILS:
                if tail in text and "?" not in text[text.rindex(tail) :]:
                    yield f"cut off {text[text.rindex(tail) :]!r}", _cut(tail)
        case ast.Raise():
            yield f"return instead of {_said(node)}", _become_return
        case ast.Call(keywords=[_, *_]):
            for place, keyword in enumerate(node.keywords):
                yield f"leave out {keyword.arg}= of {_said(node)}", _leave_out(place)


def _said(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 60 else text[:57] + "..."


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _deletion(name: str, place: int) -> Callable[[ast.AST], None]:
    def alter(node: ast.AST) -> None:
        statements = getattr(node, name)
        statements[place] = ast.copy_location(ast.Pass(), statements[place])

    return alter


def _negation(node: ast.AST) -> None:
    assert isinstance(node, ast.If)
    node.test = ast.UnaryOp(ast.Not(), node.test)


def _swap_comparison(node: ast.AST) -> None:
    assert isinstance(node, ast.Compare)
    node.ops = [_OTHER[type(node.ops[0])]()]  # type: ignore[list-item]


def _swap_operator(node: ast.AST) -> None:
    assert isinstance(node, ast.BinOp | ast.BoolOp)
    node.op = _OTHER[type(node.op)]()  # type: ignore[assignment]


def _swap_bool(node: ast.AST) -> None:
    assert isinstance(node, ast.Constant)
    node.value = not node.value


def _increase(node: ast.AST) -> None:
    assert isinstance(node, ast.Constant)
    assert isinstance(node.value, int | float)
    node.value += 1


def _cut(tail: str) -> Callable[[ast.AST], None]:
    def alter(node: ast.AST) -> None:
        assert isinstance(node, ast.Constant)
        assert isinstance(node.value, str)
        node.value = node.value[: node.value.rindex(tail)]

    return alter


def _become_return(node: ast.AST) -> None:
    node.__class__ = ast.Return
    node.value = None  # type: ignore[attr-defined]


def _leave_out(place: int) -> Callable[[ast.AST], None]:
    def alter(node: ast.AST) -> None:
        assert isinstance(node, ast.Call)
        del node.keywords[place]

    return alter


def main(numbers: list[str]) -> None:
    """Print the survivors of these exercises."""
    for number in numbers:
        exercise = find(number, find_root())
        total = len(mutants(exercise.solution.read_text(encoding="utf-8")))
        alive = survivors(exercise)
        print(f"{exercise.title}: {len(alive)} of {total} mutants get full points")
        for mutant in alive:
            print(f"  {mutant}")


if __name__ == "__main__":
    main(sys.argv[1:])
