#!/usr/bin/python3
"""Prints docs/json.md: every field of recommendation.json, from its schema.

    docs/json_fields.py > docs/json.md
"""
import json
import pathlib

SCHEMA = json.loads((pathlib.Path(__file__).resolve().parent.parent / "reports/recommendation.schema.json").read_text())
HEAD = """# recommendation.json

What `rue tune` writes for programs, field by field. This page is made from `reports/recommendation.schema.json` by
`docs/json_fields.py`.

{about}

| field | type | meaning |
|---|---|---|"""


# Names that mean the same wherever they stand.
COMMON = {
    "config": "A value for every knob.",
    "batch_size": "Images in a batch.",
    "num_workers": "Loader workers; 0 loads in the consumer's thread.",
    "prefetch_factor": "Batches in flight per worker.",
    "parallelism": "A worker loads whole batches, or samples of a shared batch.",
    "pin_memory": "Batches lie in page-locked memory.",
    "model": "Name of the model.",
    "models": "One entry per model.",
    "variant": "Which data.",
    "mean_regret_ratio": "Mean regret over the models.",
    "max_regret_ratio": "Largest regret of any model.",
    "worst_model": "Model with the largest regret.",
    "top_n_count": "Number of models that have it among their N fastest.",
    "top_n": "N of the top-N count.",
    "objective": "Whether the mean or the largest regret is minimised.",
    "confidence": "Probability that the claim holds.",
    "low_ratio": "Lower end of the interval.",
    "high_ratio": "Upper end of the interval.",
    "job_images": "Images of the job.",
    "end_to_end_ns": "Time of the job.",
    "first_batch_ns": "Time until the first batch.",
    "baselines": "The gain over usual settings.",
    "reason": "Why.",
    "name": "What it is called.",
    "trials": "Number of trials.",
}


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


def describe(field, schema):
    name = name_of(schema)
    return schema.get("description") or COMMON.get(field) or (SCHEMA["$defs"][name].get("description", "") if name and not is_section(name) else "")


def rows(schema, path=""):
    for name, field in schema.get("properties", {}).items():
        here = path + name
        yield f"| `{here}` | {describe_type(field)} | {describe(name, field)} |"
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
