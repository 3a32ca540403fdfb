"""Tables as text."""

import pytest

from gcs.ports.reader import Summarisers

summarise = Summarisers().summarise


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_csv_has_a_line_for_each_row_and_its_columns_as_title(separator: str) -> None:
    content = f'name{separator}tons\n"Maria, the first"{separator}7\n'.encode()
    if separator == ",":
        assert content.count(b",") == 3
    document = summarise(content, "text/csv", "http://x/", "fast")
    assert (document.title, document.text) == ("name, tons", "name\ttons\nMaria, the first\t7")


def test_csv_in_another_encoding_is_read() -> None:
    content = "имя,вес\nМария,7\n".encode("cp1251")
    assert summarise(content, "text/csv; charset=windows-1251", "http://x/", "fast").title == "имя, вес"


def test_csv_with_an_open_quote_is_read_as_far_as_can_be() -> None:
    content = b"a,b\n1,2\n" + b'"' + b"x\n" * 100_000
    assert summarise(content, "text/csv", "http://x/", "fast").text.startswith("a\tb\n1\t2")
