"""What `cmake --install` installs is enough to build and run the C example with pkg-config alone."""
import json, os, re, shutil, subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.environ.get('RUE_PROGRAM', os.path.join(ROOT, 'build/asan/rue'))
BUILD = os.path.dirname(PROGRAM)


@pytest.fixture(scope='module')
def prefix(tmp_path_factory):
    """An installation, moved to its place by pkg-config's own prefix variable."""
    if not os.path.exists(os.path.join(BUILD, 'cmake_install.cmake')):
        pytest.skip('%s is no build folder' % BUILD)
    path = tmp_path_factory.mktemp('prefix')
    subprocess.run(['cmake', '--install', BUILD, '--prefix', str(path)], check=True, stdout=subprocess.DEVNULL)
    return path


def find(folder, name):
    return next(os.path.join(where, name) for where, _, files in os.walk(folder) if name in files)


def sanitizer_flags():
    cache = open(os.path.join(BUILD, 'CMakeCache.txt')).read()
    found = re.search(r'^RUE_SANITIZE:[A-Z]+=(.+)$', cache, re.M)
    return ['-fsanitize=' + found.group(1)] if found else []


def test_the_c_example_loads_as_recommended(prefix, tmp_path):
    photos, out = str(tmp_path / 'photos'), tmp_path / 'out'
    subprocess.run([PROGRAM, 'prepare', '--synthetic', '20', photos, '--quiet'], check=True)
    subprocess.run([PROGRAM, 'tune', photos, '--mode', 'raw', '--model', 'none', '--batch-size', '4,8', '--num-workers', '1',
                    '--parallelism', 'sample', '--out', str(out), '--quiet'], check=True, stdout=subprocess.DEVNULL)
    best = json.loads((out / 'recommendation.json').read_text())['recommendations'][0]['config']
    # Built for another prefix: the paths in rue.pc are rewritten as a packager would.
    config = find(prefix, 'rue.pc')
    text = open(config).read()
    old = re.search(r'^prefix=(.*)$', text, re.M).group(1)
    open(config, 'w').write(text.replace(old, str(prefix)))
    flags = subprocess.run(['pkg-config', '--cflags', '--libs', 'rue', 'jansson'], check=True, text=True, stdout=subprocess.PIPE,
                           env=dict(os.environ, PKG_CONFIG_PATH=os.path.dirname(config))).stdout.split()
    example = str(tmp_path / 'load_images')
    subprocess.run(['cc', '-std=gnu17', '-Wall', '-Wextra', '-Werror', *sanitizer_flags(),
                    os.path.join(ROOT, 'examples/load_images.c'), *flags, '-o', example], check=True)
    report = str(out / 'recommendation.json')
    done = subprocess.run([example, photos, report], text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert best['parallelism'] == 'sample' and done.stdout == f"20 images in batches of {best['batch_size']}\n"
    levels = tmp_path / 'levels.json'
    levels.write_text((out / 'recommendation.json').read_text().replace('"batch_dtype": "float32"', '"batch_dtype": "uint8"'))
    assert '"uint8"' in levels.read_text() and subprocess.run([example, photos, str(levels)], capture_output=True, text=True,
                                                              check=True).stdout == done.stdout
    assert subprocess.run([example, str(tmp_path / 'missing'), report], capture_output=True).returncode == 1
    assert subprocess.run([example, photos, str(tmp_path / 'missing')], capture_output=True).returncode == 1


def test_the_library_needs_neither_gsl_nor_sqlite(prefix):
    if not shutil.which('nm'):
        pytest.skip('nm is not here')
    symbols = subprocess.run(['nm', '-u', find(prefix, 'librue.a')], check=True, text=True, capture_output=True).stdout
    assert not re.search(r'\b(gsl_|sqlite3_|json_)', symbols)


def test_the_schema_and_licence_are_installed(prefix):
    assert find(prefix, 'recommendation.schema.json')
    assert find(prefix, 'LICENSE')
