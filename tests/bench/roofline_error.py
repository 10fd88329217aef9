"""How far the roofline (models/roofline.c) is off the measured times of the RTX A5000 (models/catalogue.c): as it is, to
which these times were fitted; of each model when the others alone are fitted to; and of each family of models likewise.

    roofline_error.py
"""
import itertools
import math
import pathlib
import re

MODELS = pathlib.Path(__file__).resolve().parents[2] / "models"
SIZES = [32, 128, 256, 512, 1024]
FLOPS = dict(CONVOLUTION=55.6e12, LINEAR=27.8e12, ATTENTION=27.8e12)
BYTES_PER_S, ELEMENT = 768e9, 4
AS_IT_IS = (0.60, 0.45, 0.75, 4000)  # of convolutions, other products and memory; a launch in ns
GRID = list(itertools.product((0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7), (0.4, 0.425, 0.45, 0.475, 0.5, 0.575, 0.65), (0.7, 0.725, 0.75, 0.775, 0.8), (2000, 4000, 6000)))
FAMILIES = ("resnet", ("mobilenet", "efficientnet"), "vit")


def numbers(text):
    return [float(word) for word in text.split(",")]


def read_layers():
    text = "".join(path.read_text() for path in MODELS.glob("architecture_*.c"))
    layers = {name: [(kind, *numbers(rest)) for kind, rest in re.findall(r"\{RUE_(\w+), ([\d, ]+)\}", body)]
              for name, body in re.findall(r"rue_layer (\w+)_layers\[\] = \{(.*?)\n\};", text, re.DOTALL)}
    moved = {name: numbers(rest)[2:] for name, rest in re.findall(r'\{"(\w+)", ([\d, ]+), RUE_LAYERS', text)}
    return {name: (layers[name], *moved[name]) for name in layers}


def read_measured():
    text = (MODELS / "catalogue.c").read_text()
    found = re.findall(r'\{"(\w+)", (?:NULL|"\w+"), \{([\d., ]+)\}\}', text)
    return {name: [1e3 * size * us for size, us in zip(SIZES, numbers(times))] for name, times in found}


def batch_ns(model, images, parameters):
    """rue_roofline_batch_ns of fp32 on the A5000."""
    layers, moved, moves = model
    convolutions, products, memory, launch = parameters
    bandwidth = BYTES_PER_S * memory / 1e9
    ns = images * moved * ELEMENT / bandwidth + moves * launch
    for kind, m, n, k, groups, repeats, read in layers:
        rate = FLOPS[kind] * (convolutions if kind == "CONVOLUTION" else products) / 1e9
        weights = 0 if kind == "ATTENTION" else n * k * groups
        traffic = (weights + images * (read + m * n * groups)) * ELEMENT
        ns += repeats * (max(2 * images * m * n * k * groups / rate, traffic / bandwidth) + launch)
    return ns


def root_mean_square(errors):
    errors = list(itertools.chain(*errors))
    return math.sqrt(sum(error * error for error in errors) / len(errors))


def main():
    layers, measured = read_layers(), read_measured()
    off = {parameters: {name: [batch_ns(layers[name], size, parameters) / ns - 1 for size, ns in zip(SIZES, times)]
                        for name, times in measured.items()} for parameters in {AS_IT_IS, *GRID}}

    def without(names):
        """The errors of these models, when the others are fitted to."""
        fit = min(GRID, key=lambda parameters: root_mean_square(off[parameters][name] for name in measured if name not in names))
        return {name: off[fit][name] for name in names}

    families = {name: next(family for family in FAMILIES if name.startswith(family)) for name in measured}
    kinds = {"as it is": off[AS_IT_IS], "model left out": {}, "family left out": {}}
    for name in measured:
        kinds["model left out"].update(without([name]))
        if name not in kinds["family left out"]:
            kinds["family left out"].update(without([other for other in measured if families[other] == families[name]]))
    print(f"{'% off, batch size':18}" + "".join(f"{size:7}" for size in SIZES))
    for name in measured:
        print(f"{name:18}" + "".join(f"{100 * error:+7.1f}" for error in off[AS_IT_IS][name]))
    for kind, errors in kinds.items():
        worst = max(abs(error) for error in itertools.chain(*errors.values()))
        print(f"{kind}: {100 * root_mean_square(errors.values()):.1f} % in the root mean square, {100 * worst:.1f} % at most")


if __name__ == "__main__":
    main()
