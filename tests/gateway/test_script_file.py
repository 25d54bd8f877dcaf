"""A model script is checked whole, and each mistake is told with its place."""

from pathlib import Path

import pytest

from tiltyard_gateway.scripted import Script, load_script, parse_script
from tiltyard_specs.errors import DataError

GOOD = """
models: [model-a]
usage: {input: 1, output: 2}
conversations:
  - when: {prompt: 'fix .*', model: 'model-.*'}
    turns:
      - {shell: ls, delay: 1.5s, chunk_delay: 20ms, errors: [429, {status: 529, headers: {retry-after: "1"}}]}
      - {tool: {name: mcp__acme__find, input: {query: x}}, text: Looking.}
      - {text: done, usage: {input: 5, cache_read: 6, cache_write: 7, output: 8, reasoning: 3}, cut: true}
"""


def test_a_script_reads_as_written() -> None:
    script = parse_script(GOOD, name="a.yaml")
    first, second, third = script.conversations[0].turns

    assert (first.delay, first.chunk_delay) == (1.5, 0.02)
    assert [(error.status, error.headers) for error in first.errors] == [
        (429, {}),
        (529, {"retry-after": "1"}),
    ]
    assert second.tool is not None
    assert second.tool.input == {"query": "x"}
    assert third.cut
    assert script.conversations[0].last_text == "done"


@pytest.mark.parametrize(
    ("conversation", "sentence"),
    [
        ("{turns: [{txt: a}]}", 'a.yaml:1: conversations[0].turns[0].txt: unknown key; did you mean "text"?'),
        ("{turns: [{}]}", "conversations[0].turns[0]: a turn needs text, shell or tool"),
        ("{turns: [{shell: a, tool: {name: b}}]}", "a turn has a shell command or a tool call, not both"),
        ("{turns: []}", "conversations[0].turns: must not be empty"),
        ("{turns: [{text: a, delay: soon}]}", "turns[0].delay: expected a duration such as 500ms"),
        ("{turns: [{text: a, errors: [200]}]}", "turns[0].errors[0]: must be at least 400, got 200"),
        ("{when: {prompt: '('}, turns: [{text: a}]}", "when.prompt: not a valid regular expression"),
        ("{turns: [{text: a, usage: {in: 1}}]}", "turns[0].usage.in: unknown key"),
    ],
)
def test_mistakes_name_file_place_and_remedy(conversation: str, sentence: str) -> None:
    with pytest.raises(DataError) as caught:
        parse_script(f"conversations: [{conversation}]", name="a.yaml")

    assert sentence in str(caught.value)
    assert str(caught.value).startswith("a.yaml:1: ")


def test_all_mistakes_come_at_once() -> None:
    with pytest.raises(DataError) as caught:
        parse_script("conversations:\n- turns: [{}]\n- turns: [{text: 3}]\nmodel: x\n", name="a.yaml")

    assert [line.split(": ")[0] for line in str(caught.value).splitlines()] == [
        "a.yaml:2",
        "a.yaml:3",
        "a.yaml:4",
    ]


def test_a_file_that_is_not_there_or_no_yaml(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        load_script(tmp_path / "none.yaml")
    broken = tmp_path / "broken.yaml"
    broken.write_text("conversations: [")
    with pytest.raises(DataError, match=r"broken\.yaml:1"):
        load_script(broken)


def test_every_key_is_described_in_the_docs() -> None:
    """docs/model-script.md is the reference: a key that it does not know does not exist for users."""
    text = (Path(__file__).parents[2] / "docs" / "model-script.md").read_text()

    def keys(schema: dict) -> set[str]:
        parts = [schema, *schema.get("$defs", {}).values()]
        return {key for part in parts for key in part.get("properties", {})}

    assert not {key for key in keys(Script.model_json_schema()) if f"`{key}`" not in text}


def test_the_example_in_the_docs_is_a_script() -> None:
    text = (Path(__file__).parents[2] / "docs" / "model-script.md").read_text()
    blocks = [part.split("```")[0] for part in text.split("```yaml\n")[1:]]

    assert blocks
    for block in blocks:
        parse_script(block, name="docs/model-script.md")


def test_a_script_that_is_nested_too_deep_is_told() -> None:
    tool = "{name: t, input: " + "{a: " * 300 + "1" + "}" * 300 + "}"
    with pytest.raises(DataError, match=r"^a\.yaml:1: is nested more than 64 levels deep$"):
        parse_script(f"conversations: [{{turns: [{{tool: {tool}}}]}}]", name="a.yaml")
