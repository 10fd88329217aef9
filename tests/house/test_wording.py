"""The texts of the program that tests assert: each is in fixtures/wording.py once, and used."""
import re

import pytest
import wording
from conftest import ROOT

pytestmark = pytest.mark.quick


def test_each_text_is_used_and_there_once():
    texts = {name: text for name, text in vars(wording).items() if name.isupper()}
    used = {name for path in (ROOT / "tests").rglob("test_*.py") for name in re.findall(r"\bwording\.([A-Z0-9_]+)", path.read_text())}
    assert len(texts) > 100 and used == texts.keys()
    assert len(set(texts.values())) == len(texts)
