"""A terminal of a given size, and the screen that it shows: enough of one for what rue prints."""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import unicodedata

TOKEN = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])|([\r\n])|(.)", re.DOTALL)


def width_of(character):
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def text_width(text):
    return sum(map(width_of, text))


class Screen:
    """Rows of cells with a cursor; a row that was broken because it was full is joined and broken anew by a resize."""

    def __init__(self, columns):
        self.columns, self.rows, self.broken = columns, [[]], [False]  # broken[i]: row i goes on in row i + 1
        self.row = self.column = 0
        self.overflows = []  # rows that did not fit
        self.colors = 0

    def feed(self, text):
        for numbers, letter, move, character in TOKEN.findall(text):
            if letter:
                self.control(letter, int(numbers.split(";")[0] or 0) if numbers else 0)
            elif move == "\r":
                self.column = 0
            elif move == "\n":
                self.down(False)
            else:
                self.put(character)

    def control(self, letter, number):
        if letter == "K":
            self.rows[self.row] = self.rows[self.row][:self.column]
            self.broken[self.row] = False
        elif letter == "J":
            del self.rows[self.row + 1:], self.broken[self.row + 1:]
            self.control("K", 0)
        elif letter == "A":
            self.row = max(0, self.row - max(1, number))
        elif letter == "m":
            self.colors += 1
        else:
            raise ValueError(f"an escape code that rue should not need: {letter}")

    def down(self, broken):
        self.broken[self.row] = broken
        self.row += 1
        self.column = 0 if broken else self.column
        if self.row == len(self.rows):
            self.rows.append([])
            self.broken.append(False)

    def put(self, character):
        width = width_of(character)
        row = self.rows[self.row]
        if width == 0:
            if self.column:
                row[self.column - 1] += character
            return
        if self.column + width > self.columns:
            self.overflows.append("".join(row))
            self.down(True)
            row = self.rows[self.row]
        row.extend([" "] * (self.column - len(row)))
        row[self.column:self.column + width] = [character] + [""] * (width - 1)
        self.column += width

    def resize(self, columns):
        lines, line = [], []
        for i, row in enumerate(self.rows):
            if i == self.row:
                at = (len(lines), len(line) + self.column)
            line += row
            if not self.broken[i]:
                lines.append(line)
                line = []
        self.columns, self.rows, self.broken = columns, [], []
        for i, cells in enumerate(lines):
            pieces = [cells[k:k + columns] for k in range(0, len(cells), columns)] or [[]]
            if at[0] == i:
                within = min(at[1], max(len(cells) - 1, 0)) // columns
                self.row, self.column = len(self.rows) + within, at[1] - within * columns
            self.rows += pieces
            self.broken += [True] * (len(pieces) - 1) + [False]

    def lines(self):
        """Rows as text, without the empty ones at the end."""
        lines = ["".join(row).rstrip() for row in self.rows]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def text(self):
        return "\n".join(self.lines())


def set_columns(descriptor, columns):
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))


def read_some(descriptor, timeout=None):
    """What has come; "" at the end, None when nothing came in time."""
    if not select.select([descriptor], [], [], timeout)[0]:
        return None
    try:
        return os.read(descriptor, 65536)
    except OSError:  # how Linux tells that the last writer closed it
        return b""


def run_on_terminal(words, columns, env, cwd, streams=("stdout", "stderr"), watch=None):
    """Runs with a terminal as those streams, the others in pipes. `watch(screen, resize)` is called whenever something has
    come. Returns (exit code, screen, everything that came, {stream: bytes} of the others)."""
    master, slave = pty.openpty()
    set_columns(slave, columns)
    others = {name: subprocess.PIPE for name in ("stdout", "stderr") if name not in streams}
    process = subprocess.Popen(words, cwd=cwd, env=env, stdin=slave, **{name: slave for name in streams}, **others)
    os.close(slave)
    screen, raw, pending = Screen(columns), b"", b""

    def take(chunk):
        nonlocal raw, pending
        raw += chunk
        pending += chunk
        cut = len(pending) if pending.endswith((b"\n", b"K", b"J", b"m")) or not chunk else safe_end(pending)
        screen.feed(pending[:cut].decode(errors="replace"))
        pending = pending[cut:]

    def resize(new):
        while chunk := read_some(master, 0):
            take(chunk)
        set_columns(master, new)
        screen.resize(new)

    while chunk := read_some(master):
        take(chunk)
        if watch:
            watch(screen, resize)
    take(b"")
    os.close(master)
    out, err = process.communicate(timeout=120)
    return process.returncode, screen, raw, {"stdout": out, "stderr": err}


def safe_end(data):
    """How much of `data` ends neither inside an escape code nor inside a character."""
    cut = data.rfind(b"\x1b")
    if cut >= 0 and not re.search(rb"[A-Za-z]", data[cut:]):
        data = data[:cut]
    for back in range(1, min(4, len(data)) + 1):
        if data[-back] & 0xC0 == 0xC0:
            need = 2 if data[-back] < 0xE0 else 3 if data[-back] < 0xF0 else 4
            return len(data) - back if need > back else len(data)
    return len(data)
