"""HTML by construction: nothing becomes markup that is not."""

import json

from hypothesis import given
from hypothesis import strategies as st

from property_tests import examples
from vfxgb.report.html import Markup, json_block, markup, more, table, tag


def test_text_and_attributes_are_escaped() -> None:
    assert tag("td", "<b>&\"'", title='"><') == '<td title="&quot;&gt;&lt;">&lt;b&gt;&amp;&quot;&#x27;</td>'


def test_markup_passes_and_joins() -> None:
    assert tag("p", tag("b", "x"), None, ["y", 3]) == "<p><b>x</b>y3</p>"
    assert markup((Markup("<i>"), "<i>")) == "<i>&lt;i&gt;"


def test_attributes() -> None:
    assert tag("input", class_="a", data_row=3, hidden=True, id=None, open_=False) == (
        '<input class="a" data-row="3" hidden>'
    )
    assert tag("rect", x=1.0, y=1 / 3, width=100.0) == '<rect x="1" y="0.33" width="100"></rect>'


@given(
    st.recursive(
        st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
    )
)
@examples(40)
def test_a_json_block_cannot_be_left(value) -> None:
    block = json_block(value, "k")
    body = block.removeprefix('<script type="application/json" id="k">').removesuffix("</script>")
    assert not set(body) & set("<>&")
    assert body.isascii()
    assert json.loads(body) == value


def test_tables_head_rows_and_scroll() -> None:
    made = table("A <caption>", ("name", "n"), [("a&b", "1")], numeric=(1,), stack=True)
    for wanted in (
        '<th scope="row">a&amp;b</th>',
        '<td class="num" data-label="n">1</td>',
        'aria-label="A &lt;caption&gt;"',
        'tabindex="0"',
        'class="stack"',
    ):
        assert wanted in made


def test_folded() -> None:
    assert more("s", "x", key="k") == '<details id="k"><summary>s</summary>x</details>'
