#!/usr/bin/env python3
"""Prints docs/api.md: the public functions and classes of rue_tuner, from their docstrings. It needs the package griffelib.

    build/tools/bin/python docs/api.py > docs/api.md
"""
import pathlib
import re

import griffe

PAGES = pathlib.Path(__file__).resolve().parent
HEAD = """# Python reference

This page is for those who look up a function or a class of `rue_tuner`. [python.md](python.md) and [loader.md](loader.md) explain how to
use them. In Python, `help(rue.tune)` shows the same words. `docs/api.py` makes this page from docstrings.

In the examples, `rue` is `rue_tuner`, `loader` a `DataLoader`, and `step` a function that trains with a batch. A default in
brackets stands for a default of None.
"""
PARTS = {
    "Tune": ["tune", "load", "Result"],
    "Is loading the limit?": ["headroom", "Headroom", "watch", "Watch"],
    "Load": ["Loader", "Stats"],
    "Frameworks": ["lightning.tune", "hf.tune", "hf.TrainerMixin", "timm.tune", "accelerate.prepare"],
    "Exceptions": ["TuneError", "UndecidedError", "LoaderError", "DataError"],
}
ALIASES = {"Any": [], "Tunable": [], "Path": ["str", "PathLike"], "Models": ["str", "list", "dict", "None"], "Recipe": ["str", "dict"],
           "Numbers": ["str", "Sequence", "None"], "Dict": ["dict"], "Mapping": ["dict"], "List": ["list"], "Tuple": ["tuple"], "Callable": ["function"]}
HOMES = {"Headroom": "limits.Headroom", "Watch": "limits.Watch", "Stats": "loader.stats.Stats"}  # of what no one imports


def anchor(title):
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def text(words):
    """As Markdown, in one line a paragraph. A page of docs/ becomes a link."""
    lines = [" ".join(paragraph.split()) for paragraph in words.split("\n\n")]
    return re.sub(r"\bdocs/(\w+\.md)", r"[\1](\1)", "\n\n".join(lines))


def cell(words):
    return text(words).replace("|", "\\|")


def code(value):
    return "`" + str(value).replace("'", '"') + "`" if value is not None else ""


def kinds_of(annotation):
    """The names of the types of an annotation. What containers hold is left out."""
    if not isinstance(annotation, griffe.ExprSubscript):
        name = str(annotation).strip("'")
        return ALIASES.get(name, [name])
    inner = annotation.slice.elements if isinstance(annotation.slice, griffe.ExprTuple) else [annotation.slice]
    outer = str(annotation.left)
    if outer not in ("Optional", "Union"):
        return kinds_of(annotation.left)
    return [name for part in (*inner, *(["None"] if outer == "Optional" else [])) for name in kinds_of(part)]


def types(annotation):
    names = [] if annotation is None else list(dict.fromkeys(kinds_of(annotation)))
    return code(" or ".join(names) or None)


def table(*columns):
    return [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]


def signature(title, member):
    """As a call, with a line for each argument if it is long."""
    words, keyword = [], False
    for parameter in member.parameters:
        kind = parameter.kind.value
        if parameter.name in ("self", "cls") or parameter.name == "unknown":
            continue
        if kind == "keyword-only" and not keyword:
            words.append("*")
            keyword = True
        star = {"variadic positional": "*", "variadic keyword": "**"}.get(kind, "")
        words.append(star + parameter.name + (f"={parameter.default}".replace("'", '"') if parameter.default is not None and not star else ""))
    lines, line = [], f"{title}("
    for word in words:
        word += ", " if word is not words[-1] else ")"
        if len(line) + len(word) > 110:
            lines.append(line.rstrip())
            line = " " * (len(title) + 1)
        line += word
    return ["```py", *lines, line if words else line + ")", "```"]


def properties(member):
    """(name, type, what its docstring says in one line) of each property with a docstring."""
    for name, found in member.members.items():
        if found.is_attribute and "property" in found.labels and not name.startswith("_") and found.docstring:
            parts = []
            for section in found.docstring.parsed:
                kind = section.kind.value
                parts += [section.value] if kind == "text" else [f"Raises `{e.annotation}`: {e.description}." for e in section.value]
            yield name, found.annotation, " ".join(parts)


def sections(title, member):
    """What its docstring says, after the signature."""
    constructor = member.members.get("__init__") if member.is_class else member
    parsed = member.docstring.parsed if member.docstring else []
    kinds = {section.kind.value: section.value for section in parsed}
    if member.is_function or "parameters" in kinds:
        yield from [*signature(title, constructor), ""]
    for section in parsed:
        if section.kind.value == "text":
            yield from [text(section.value), ""]
    if "parameters" in kinds:
        given = {parameter.name: parameter for parameter in constructor.parameters}
        yield from table("argument", "type", "default", "meaning")
        for argument in kinds["parameters"]:
            own = given[argument.name]
            default = "" if own.kind.value.startswith("variadic") else code(own.default)
            yield f"| `{argument.name}` | {types(own.annotation)} | {default} | {cell(argument.description)} |"
        yield ""
    if "returns" in kinds:
        returned = text(kinds["returns"][0].description)
        yield from [f"Returns {returned[0].lower()}{returned[1:]}", ""]
    if "raises" in kinds:
        yield from table("raises", "when")
        yield from [f"| `{error.annotation}` | {cell(error.description)} |" for error in kinds["raises"]]
        yield ""
    attributes = [(own.name, own.annotation, own.description) for own in kinds.get("attributes", [])]
    attributes += [own for own in (properties(member) if member.is_class else ()) if own[0] not in dict.fromkeys(name for name, *_ in attributes)]
    if attributes:
        yield from table("attribute", "type", "meaning")
        yield from [f"| `{name}` | {types(kind)} | {cell(words)} |" for name, kind, words in attributes]
        yield ""
    if "examples" in kinds:
        yield from ["```py", *"\n\n".join(words for _, words in kinds["examples"]).splitlines(), "```", ""]


def methods(member):
    for name, found in member.members.items():
        if found.is_function and found.docstring and not name.startswith("_"):
            yield name, found


def first_sentence(member):
    return re.split(r"[.:](?=\s|$)", text(member.docstring.parsed[0].value))[0] + "."


def page(package):
    found = {name: package[HOMES.get(name, name)] for names in PARTS.values() for name in names}
    found = {name: member.final_target if member.is_alias else member for name, member in found.items()}
    yield HEAD
    yield from table("name", "what it is")
    for name, member in found.items():
        yield f"| [`{name}`](#{anchor(f'rue_tuner.{name}' if name not in HOMES else name)}) | {cell(first_sentence(member))} |"
    for part, names in PARTS.items():
        yield f"\n## {part}\n"
        for name in names:
            member, title = found[name], name if name in HOMES else f"rue_tuner.{name}"
            yield from [f"### {title}", "", *sections(title, member)]
            for method, own in methods(member) if member.is_class else ():
                yield from [f"#### {name}.{method}", "", *sections(f"{name if 'classmethod' in own.labels else name.lower()}.{method}", own)]


if __name__ == "__main__":
    made = griffe.load("rue_tuner", search_paths=[PAGES.parent / "python"], docstring_parser="google", allow_inspection=False)
    print(re.sub(r"\n{3,}", "\n\n", "\n".join(page(made))).rstrip())
