#!/usr/bin/python3
"""Turns what a terminal shows (standard input, with bold, dim and colour codes) into an SVG picture (standard output)."""
import html, re, sys

STYLES = {'1': 'font-weight="bold" fill="#ffffff"', '2': 'fill="#8b949e"', '32': 'fill="#7ee787"', '33': 'fill="#e3b341"',
          '31': 'fill="#ff7b72"', '36': 'fill="#79c0ff"'}
WIDTH, HEIGHT, PAD = 8.4, 18, 16


def spans(line, style):
    """Yields (text, style) of a line; a style lasts until it is reset, over line ends too."""
    for part in re.split(r'(\x1b\[[0-9;]*m)', line):
        if part.startswith('\x1b['):
            for code in part[2:-1].split(';'):
                style = '' if code in ('', '0') else STYLES.get(code, style)
        elif part:
            yield part, style
    yield '', style


def main():
    lines = sys.stdin.read().rstrip('\n').split('\n')
    columns = max(len(re.sub(r'\x1b\[[0-9;]*m', '', line)) for line in lines)
    width, height = columns * WIDTH + 2 * PAD, len(lines) * HEIGHT + 2 * PAD
    print('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d">' % (width, height, width))
    print('<rect width="100%" height="100%" rx="8" fill="#0d1117"/>')
    print('<g font-family="ui-monospace, \'DejaVu Sans Mono\', Menlo, Consolas, monospace" font-size="14" fill="#c9d1d9" xml:space="preserve">')
    style = ''
    for i, line in enumerate(lines):
        parts = list(spans(line, style))
        style = parts[-1][1]
        text = ''.join('<tspan %s>%s</tspan>' % (look, html.escape(part)) for part, look in parts if part)
        if text:
            print('<text x="%d" y="%d" style="white-space:pre">%s</text>' % (PAD, PAD + i * HEIGHT + 13, text))
    print('</g></svg>')


if __name__ == '__main__':
    main()
