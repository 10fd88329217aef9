#!/usr/bin/python3
"""Draws docs/architecture.svg: the folders of the program, and which of them include files of which others, as read from
the sources. An arrow that other arrows imply is left out.

    docs/architecture.py > docs/architecture.svg
"""
import html
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
PUBLIC = "engine/include/rue"
TOP = ("engine", "models", "strategies", "reports", "tuner")
WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN = 196, 58, 26, 54, 20
FILLS = {"engine": "#dbeafe", "models": "#dcfce7", "strategies": "#fef3c7", "reports": "#fae8ff", "tuner": "#e5e7eb"}
LANES = {"tuner": 0, "models": 1.7, "engine": 1.7, "reports": -1.7, "strategies": -1.7}
HOLDS = {
    "engine/base": "errors, units, arrays",
    "engine/knobs": "knobs, workload, trial",
    "engine/machine": "clock, CPUs, memory limits",
    "engine/subset": "which items are chosen",
    "engine/read": "sources, one file a format",
    "engine/decode": "images, resampling, SIMD",
    "engine/augment": "random parameters",
    "engine/load": "sampler, fetcher, loader",
    "engine/trial": "trial loop, cache state",
    "models": "sleep, CPU and CUDA consumers",
    "strategies/rank": "cost matrix, selection",
    "strategies/predict": "pipeline model, posterior",
    "strategies/search": "which trial comes next",
    "reports": "findings as pages and JSON",
    "reports/page": "a page as data, JSON, CSV",
    "reports/draw": "pages and charts for people",
    "reports/findings": "what a report may show",
    "reports/explain": "pages of single commands",
    "tuner": "main",
    "tuner/commands": "one file a subcommand",
    "tuner/record": "stored studies, their check",
    "tuner/study": "setup, ledger, outcome",
    "tuner/trials": "one trial, new or stored",
    "tuner/search": "lanes, tracks, watch",
    "tuner/prepare": "writers of all formats",
    "tuner/devices": "times of models on devices",
    "tuner/data": "shares of ranks, advice",
    "tuner/table": "CSV tables of times",
    "tuner/store": "trials in SQLite",
    "tuner/runner": "runners alone and in teams",
    "tuner/launch": "processes of runners, ranks",
    "tuner/protocol": "lines of the protocol",
    "tuner/options": "option tables, settings",
    "tuner/json": "JSON files",
    "tuner/machine": "GPUs, resource use",
    "tuner/screen": "progress, terminal",
    "tuner/files": "output, locks",
    "tuner/processes": "children, signals",
}


def read_includes():
    """{folder: folders that its files include}, of all folders below TOP that hold C files."""
    files = [path for top in TOP for path in sorted((ROOT / top).rglob("*")) if path.suffix in (".c", ".h")]
    folder_of = {path.name: path.parent.relative_to(ROOT).as_posix() for path in files}
    # A public header belongs to the folder that implements it.
    for name in [name for name, folder in folder_of.items() if folder == PUBLIC]:
        folder_of[name] = folder_of.get(name[:-2] + ".c", PUBLIC)
    needs = {folder: set() for folder in folder_of.values() if folder != PUBLIC}
    for path in files:
        own = folder_of[path.name]
        if own == PUBLIC:
            continue
        needs[own].update(folder_of[name] for name in re.findall(r'#include "([^"]+)"', path.read_text()) if folder_of.get(name) in needs)
        needs[own].discard(own)
    return needs


def reach(needs, folder):
    """All folders that are needed directly or indirectly."""
    found, left = set(), [folder]
    while left:
        new = needs[left.pop()] - found
        found |= new
        left += new
    return found


def reduce(needs):
    """Without the arrows that others imply."""
    return {folder: {one for one in own if not any(one in reach(needs, other) for other in own - {one})}
            for folder, own in needs.items()}


def place(needs):
    """{folder: (column, row)}, a folder below all that need it, in the lane of its group; a lane grows to its side."""
    users = {folder: [other for other in sorted(needs) if folder in needs[other]] for folder in needs}
    row_of, at = {}, {}
    for folder in sorted(needs, key=lambda one: -len(reach(needs, one))):
        row_of[folder] = 1 + max((row_of[other] for other in users[folder]), default=-1)
    lane_of = {folder: LANES[folder.split("/")[0]] for folder in needs}
    for row in range(max(row_of.values()) + 1):
        for lane in sorted(set(LANES.values())):
            wish = lambda one: sum(lane_of[other] for other in needs[one]) / max(1, len(needs[one]))
            folders = sorted((one for one in needs if row_of[one] == row and lane_of[one] == lane), key=lambda one: (wish(one), one))
            for i, folder in enumerate(folders):
                shift = (i - (len(folders) - 1) / 2) if lane == 0 else (i + 0.6 * (row % 2)) * (lane > 0) - i * (lane < 0)
                at[folder] = (lane + shift, row)
    return at


def draw(needs):
    at = place(needs)
    left, top = min(x for x, _ in at.values()), max(y for _, y in at.values())
    columns = max(x for x, _ in at.values()) - left + 1
    x_of = lambda folder: MARGIN + (at[folder][0] - left) * (WIDTH + GAP_X)
    y_of = lambda folder: MARGIN + at[folder][1] * (HEIGHT + GAP_Y)
    width = 2 * MARGIN + columns * (WIDTH + GAP_X) - GAP_X
    height = 2 * MARGIN + (top + 1) * (HEIGHT + GAP_Y) - GAP_Y
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" role="img">'
    yield "<title>Folders of rue; an arrow points to a folder whose headers are included</title>"
    yield '<rect width="100%" height="100%" fill="#ffffff"/>'
    yield ('<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
           '<path d="M0 0 8 4 0 8z" fill="#6b7280"/></marker></defs>')
    for folder in sorted(needs):
        for other in sorted(needs[folder]):
            x1, y1 = x_of(folder) + WIDTH / 2, y_of(folder) + HEIGHT
            x2, y2 = x_of(other) + WIDTH / 2, y_of(other)
            bend = (y2 - y1) / 2
            yield (f'<path d="M{x1:.0f} {y1:.0f}C{x1:.0f} {y1 + bend:.0f} {x2:.0f} {y2 - bend:.0f} {x2:.0f} {y2 - 1:.0f}" '
                   'fill="none" stroke="#6b7280" stroke-width="1.4" marker-end="url(#tip)"/>')
    for folder in sorted(needs):
        x, y = x_of(folder), y_of(folder)
        yield (f'<rect x="{x:.0f}" y="{y:.0f}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="{FILLS[folder.split("/")[0]]}" '
               'stroke="#9ca3af"/>')
        yield '<g font-family="DejaVu Sans, Verdana, sans-serif" text-anchor="middle" fill="#111827">'
        yield f'<text x="{x + WIDTH / 2:.0f}" y="{y + 24:.0f}" font-size="14" font-weight="bold">{html.escape(folder)}</text>'
        yield f'<text x="{x + WIDTH / 2:.0f}" y="{y + 44:.0f}" font-size="11">{html.escape(HOLDS[folder])}</text></g>'
    yield "</svg>"


if __name__ == "__main__":
    print("\n".join(draw(reduce(read_includes()))))
