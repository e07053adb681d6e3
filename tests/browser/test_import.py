"""A model of the reader's own: files and texts become the model of a calculator, and a link carries it."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Watched, answer_html, live, pick
from tests.files.build import LLAMA, gguf, llama_tensors, safetensors, tokenizer

pytestmark = pytest.mark.browser
FIT, CACHE = "calculators/will-it-fit/", "calculators/kv-cache/"
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 128256,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
}


def sparse(path: Path, header: bytes, size: int) -> Path:
    """Write a file of `size` bytes of which only the header takes space."""
    with path.open("wb") as file:
        file.write(header)
        file.truncate(size)
    return path


def opened(page: Page, address: str) -> Page:
    """Open a calculator with its import."""
    page.goto(address)
    page.click(".calc-import > summary")
    return page


def drop(page: Page, name: str, content: bytes) -> None:
    """Drop a file on the calculator."""
    page.evaluate(
        """([name, content]) => {
          const transfer = new DataTransfer();
          transfer.items.add(new File([new Uint8Array(content)], name));
          const place = document.querySelector("gpu-calculator");
          const event = (type) => new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true });
          place.dispatchEvent(event("dragover"));
          place.dispatchEvent(event("drop"));
        }""",
        [name, list(content)],
    )


def test_a_file_of_32_gigabytes(watched: Watched, chromium: Browser, site: str, tmp_path: Path) -> None:
    """Its header alone is read, its sizes are the answer, and a link has the same answer without the file."""
    header, size = gguf({**LLAMA, **tokenizer(128256)}, llama_tensors("F32"))
    assert size > 32e9
    page = opened(watched.page, site + FIT)
    page.hover("gpu-calculator")
    live(page)
    page.set_input_files(".calc-import input", sparse(tmp_path / "llama-f32.gguf", header, size))
    said = page.locator(".calc-said")
    expect(said).to_contain_text("Read llama-f32.gguf: llama, 8,030,261,248 parameters. Its tensors have 32.12 GB (F32")
    expect(page.locator(".calc-legend")).to_contain_text("Weights 29.92 GiB")
    expect(page.locator("[name=model] option:checked")).to_have_text(
        "Meta Llama 3.1 8B Instruct (8.03 billion parameters)"
    )
    expect(page.locator("[name=weights] option:checked")).to_have_text("As in the file: 29.92 GiB")
    expect(page.locator(".calc-status")).to_contain_text("Read llama-f32.gguf")
    page.wait_for_url("**stored**")
    assert "hidden_size" in page.url and "tokenizer" not in page.url and len(page.url) < 1000

    other = chromium.new_context().new_page()
    other.goto(page.url)
    live(other)
    expect(other.locator(".calc-legend")).to_contain_text("Weights 29.92 GiB")
    expect(other.locator("[name=model] option:checked")).to_contain_text("Meta Llama 3.1 8B Instruct")
    assert answer_html(other) == answer_html(page)
    other.context.close()
    assert watched.complaints == []


def test_back_to_the_list(watched: Watched, site: str, tmp_path: Path) -> None:
    """Another model takes a format of the list again; going back and reloading bring the own model back."""
    page = opened(watched.page, site + FIT)
    one_layer = gguf({**LLAMA, "llama.block_count": 1}, llama_tensors(layers=1))
    page.set_input_files(".calc-import input", sparse(tmp_path / "model.gguf", *one_layer))
    live(page)
    expect(page.locator("[name=weights]")).to_have_value("stored")
    expect(page.locator(".calc-status")).to_contain_text("Read model.gguf")  # said with the answer, after the form
    stored = page.inner_text(".calc-legend")
    page.fill("[name=context_tokens]", "4096")
    page.fill("[name=context_tokens]", "8192")
    pick(page, "Model", "llama 3.2 1b")
    expect(page.locator("[name=weights]")).to_have_value("published")
    expect(page.locator(".calc-legend")).to_contain_text("Weights 2.30 GiB")
    page.wait_for_url("**model=llama-3.2-1b**")
    page.go_back()
    expect(page.locator("[name=weights]")).to_have_value("stored")
    expect(page.locator(".calc-legend")).to_have_text(stored, use_inner_text=True)
    page.reload()
    live(page)
    expect(page.locator(".calc-legend")).to_have_text(stored, use_inner_text=True)
    pick(page, "Number format of the weights", "bf16")
    expect(page.locator("[name=model] option:checked")).to_contain_text("Meta Llama")
    page.click(".calc-reset")
    expect(page.locator("[name=model]")).to_have_value("llama-3.1-8b")
    expect(page.locator(".calc-verdict")).to_contain_text("15.54 GiB")
    assert watched.complaints == []


def test_pasting_a_config(watched: Watched, site: str) -> None:
    """A nested config answers at once when it is pasted, and by the button when it is typed; by keyboard alone."""
    page = opened(watched.page, site + CACHE)
    nested = {"model_type": "seesall", "text_config": CONFIG, "vision_config": {"hidden_size": 1024}}
    page.focus(".calc-import textarea")
    page.keyboard.insert_text(json.dumps(nested, indent=2))
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    live(page)
    expect(page.locator(".calc-said")).to_contain_text("the language model is modelled alone")
    expect(page.locator(".calc-verdict")).to_contain_text("The cache takes 1.00 GiB")
    expect(page.locator("[name=model] option:checked")).to_contain_text("8.03 billion parameters")
    expect(page.locator(".calc-import textarea")).to_have_value("")
    page.evaluate(
        """(text) => {
          const area = document.querySelector(".calc-import textarea");
          area.value = text;
          area.dispatchEvent(new InputEvent("input", { inputType: "insertFromPaste", bubbles: true }));
        }""",
        json.dumps({**CONFIG, "num_key_value_heads": 32}),
    )
    expect(page.locator(".calc-verdict")).to_contain_text("The cache takes 4.00 GiB")
    assert watched.complaints == []


JUNK: dict[str, tuple[bytes, str]] = {
    "notes.txt": (b"Dear reader", "notes.txt is neither a config.json nor a GGUF or safetensors file."),
    "config.json": (b'{"model_type": "llama", ', "config.json is not valid JSON: Expecting property name"),
    "deep.json": (b'{"a":' * 100_000, "nests deeper than 16 levels"),
    "cut.gguf": (gguf(LLAMA, llama_tensors())[0], "cut.gguf is cut off: its tensors end at byte 8,532,9"),
    "model.safetensors": (safetensors([("x", (2, 2), "F16")])[0] + bytes(8), "bring the model's config.json together"),
    "hostile.gguf": (b"GGUF\x03\0\0\0" + b"\xff" * 64, "it says that it has 18,446,744,073,709,551,615"),
}


def test_junk_is_refused_in_words(watched: Watched, site: str, tmp_path: Path) -> None:
    """Each file has its message; the last answer stays, and a good file works afterwards."""
    page = opened(watched.page, site + CACHE)
    page.hover("gpu-calculator")
    live(page)
    verdict = page.inner_text(".calc-verdict")
    for name, (content, message) in JUNK.items():
        (tmp_path / name).write_bytes(content)
        page.set_input_files(".calc-import input", tmp_path / name)
        expect(page.locator(".calc-said")).to_contain_text(message)
        expect(page.locator(".calc-import textarea")).to_have_attribute("aria-invalid", "true")
        expect(page.locator(".calc-status")).to_contain_text(message)
    assert page.inner_text(".calc-verdict") == verdict
    drop(page, "config.json", json.dumps({**CONFIG, "num_hidden_layers": 16}).encode())
    expect(page.locator(".calc-verdict")).to_contain_text("The cache takes 0.50 GiB")
    expect(page.locator(".calc-import textarea")).to_have_attribute("aria-invalid", "false")
    assert watched.complaints == []


def test_files_that_belong_together_may_come_one_after_the_other(watched: Watched, site: str, tmp_path: Path) -> None:
    """Safetensors wait for their config."""
    table, layer = ("model.embed_tokens.weight", (128256, 4096), "BF16"), ("model.layers.0.x", (6000, 1_000_000), "U8")
    header, size = safetensors([table, layer])
    page = opened(watched.page, site + FIT)
    page.set_input_files(".calc-import input", sparse(tmp_path / "model.safetensors", header, size))
    live(page)
    expect(page.locator(".calc-said")).to_contain_text("bring the model's config.json together with it")
    drop(page, "config.json", json.dumps(CONFIG).encode())
    expect(page.locator(".calc-said")).to_contain_text("Its tensors have 7.051 GB (U8 6.000 GB, BF16 1.051 GB).")
    expect(page.locator(".calc-legend")).to_contain_text("Weights 6.57 GiB")


def test_a_link_with_a_wrong_model_says_what_is_wrong(watched: Watched, site: str) -> None:
    """A config in the address that cannot be read is named at the model."""
    page = watched.page
    for model, message in (('{"config":{"model_type":"x"}}', "'x' is not modelled"), ("{", "is not valid JSON")):
        page.goto(f"{site}{FIT}?model={model}")
        live(page)
        expect(page.locator("#will-it-fit-model-error")).to_contain_text(message)


def test_a_phone_has_room_for_it(watched: Watched, site: str) -> None:
    """Nothing is wider than 320 pixels."""
    page = watched.page
    page.set_viewport_size({"width": 320, "height": 640})
    opened(page, site + FIT)
    drop(page, "a-file-with-a-name-that-is-longer-than-any-line-of-a-phone-could-ever-be.gguf", b"GGUF")
    live(page)
    expect(page.locator(".calc-said")).to_contain_text("cut off")
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
