"""Options of `rue tune` that are keyword arguments of tune(), and their names in what rue says."""
import re

from . import knobs

FLAGS = ("accept_busy", "details", "fresh")
WITH_VALUE = ("baseline", "batches", "cache", "confidence", "device", "epsilon", "goal", "max_first_batch",
              "max_memory", "max_workers", "objective", "prior", "repeats", "seed", "set_epsilon", "strategy", "top_n",
              "trial_timeout", "weights")
PARAMETERS = ("budget", "epochs", "images", "out", "quiet")  # those of tune() that are options of the same name
OTHER_NAMES = {"model": "models", "knob": "space"}
COMMANDS = ("tune|compare|headroom|scale|prepare|inspect|analyze|check|show|report|why|diff|list|models|augment|"
            "calibrate")
# A command, whose options stay; or an option, and its value if one follows
OPTION = re.compile(rf"(?s:More:\s.*?--json\.)|\brue'?\s(?:{COMMANDS})\s[^;\n']*|"
                    r"(?<![\w-])--(?P<name>[a-z]+(?:-[a-z]+)*)(?:(?P<colon>:)|"
                    r"(?:=|\s+)(?P<value>\d\w*%?(?:[.,]\d\w*%?)*|warm|cold|as-is|grid|duel))?")
# What rue says of its next run
AGAIN = re.compile(r"(?:run\s+the\s+same\s+command(?:\s+again)?|tune\s+again\s+with\s+the\s+same\s+options)"
                   r"(?P<continues>\s+to\s+continue)?(?P<budget>,\s+or\s+raise\s+--budget)?")
KEPT = re.compile(r"(?<=some space and )run again(; all stored trials are kept)")


def check(options):
    """Raises TypeError for a name in `options` that is not an option."""
    for name in options:
        if name in knobs.WITH_OPTION or name in knobs.OF_DATALOADER:
            raise TypeError(f'tune() searches the values of a knob in space: space={{"{name}": [...]}}')
        if name not in FLAGS + WITH_VALUE:
            near = knobs.like(name, FLAGS + WITH_VALUE + PARAMETERS + ("models", "space", "count", "against"))
            raise TypeError(f"tune() has no argument {name}{near}: docs/python.md lists them")


def words(options):
    """Keyword arguments as options: strategy="grid" is --strategy grid, True is a flag."""
    out = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        out.append("--" + name.replace("_", "-"))
        if value is not True:
            out.append(",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value))
    return out


def argument(match):
    """The keyword argument of an option that OPTION found; other text as it is."""
    name, value = (match["name"] or "").replace("-", "_"), match["value"]
    if name in knobs.WITH_OPTION:
        listed = f"[{', '.join(value.split(','))}]" if value else "[...]"
        return "space" + match["colon"] if match["colon"] else f'space={{"{name}": {listed}}}'
    if name not in FLAGS + WITH_VALUE + PARAMETERS + tuple(OTHER_NAMES):
        return match[0]
    name = OTHER_NAMES.get(name, name)
    if match["colon"]:
        return name + ":"
    if name in FLAGS or not value:
        return name + ("=True" if name in FLAGS else "=")
    return f"{name}={value}" if value.isdigit() else f'{name}="{value}"'


def for_python(text, keeps):
    """What rue says, with calls in the place of commands, and keyword arguments in that of options. `keeps`: the next
    call finds the study, and continues it."""
    def call(match):
        if match["budget"] and not keeps:
            return 'give a larger budget, or a folder out="..." from which the same call continues'
        return ("call it again" + (" to continue" if match["continues"] and keeps else "") +
                (", or give a larger budget" if match["budget"] else ""))
    text = KEPT.sub(r"call it again\1" if keeps else "call it again", AGAIN.sub(call, text))
    return OPTION.sub(argument, text)
