#!/usr/bin/env python3
"""Prints the tables of models/architecture_*.c: traces torchvision's definitions, or those below for other models, for
one image of 224 x 224, and prints the work of each model as matrix products.

    /usr/bin/python3 models/trace_layers.py resnet18 vit_b_16

A product is C[m,n] = A[m,k] B[k,n]. For a convolution, m counts the pixels of its output, n the channels of a group, and
k the channels of a group times the window. Other operations (normalisation, activation functions, additions, pooling)
count as elements read and written. Peak activations are the largest number of elements of one image that are alive at
once, from the last use of every tensor. Operations that PyTorch does in place add none."""
import argparse
import collections

import torch
import torch.fx
import torchvision
from torch import nn
from torchvision.models.swin_transformer import ShiftedWindowAttention

# Operations that return a view, without a copy.
VIEWS = {"view", "reshape", "permute", "transpose", "flatten", "expand", "unsqueeze", "squeeze", "contiguous", "getitem",
         "getattr", "size", "_assert", "eq", "floordiv", "dim"}
NO_WORK = (nn.Flatten, nn.Dropout, nn.Identity, torchvision.ops.StochasticDepth)


class Traced:
    """The work of one image: products {(kind, m, n, k, groups, in): repeats}, moves and peak in elements."""

    def __init__(self):
        self.products = collections.Counter()
        self.moved = self.moves = self.peak = 0

    def product(self, kind, m, n, k, groups, read):
        self.products[kind, m, n, k, groups, read] += 1

    def move(self, elements):
        self.moved += elements
        self.moves += 1

    def attention(self, tokens, width, heads, windows=1):
        """Self-attention of `windows` windows of `tokens`: projections, scores, softmax, values."""
        rows, depth = tokens * windows, width // heads
        scores = tokens * tokens * heads * windows
        self.product("LINEAR", rows, 3 * width, width, 1, rows * width)
        self.product("ATTENTION", tokens, tokens, depth, heads * windows, 2 * rows * width)
        self.move(2 * scores)
        self.product("ATTENTION", tokens, depth, tokens, heads * windows, rows * width + scores)
        self.product("LINEAR", rows, width, width, 1, rows * width)
        return 3 * rows * width + 2 * scores  # alive inside: queries, keys, values; scores before and after softmax


def elements(value):
    if isinstance(value, torch.Tensor):
        return value.numel()
    return sum(map(elements, value)) if isinstance(value, (tuple, list)) else 0


class Interpreter(torch.fx.Interpreter):
    """Runs a traced model on one image and records the cost of each operation."""

    def __init__(self, module, out):
        super().__init__(module)
        self.out = out
        self.size = {}   # elements of each tensor, by the node that creates it
        self.owner = {}  # the node that creates the tensor of each node or view
        self.within = {}  # elements alive inside a node, except inputs and result

    def run_node(self, node):
        result = super().run_node(node)
        name = getattr(node.target, "__name__", str(node.target))
        module = self.module.get_submodule(node.target) if node.op == "call_module" else None
        view = name in VIEWS or isinstance(module, NO_WORK)
        inputs = node.all_input_nodes
        if inputs and (view or getattr(module, "inplace", False)) and inputs[0] in self.owner:
            self.owner[node] = self.owner[inputs[0]]
        elif node.op != "get_attr" and not view:
            self.owner[node] = node
            self.size[node] = elements(result)
        read = sum(elements(self.env[used]) for used in inputs if used in self.env)
        if module is not None:
            self.within[node] = self.call(module, result, read) or 0
        elif node.op in ("call_function", "call_method") and not view:
            self.out.move(read + elements(result))
        return result

    def run(self, *inputs):
        result = super().run(*inputs)
        last = {self.owner[used]: node for node in self.module.graph.nodes for used in node.all_input_nodes if used in self.owner}
        alive = 0
        for node in self.module.graph.nodes:
            alive += self.size.get(node, 0)
            self.out.peak = max(self.out.peak, alive + self.within.get(node, 0))
            alive -= sum(self.size[owner] for owner, end in last.items() if end is node)
        return result

    def call(self, module, result, read):
        out, size = self.out, elements(result)
        if isinstance(module, nn.Conv2d):
            height, width = result.shape[-2:]
            groups, window = module.groups, module.kernel_size[0] * module.kernel_size[1]
            out.product("CONVOLUTION", height * width, module.out_channels // groups, module.in_channels // groups * window, groups, read)
        elif isinstance(module, nn.Linear):
            out.product("LINEAR", size // module.out_features, module.out_features, module.in_features, 1, read)
        elif isinstance(module, nn.MultiheadAttention):
            return out.attention(result[0].shape[1], module.embed_dim, module.num_heads)
        elif isinstance(module, ShiftedWindowAttention):
            _, height, width, channels = result.shape
            rows, columns = module.window_size
            return out.attention(rows * columns, channels, module.num_heads, -(-height // rows) * -(-width // columns))
        elif not isinstance(module, NO_WORK):
            out.move(read + size)


class Tracer(torch.fx.Tracer):
    def is_leaf_module(self, module, name):
        return (module.__module__.startswith("torch.nn") and not isinstance(module, nn.Sequential)
                or isinstance(module, (torchvision.ops.StochasticDepth, ShiftedWindowAttention)))


def unpack(proxy):
    """Makes proxies unpackable: the result of attention, and shapes. (PyTorch 1.13 reads the bytecode of older Pythons.)"""
    return (proxy[i] for i in range(2 if proxy.node.op == "call_module" else 4))


torch.fx.Proxy.__iter__ = unpack


def trace(model):
    model.eval()
    traced = torch.fx.GraphModule(model, Tracer().trace(model))
    out = Traced()
    with torch.no_grad():
        Interpreter(traced, out).run(torch.zeros(1, 3, 224, 224))
    return out, sum(parameter.numel() for parameter in model.parameters())


def transformer(tokens, width, layers, heads, ends):
    """An encoder as in BERT and CLIP: attention and an MLP of 4 times the width, with sums and two norms per layer."""
    out, rows = Traced(), tokens * width
    for product in ends:
        out.product(*product)
    for _ in range(layers):
        within = out.attention(tokens, width, heads)
        out.product("LINEAR", tokens, 4 * width, width, 1, rows)
        out.product("LINEAR", tokens, width, 4 * width, 1, 4 * rows)
        out.move(8 * rows)
        for elements_moved in (3 * rows, 2 * rows, 3 * rows, 2 * rows):
            out.move(elements_moved)
    out.peak = max(2 * rows + within, 9 * rows)  # the input of the sum; both sides of the activation function
    return out


def clip_vit_b32():
    """CLIP's image encoder: ViT-B/32 with 50 tokens, no bias for patches, one more norm, 512 output features."""
    out = transformer(50, 768, 12, 12, [("CONVOLUTION", 49, 768, 3 * 32 * 32, 1, 3 * 224 * 224), ("LINEAR", 1, 512, 768, 1, 768)])
    layer = 12 * 768 * 768 + 13 * 768
    return out, 12 * layer + 3072 * 768 + 768 + 50 * 768 + 4 * 768 + 768 * 512


def bert_base(tokens):
    """BERT base with its pooler. Embeddings are looked up, not multiplied."""
    out = transformer(tokens, 768, 12, 12, [("LINEAR", 1, 768, 768, 1, 768)])
    return out, 12 * (12 * 768 * 768 + 13 * 768) + (30522 + 512 + 2 + 2) * 768 + 768 * 768 + 768


def multiply_adds(traced):
    return sum(m * n * k * groups * repeats for (_, m, n, k, groups, _), repeats in traced.products.items())


def architecture(name):
    if name == "clip_vit_b_32":
        return clip_vit_b32()
    if name.startswith("bert_base_"):
        return bert_base(int(name.rpartition("_")[2]))
    return trace(torchvision.models.get_model(name))


def table(name):
    traced, parameters = architecture(name)
    rows = [f"    {{RUE_{kind}, {m}, {n}, {k}, {groups}, {repeats}, {read}}},"
            for (kind, m, n, k, groups, read), repeats in traced.products.items()]
    return (f"static const struct rue_layer {name}_layers[] = {{\n" + "\n".join(rows) + "\n};\n",
            f"    {{\"{name}\", {parameters}, {traced.peak}, {traced.moved}, {traced.moves}, RUE_LAYERS({name}_layers)}},",
            multiply_adds(traced))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    tables = [table(name) for name in parser.parse_args().models]
    print("\n".join(text for text, _, _ in tables))
    for _, row, total in tables:
        print(row, f"/* {total / 1e9:.3f} G */")
