from __future__ import annotations

import json
import logging
import shutil
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import huggingface_hub.constants
import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from wordstill.errors import TeacherError, UsageError
from wordstill.teacher import BatchConfig, Teacher, TeacherConfig, WordListBatches, loading
from wordstill.teacher.loading import declared_pooling, hub_answers, load_model_and_tokenizer


@pytest.fixture
def saved(tmp_path, tiny_model, tiny_tokenizer):
    """Saves a tiny teacher into a folder."""

    def save(kind="bert-uncased", name="model"):
        tiny_model(kind).save_pretrained(tmp_path / name)
        tiny_tokenizer(kind).save_pretrained(tmp_path / name)
        return tmp_path / name

    return save


@pytest.fixture
def no_network(monkeypatch):
    """Fails the test on any attempt to look up or reach another machine; counts them."""
    attempts = []

    def refuse(*arguments, **options):
        attempts.append(arguments)
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    return attempts


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """As with HF_HUB_OFFLINE=1 and an empty cache, whose folder is given."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    cache = tmp_path / "hub"
    for module in (huggingface_hub.constants, huggingface_hub.utils._cache_manager):
        monkeypatch.setattr(module, "HF_HUB_CACHE", str(cache))
    return cache


def states_of(teacher):
    batches = WordListBatches(["river", "still stands"], np.arange(2), teacher.tokenizer, BatchConfig(512, 64))
    [(_, batch)] = batches.since((0, 0))
    return teacher.encode(batch, (2,)).hidden[2]


@pytest.mark.filterwarnings("ignore:.*reads padded texts:UserWarning")
class TestFolders:
    @pytest.mark.parametrize("kind", ["bert-uncased", "roberta", "gpt2", "llama3", "t5", "albert"])
    def test_a_saved_teacher_is_the_same(self, kind, saved, tiny_teacher, no_network):
        loaded = Teacher.from_pretrained(saved(kind), device="cpu", dtype="float32")
        assert no_network == []
        torch.testing.assert_close(states_of(loaded), states_of(tiny_teacher(kind)))
        assert (loaded.tokenizer.prefix, loaded.tokenizer.suffix) == (
            tiny_teacher(kind).tokenizer.prefix, tiny_teacher(kind).tokenizer.suffix,
        )  # fmt: skip

    def test_settings_reach_the_teacher(self, saved):
        config = TeacherConfig(str(saved()), device="cpu", dtype="float16", max_length=33)
        teacher = Teacher.from_config(config)
        assert (teacher.limit, teacher.dtype, teacher.config) == (33, torch.float16, config)
        with pytest.raises(UsageError, match=r"max_length 4000 is more than the 128 positions"):
            Teacher.from_config(TeacherConfig(str(saved()), device="cpu", max_length=4000))

    @pytest.mark.parametrize(
        ("model_type", "config"),
        [
            ("T5ForConditionalGeneration", transformers.T5Config(
                d_model=32, d_kv=8, d_ff=48, num_layers=3, num_decoder_layers=2, num_heads=4, vocab_size=600,
            )),
            ("BartForConditionalGeneration", transformers.BartConfig(
                d_model=32, encoder_layers=3, decoder_layers=2, encoder_ffn_dim=48, decoder_ffn_dim=48,
                encoder_attention_heads=4, decoder_attention_heads=4, vocab_size=600,
            )),
        ],
    )  # fmt: skip
    def test_of_an_encoder_decoder_the_encoder(self, model_type, config, tmp_path, tiny_tokenizer):
        both = getattr(transformers, model_type)(config).eval()
        both.save_pretrained(tmp_path)
        tokenizer = tiny_tokenizer("roberta")
        tokenizer.save_pretrained(tmp_path)
        teacher = Teacher.from_pretrained(tmp_path, device="cpu", dtype="float32")
        assert (teacher.depth, teacher.width) == (3, 32)
        batches = WordListBatches(["the river"], np.arange(1), teacher.tokenizer, BatchConfig(512, 64))
        [(_, batch)] = batches.since((0, 0))
        states = teacher.encode(batch, (0, 1, 2, 3))
        with torch.no_grad():
            expected = both.get_encoder()(**tokenizer(" the river", return_tensors="pt"), output_hidden_states=True)
        for layer in range(4):
            torch.testing.assert_close(states.hidden[layer], expected.hidden_states[layer][0])

    def test_a_checkpoint_for_a_task_has_no_pooler_and_needs_none(self, tmp_path, tiny_tokenizer, caplog, capfd):
        config = transformers.BertConfig(
            vocab_size=len(tiny_tokenizer("bert-uncased")), hidden_size=32, num_hidden_layers=2,
            num_attention_heads=4, intermediate_size=48,
        )  # fmt: skip
        transformers.BertForMaskedLM(config).save_pretrained(tmp_path / "mlm")
        tiny_tokenizer("bert-uncased").save_pretrained(tmp_path / "mlm")
        capfd.readouterr()
        with caplog.at_level(logging.WARNING):
            Teacher.from_pretrained(tmp_path / "mlm", device="cpu", dtype="float32")
        assert caplog.text == ""
        assert capfd.readouterr() == ("", "")

    def test_an_empty_folder(self, tmp_path, no_network):
        with pytest.raises(TeacherError, match=r"holds no model that transformers can load .*It holds: nothing"):
            Teacher.from_pretrained(tmp_path)
        assert no_network == []

    def test_a_folder_of_other_things(self, tmp_path):
        for name in ("notes.txt", "corpus.txt"):
            (tmp_path / name).write_text("text")
        with pytest.raises(TeacherError, match=r"It holds: corpus.txt, notes.txt. Expected config.json"):
            Teacher.from_pretrained(tmp_path)

    def test_a_gguf_file_is_to_be_unpacked(self, tmp_path, no_network):
        (tmp_path / "small.Q4_1.gguf").write_bytes(b"GGUF")
        for name in (tmp_path, tmp_path / "small.Q4_1.gguf"):
            with pytest.raises(TeacherError, match=r"small.Q4_1.gguf is a GGUF file, .*gguf_file='small.Q4_1.gguf'"):
                Teacher.from_pretrained(name)
        assert no_network == []

    @pytest.mark.parametrize(
        "name", ["config.json", "model.safetensors", "tokenizer.json"],
    )  # fmt: skip
    @pytest.mark.parametrize("damage", ["missing", "cut", "empty"])
    def test_a_damaged_folder(self, name, damage, saved, no_network):
        folder = saved()
        if damage == "missing":
            (folder / name).unlink()
        else:
            content = (folder / name).read_bytes()
            (folder / name).write_bytes(content[: len(content) // 2] if damage == "cut" else b"")
        with pytest.raises(TeacherError, match=rf"The folder {folder} holds no model .*Expected config.json"):
            Teacher.from_pretrained(folder, device="cpu")
        assert no_network == []

    @pytest.mark.parametrize("kind", ["bert-uncased", "roberta", "gpt2", "modernbert", "llama3", "t5", "albert"])
    def test_a_model_without_its_tokenizer(self, kind, tmp_path, tiny_model):
        tiny_model(kind).save_pretrained(tmp_path)
        with pytest.raises(TeacherError, match=r"saved without its tokenizer|Couldn't instantiate the backend"):
            Teacher.from_pretrained(tmp_path, device="cpu")

    def test_weights_of_another_model(self, saved):
        folder = saved()
        weights = load_file(folder / "model.safetensors")
        renamed = {key.replace("layer.1.", "block.1."): weight for key, weight in weights.items()}
        save_file(renamed, folder / "model.safetensors", metadata={"format": "pt"})
        with pytest.raises(TeacherError, match=r"has no weights for 16 parts of its model: encoder.layer.1.*, \.\.\."):
            Teacher.from_pretrained(folder, device="cpu")

    def test_weights_of_another_shape(self, saved):
        folder = saved()
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | {"intermediate_size": 64}))
        with pytest.raises(TeacherError, match=r"holds no model that transformers can load"):
            Teacher.from_pretrained(folder, device="cpu")

    def test_code_that_comes_with_a_model_is_not_run(self, saved):
        folder = saved()
        config = json.loads((folder / "config.json").read_text())
        del config["model_type"]
        config["auto_map"] = {"AutoConfig": "evil.Config", "AutoModel": "evil.Model"}
        (folder / "config.json").write_text(json.dumps(config))
        (folder / "evil.py").write_text("raise SystemExit('code was run')")
        with pytest.raises(TeacherError, match=r"holds no model that transformers can load"):
            Teacher.from_pretrained(folder, device="cpu")

    def test_a_file(self, tmp_path):
        (tmp_path / "model.bin").write_bytes(b"x")
        with pytest.raises(TeacherError, match=r"model.bin': it is a file"):
            Teacher.from_pretrained(tmp_path / "model.bin")

    @pytest.mark.parametrize("name", ["/no/such/folder", "./nothing", "~/nothing-here"])
    def test_a_path_that_does_not_exist(self, name, no_network):
        with pytest.raises(TeacherError, match=r"it does not exist\. .*Without a network, use"):
            Teacher.from_pretrained(name)
        assert no_network == []


class TestNames:
    def test_no_network_ends_at_once(self, no_network):
        """The Hub's own client tries for half a minute; a single attempt must do."""
        start = time.monotonic()
        with pytest.raises(TeacherError) as caught:
            Teacher.from_pretrained("bert-base-uncased-that-nobody-has")
        assert time.monotonic() - start < 5
        assert 1 <= len(no_network) <= 2
        for part in ("no folder here", "Hub cannot be reached", "all-MiniLM-L6-v2", "a folder with a saved model"):
            assert part in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_nearest_names(self, offline):
        with pytest.raises(TeacherError, match=r"Did you mean 'all-MiniLM-L6-v2'\? Without a network"):
            Teacher.from_pretrained("all-minilm-l6-v2-x")
        with pytest.raises(TeacherError) as caught:
            Teacher.from_pretrained("qwertz")
        assert "Did you mean" not in str(caught.value)

    def test_a_model_in_the_cache_works_offline_and_is_named(self, offline, saved, tiny_teacher):
        commit = "0123456789abcdef0123456789abcdef01234567"
        repository = offline / "models--someone--tiny-bert"
        (repository / "refs").mkdir(parents=True)
        (repository / "refs" / "main").write_text(commit)
        (repository / "blobs").mkdir()
        shutil.copytree(saved(), repository / "snapshots" / commit)
        loaded = Teacher.from_pretrained("someone/tiny-bert", device="cpu", dtype="float32")
        torch.testing.assert_close(states_of(loaded), states_of(tiny_teacher("bert-uncased")))
        with pytest.raises(TeacherError, match=r"Did you mean 'someone/tiny-bert'\?.*all-MiniLM-L6-v2, someone/tiny"):
            Teacher.from_pretrained("someone/tiny-bart")

    def test_what_the_hub_does_not_have(self, offline, monkeypatch):
        monkeypatch.setattr(loading, "hub_answers", lambda: True)
        with pytest.raises(TeacherError, match=r"the Hugging Face Hub does not have it"):
            Teacher.from_pretrained("nobody/nothing")

    @pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2", "embedded"])
    def test_names_of_the_embedded_teacher(self, name, saved, monkeypatch, no_network):
        folder = saved()
        monkeypatch.setattr(loading, "embedded_teacher", lambda: folder)
        model, tokenizer = load_model_and_tokenizer(name)
        assert isinstance(model, transformers.BertModel)
        assert tokenizer.is_fast
        assert no_network == []


class TestHub:
    def test_offline_by_setting(self, offline):
        assert not hub_answers()

    def test_nobody_listens(self, monkeypatch):
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", "http://127.0.0.1:9")
        assert not hub_answers()

    def test_one_that_hangs(self, monkeypatch):
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(loading, "HUB_SECONDS", 0.5)
        with socket.create_server(("127.0.0.1", 0)) as server:
            address = f"http://127.0.0.1:{server.getsockname()[1]}"
            monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", address)
            assert not hub_answers()

    def test_one_that_answers_whatever_it_says(self, monkeypatch):
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
        with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
            address = f"http://127.0.0.1:{server.server_port}"
            monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", address)
            thread = threading.Thread(target=server.handle_request)
            thread.start()
            assert hub_answers()
            thread.join()


def test_the_logging_of_transformers_is_left_as_it_was(saved, tmp_path):
    from transformers.utils import logging as library

    before = library.get_verbosity(), library.is_progress_bar_enabled()
    load_model_and_tokenizer(str(saved()))
    with pytest.raises(TeacherError):
        load_model_and_tokenizer(str(tmp_path))
    assert (library.get_verbosity(), library.is_progress_bar_enabled()) == before


def test_a_head_that_was_not_saved_does_not_change_the_fingerprint(tiny_model, tiny_tokenizer, tmp_path):
    """Each loading draws the missing weights anew, but no state depends on them."""
    model = tiny_model("bert-uncased")
    del model.pooler
    model.pooler = None
    model.save_pretrained(tmp_path / "model")
    tiny_tokenizer("bert-uncased").save_pretrained(tmp_path / "model")
    first, second = (Teacher.from_pretrained(tmp_path / "model", device="cpu") for _ in range(2))
    heads = [teacher.model.pooler.dense.weight for teacher in (first, second)]
    assert not torch.equal(*heads)
    assert first.fingerprint == second.fingerprint


class TestPooling:
    @pytest.mark.parametrize(
        ("settings", "expected"),
        [
            ({"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}, "mean"),
            ({"pooling_mode_cls_token": True, "include_prompt": True}, "first"),
            ({"pooling_mode_lasttoken": True}, "last"),
            ({"pooling_mode": "cls"}, "first"),
        ],
    )
    def test_what_a_model_declares(self, tmp_path, no_network, settings, expected):
        (tmp_path / "1_Pooling").mkdir()
        (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps(settings))
        assert declared_pooling(str(tmp_path)) == expected

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (None, "does not say how it pools a sentence"),
            ("[3]", "does not say how it pools a sentence"),
            ('{"pooling_mode_max_tokens": true, "pooling_mode_cls_token": true}', "by max_tokens and cls_token"),
            ("{}", "by None, which is not known"),
        ],
    )
    def test_what_is_not_known_is_refused(self, tmp_path, no_network, content, message):
        (tmp_path / "1_Pooling").mkdir()
        if content is not None:
            (tmp_path / "1_Pooling" / "config.json").write_text(content)
        with pytest.raises(TeacherError, match=f"{message}.*Choose target=mean, first or last"):
            declared_pooling(str(tmp_path))

    def test_a_name_without_a_network(self, offline):
        with pytest.raises(TeacherError, match="does not say how it pools a sentence"):
            declared_pooling("someone/something")
