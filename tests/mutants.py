"""Seeded damage to JSON documents: values out of their range or of another kind, lost and repeated members, broken text."""
import copy
import json

NUMBERS = [-1, 0, 1, 2, 255, 257, 65537, 2**31, 2**32, 2**32 + 1, 2**53 + 1, 2**58 + 1, 2**63 - 1, -2**63, 0.5, -0.0, 1e-308, 1e15, 1e308]
TEXTS = ["", " ", "x" * 10000, "\x1b[2J\x07", "a\nb\r\tc", "\u202egnp\u2066", "=1+1", "/dev/null", "/", "../..", "%s%n", "raw", "fast", "true", "1"]
OTHERS = [None, True, False, [], {}, [[]], {"": None}, [0] * 2000, [{}] * 50]
BROKEN = [lambda text, at: text[:at], lambda text, at: text[:at] + text[at + 1:], lambda text, at: text[:at] + "\0" + text[at:],
          lambda text, at: text[:at] + "[" * 5000 + text[at:], lambda text, at: text[:at] + '"' + text[at:],
          lambda text, at: text[:at] + "\udcff" + text[at:], lambda text, at: text[:at] + "1e999" + text[at:],
          lambda text, at: text[:at] + "\\ud800" + text[at:], lambda text, at: text + text, lambda text, at: text[at:]]


def members(node):
    """(container, key) of every value below."""
    pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in list(pairs):
        yield node, key
        yield from members(value)


def damage(random, document):
    container, key = random.choice(list(members(document)) or [(document, None)])
    if key is None:
        return
    value, kind = container[key], random.randrange(8)
    if kind == 0:
        del container[key]
    elif kind == 1:
        container[key] = copy.deepcopy(random.choice(OTHERS))
    elif kind == 2 and isinstance(container, list):
        container.extend([value] * random.choice([1, 70, 3000]))
    elif kind == 3:
        other, name = random.choice(list(members(document)))
        container[key] = copy.deepcopy(other[name])
    elif isinstance(value, bool) or value is None or kind == 4:
        container[key] = copy.deepcopy(random.choice(NUMBERS + TEXTS + OTHERS))
    elif isinstance(value, (int, float)):
        container[key] = random.choice([*NUMBERS, -value, value * 1000, value + 1])
    else:
        container[key] = random.choice(TEXTS) if isinstance(value, str) else copy.deepcopy(random.choice(OTHERS))


def mutant(random, document):
    """The bytes of a damaged copy: one to three members; one in eight is broken as text."""
    document = copy.deepcopy(document)
    for _ in range(random.choice([1, 1, 2, 3])):
        damage(random, document)
    text = json.dumps(document, ensure_ascii=random.random() < 0.5)
    if random.random() < 0.125:
        text = random.choice(BROKEN)(text, random.randrange(len(text)))
    return text.encode("utf-8", "surrogateescape")
