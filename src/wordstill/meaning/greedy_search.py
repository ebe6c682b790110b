"""Greedy search with a Marian translator, many sentences at once.

It gives the same results as transformers' ``generate``, faster: keys and values are preallocated instead of
concatenated at each step, finished sentences leave the batch, and a step has few operations, whose launches take most
of the time of a small model on a GPU.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

LEAVING = 8
"""Steps after which finished sentences leave the batch; checking more often would mean waiting for the device."""


class _Layer(NamedTuple):
    """The cached keys and values of a decoder layer, each [n, heads, length, size]."""

    keys: Tensor
    values: Tensor
    source_keys: Tensor
    source_values: Tensor

    def of(self, rows: Tensor) -> _Layer:
        """The cache of some sentences only."""
        return _Layer(*(kept[rows] for kept in self))


class GreedySearch:
    """Chooses the most probable subword at each step, until a translation ends or is cut.

    Args:
        model: A Marian model from transformers, on its device and in its precision.
    """

    def __init__(self, model: Any) -> None:
        config, decoder = model.config, model.model.decoder
        self.encoder, self.layers, self.heads = model.model.encoder, decoder.layers, config.decoder_attention_heads
        self.start, self.end = int(config.decoder_start_token_id), int(config.eos_token_id)
        self._words, self._places = decoder.embed_tokens.weight, decoder.embed_positions.weight
        self._scale = config.d_model**0.5 if config.scale_embedding else 1.0
        self._head, self._bias = model.lm_head.weight, model.final_logits_bias[0].clone()
        for banned in model.generation_config.bad_words_ids or ():
            self._bias[banned[0]] = -torch.inf
        # One product instead of three.
        joined = [[getattr(layer.self_attn, f"{name}_proj") for name in "qkv"] for layer in self.layers]
        self._weights = [torch.cat([one.weight for one in three]) for three in joined]
        self._biases = [torch.cat([one.bias for one in three]) for three in joined]

    @torch.inference_mode()
    def search(self, ids: Tensor, mask: Tensor, most: list[int]) -> list[list[int]]:
        """Translations of padded sentences.

        Args:
            ids: Subwords [n, length].
            mask: Where there are any [n, length].
            most: Maximum length of each translation in subwords [n].

        Returns:
            Subwords of each translation, including the end token if there is one.
        """
        device, count, longest = ids.device, len(ids), max(most)
        read = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        kept = [self._layer(layer, read, longest) for layer in self.layers]
        hidden = torch.zeros(mask.shape, dtype=read.dtype, device=device).masked_fill_(~mask.bool(), -torch.inf)
        hidden = hidden[:, None, None]
        given = torch.full((count, longest), self.end, device=device)
        limit, rows = torch.tensor(most, device=device), torch.arange(count, device=device)
        last = torch.full((count,), self.start, device=device)
        done = torch.zeros(count, dtype=torch.bool, device=device)
        for step in range(longest):
            last = self._next(last, step, kept, hidden)
            given[rows, step] = last.masked_fill(done, self.end)
            done |= (last == self.end) | (limit <= step + 1)
            if (step + 1) % LEAVING == 0 or step + 1 == longest:
                going = torch.nonzero(~done).flatten()
                if not len(going):
                    break
                if len(going) < len(rows):
                    kept, hidden = [layer.of(going) for layer in kept], hidden[going]
                    rows, last, limit, done = rows[going], last[going], limit[going], done[going]
        found = given.tolist()
        ends = ((given == self.end).int().argmax(dim=1) + 1).tolist()
        ended = (given == self.end).any(dim=1).tolist()
        return [row[: min(end, cut) if over else cut] for row, end, over, cut in zip(found, ends, ended, most)]

    def _layer(self, layer: Any, read: Tensor, longest: int) -> _Layer:
        source = (self._split(project(read)) for project in (layer.encoder_attn.k_proj, layer.encoder_attn.v_proj))
        shape = (len(read), self.heads, longest, read.shape[-1] // self.heads)
        return _Layer(read.new_empty(shape), read.new_empty(shape), *source)

    def _split(self, states: Tensor) -> Tensor:
        """[n, heads, length, size] of [n, length, width]."""
        return states.view(*states.shape[:2], self.heads, -1).transpose(1, 2).contiguous()

    def _next(self, last: Tensor, step: int, kept: list[_Layer], hidden: Tensor) -> Tensor:
        """The most probable next subwords [n]."""
        state = functional.embedding(last, self._words) * self._scale + self._places[step]
        for layer, weight, bias, own in zip(self.layers, self._weights, self._biases, kept):
            parts = functional.linear(state, weight, bias).view(len(state), 3, self.heads, 1, -1)
            query, own.keys[:, :, step], own.values[:, :, step] = parts[:, 0], parts[:, 1, :, 0], parts[:, 2, :, 0]
            mixed = _attended(query, own.keys[:, :, : step + 1], own.values[:, :, : step + 1])
            state = layer.self_attn_layer_norm(state + layer.self_attn.out_proj(mixed))
            query = layer.encoder_attn.q_proj(state).view(len(state), self.heads, 1, -1)
            mixed = _attended(query, own.source_keys, own.source_values, hidden)
            state = layer.encoder_attn_layer_norm(state + layer.encoder_attn.out_proj(mixed))
            inner = layer.activation_fn(layer.fc1(state))
            state = layer.final_layer_norm(state + layer.fc2(inner))
        return functional.linear(state, self._head, self._bias).argmax(dim=-1)


def _attended(query: Tensor, keys: Tensor, values: Tensor, hidden: Tensor | None = None) -> Tensor:
    """[n, width] attention of queries [n, heads, 1, size] over values [n, heads, length, size]."""
    # Attention kernels are made for many queries; here each sentence has a single one.
    scores = (query * query.shape[-1] ** -0.5) @ keys.transpose(-1, -2)
    weights = (scores if hidden is None else scores + hidden).softmax(dim=-1)
    mixed: Tensor = (weights @ values).flatten(1)
    return mixed
