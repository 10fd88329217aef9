#!/usr/bin/python3
"""Prints docs/json.md: every field of recommendation.json, from its schema.

    docs/json_fields.py > docs/json.md
"""
import json
import pathlib

SCHEMA = json.loads((pathlib.Path(__file__).resolve().parent.parent / "reports/recommendation.schema.json").read_text())
HEAD = """# recommendation.json

This page describes every field of `recommendation.json`, for programs that read it. `rue tune` writes the file; `--json` of
`tune`, `show` and `analyze` prints the same. [statistics.md](statistics.md) has the formulas, [output.md](output.md) all other
files and `--json` outputs. `docs/json_fields.py` makes this page from `reports/recommendation.schema.json`.

In a job, first test whether the answer is certain enough. This succeeds if the whole study was made, on an idle machine, and no other
configuration can be more than 2 points better. Without a bound (`certificate` is null) it fails:

```
jq -e '.decided and (.partial or .low_confidence | not) and
       all(.recommendations[]; (.certificate.bound_ratio // 1) <= 0.02)' recommendation.json
```

{about}

| field | type | meaning |
|---|---|---|"""


def name_of(schema):
    """The definition that is referred to, or None."""
    return schema["$ref"].rpartition("/")[2] if "$ref" in schema else None


def is_section(name):
    definition = SCHEMA["$defs"].get(name, {})
    return "properties" in definition or "properties" in definition.get("items", {})


def describe_type(schema):
    name = name_of(schema)
    if name and is_section(name):
        return f"[{name}](#{name})"
    if name:
        return describe_type(SCHEMA["$defs"][name])
    for choice in ("anyOf", "oneOf"):
        if choice in schema:
            return " or ".join(map(describe_type, schema[choice]))
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return ", ".join(json.dumps(value) for value in schema["enum"])
    kinds = [schema["type"]] if isinstance(schema.get("type"), str) else schema.get("type", ["any value"])
    if "items" in schema and "array" in kinds:
        kinds = [f"list of {describe_type(schema['items'])}" if kind == "array" else kind for kind in kinds]
    return " or ".join(kinds)


def rows(schema, path=""):
    for name, field in schema.get("properties", {}).items():
        here = path + name
        yield f"| `{here}` | {describe_type(field)} | {field['description']} |"
        if "items" in field:
            yield from rows(field["items"], here + "[].")
        yield from rows(field, here + ".")


if __name__ == "__main__":
    print(HEAD.format(about=SCHEMA["description"]))
    print("\n".join(rows(SCHEMA)))
    for name, definition in SCHEMA["$defs"].items():
        if is_section(name):
            print(f"\n## {name}\n\n{definition.get('description', '')}\n\n| field | type | meaning |\n|---|---|---|".replace("\n\n\n\n", "\n\n"))
            print("\n".join(rows(definition.get("items", definition))))
