"""ELMo's bidirectional language model: a convolution over characters, then LSTMs in both directions."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
from torch import Tensor, nn
from transformers import PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

BEGIN_TEXT, END_TEXT, BEGIN_WORD, END_WORD, PADDING = range(256, 261)
"""Special characters after the 256 bytes, numbered as by the authors."""
CHARACTERS = 261
SUBWORDS = CHARACTERS + 256
"""The id of a byte within a token is the byte; that of a token's first byte is the byte plus ``CHARACTERS``."""
LONGEST_TEXT = 1 << 30
INSIDE = "▸"
"""Prefix of bytes that do not begin a token; it is not in the byte alphabet."""
TOKENS = "|".join(
    [
        r"(?<!\w)\d+(?:[.,:/]\d+)*(?!\w)",
        r"(?<!\w)(?:\p{L}\.){2,}",
        r"(?<=\w)[nN]['’][tT](?!\w)",
        r"(?<=\w)['’](?:[sSdDmM]|[rR][eE]|[vV][eE]|[lL][lL])(?!\w)",
        r"\.{2,}|-{2,}",
        r"(?<!\w)['’-]|['’-](?!\w)",
        r"[^\w\s'’-]",
    ]
)
"""Tokens of their own, approximately as in the text that ELMo was trained on: ``do n't``, ``U.S.``, ``well-known``,
``3.5``. Everything else between two of them, or between spaces, is a token too."""


def make_tokenizer() -> Any:
    """A fast tokenizer whose subwords are bytes."""
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE(_vocabulary(), [], continuing_subword_prefix=INSIDE))
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\s+"), "removed"),
            pre_tokenizers.Split(Regex(TOKENS), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    backend.post_processor = processors.TemplateProcessing(
        single="<S> $A </S>", special_tokens=[("<S>", BEGIN_TEXT), ("</S>", END_TEXT)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<S>", eos_token="</S>", pad_token="<pad>", model_max_length=LONGEST_TEXT
    )


def characters_of(subwords: Tensor, word: Tensor, words: int, longest: int) -> Tensor:
    """The characters of tokens [N, longest], between boundary marks and padded.

    Args:
        subwords: All subwords, token by token [P].
        word: The token of each subword, ascending from 0 [P].
        words: Number of tokens, N.
        longest: Maximum characters of a token, including its two marks; longer tokens are truncated.
    """
    lengths = torch.bincount(word, minlength=words)
    place = torch.arange(len(subwords), device=word.device) - (lengths.cumsum(0) - lengths)[word]
    kept = place < longest - 2
    found = torch.full((words, longest), PADDING, dtype=torch.int64, device=word.device)
    found[:, 0] = BEGIN_WORD
    found[word[kept], place[kept] + 1] = character_of(subwords[kept])
    ends = lengths.clamp(max=longest - 2) + 1
    return found.scatter_(1, ends[:, None], END_WORD)


def character_of(subwords: Tensor) -> Tensor:
    """The character of a subword, whether or not it begins a token."""
    return torch.where(subwords >= CHARACTERS, subwords - CHARACTERS, subwords)


def begins_token(subwords: Tensor) -> Tensor:
    """Which subwords begin a token; the boundary marks of a text are tokens too."""
    return (subwords >= CHARACTERS) | (subwords == BEGIN_TEXT) | (subwords == END_TEXT)


def _vocabulary() -> dict[str, int]:
    numbers = {name: byte for byte, name in _names_of_bytes().items()}
    inside = {f"{INSIDE}{name}": byte for name, byte in numbers.items()}
    specials = {"<S>": BEGIN_TEXT, "</S>": END_TEXT, "<begin>": BEGIN_WORD, "<end>": END_WORD, "<pad>": PADDING}
    return inside | specials | {name: CHARACTERS + byte for name, byte in numbers.items()}


def _names_of_bytes() -> dict[int, str]:
    """The letter for each byte in byte-level tokenizers: itself if it is visible, else one from U+0100 on."""
    seen = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    unseen = [byte for byte in range(256) if byte not in seen]
    return {byte: chr(byte) for byte in seen} | {byte: chr(256 + place) for place, byte in enumerate(unseen)}


ACTIVATIONS = {"relu": torch.relu, "tanh": torch.tanh}


class ElmoConfig(PretrainedConfig):  # type: ignore[misc]
    """Sizes of an `ElmoModel`, by the names of ``options.json``."""

    model_type = "elmo"

    def __init__(
        self,
        filters: tuple[tuple[int, int], ...] = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024)),
        character_dim: int = 16,
        max_characters: int = 50,
        activation: str = "relu",
        highways: int = 2,
        projection_dim: int = 512,
        cell_dim: int = 4096,
        layers: int = 2,
        cell_clip: float = 3.0,
        projection_clip: float = 3.0,
        skip_connections: bool = True,
        **more: Any,
    ) -> None:
        self.filters, self.character_dim, self.max_characters = filters, character_dim, max_characters
        self.activation, self.highways = activation, highways
        self.projection_dim, self.cell_dim, self.num_hidden_layers = projection_dim, cell_dim, layers
        self.cell_clip, self.projection_clip = cell_clip, projection_clip
        self.skip_connections = skip_connections
        self.hidden_size, self.vocab_size = 2 * projection_dim, SUBWORDS
        super().__init__(**more)


class Tokens(NamedTuple):
    """The tokens of padded texts and their subwords. B texts, L subwords, W tokens at most."""

    first: Tensor
    """Index of the first subword of each token; 0 after the last [B, W]."""
    of_subword: Tensor
    """The token of each subword [B, L]."""
    lengths: Tensor
    """Tokens of each text [B]."""

    def gather(self, states: Tensor) -> Tensor:
        """The state of each token [B, W, d], from those of subwords [B, L, d], which are the same within a token."""
        return states.gather(1, self.first[:, :, None].expand(-1, -1, states.shape[2]))

    def spread(self, states: Tensor) -> Tensor:
        """The state of each subword's token [B, L, d]."""
        return states.gather(1, self.of_subword[:, :, None].expand(-1, -1, states.shape[2]))


class ElmoModel(PreTrainedModel):  # type: ignore[misc]
    r"""ELMo: layer 0 has the character-based vector of each token twice, layers 1 and 2 are LSTMs in both directions.

    Characters are embedded and convolved with filters of several widths, followed by max pooling, highway layers and a
    projection. Each LSTM has a projection, and clips its cells and its output:

    .. math::
        c_t = \mathrm{clip}\big(\sigma(f_t + 1) c_{t-1} + \sigma(i_t) \tanh(j_t)\big), \qquad
        h_t = \mathrm{clip}\big(P (\sigma(o_t) \tanh(c_t))\big)

    From the second layer on, a layer's input is added to its output.

    Paper: Peters et al. 2018, "Deep contextualized word representations".

    Inputs: subwords of `make_tokenizer`, which are bytes, so that no spelling is unknown. All bytes of a token have
    the state of the token, so their mean is that state.
    Cost: a sequential loop over tokens, for all texts of a batch at once.
    Deviations: every text begins with empty cells. In the authors' program, cells are carried over from the previous
    batch, so that states depend on what was read before.
    """

    config_class = ElmoConfig
    base_model_prefix = "elmo"
    main_input_name = "input_ids"
    attends = False
    """There is no attention, so texts are not packed."""
    usual_limit = 2048
    """In bytes, for a sentence of about 400 words."""
    embeds_alone = True
    """Layer 0 depends only on the token's characters, so it is the input table of an open vocabulary."""

    def __init__(self, config: ElmoConfig) -> None:
        super().__init__(config)
        # Before all other lists of modules, because layers are found as the first list of this length.
        self.layers = nn.ModuleList(BidirectionalLayer(config, number) for number in range(config.num_hidden_layers))
        self.embedder = CharacterEncoder(config)
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        """The character table by subword."""
        return self.embedder.rows

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, output_hidden_states: bool = False, **_: Any
    ) -> BaseModelOutput:
        """States of all layers [B, L, 2 projections]."""
        present = torch.ones_like(input_ids, dtype=torch.bool) if attention_mask is None else attention_mask.bool()
        present = present & (input_ids != PADDING)
        tokens, subwords, word = find_tokens(input_ids, present)
        embedded = self.embedder(characters_of(subwords, word, int(tokens.lengths.sum()), self.config.max_characters))
        places = torch.arange(tokens.first.shape[1], device=input_ids.device) < tokens.lengths[:, None]
        padded = embedded.new_zeros(*places.shape, embedded.shape[1])
        padded[places] = embedded
        states = tokens.spread(torch.cat([padded, padded], dim=2))
        found: list[Any] = [states]
        for layer in self.layers:
            states = layer(states, tokens)
            found.append(states)
        return BaseModelOutput(found[-1], tuple(found) if output_hidden_states else None)


class CharacterEncoder(nn.Module):
    """A vector for each token from its characters [N, characters]: [N, projection]."""

    def __init__(self, config: ElmoConfig) -> None:
        super().__init__()
        size = sum(count for _, count in config.filters)
        self.characters = nn.Embedding(CHARACTERS, config.character_dim)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(config.character_dim, count, width) for width, count in config.filters
        )
        self.highways = nn.ModuleList(Highway(size) for _ in range(config.highways))
        self.projection = nn.Linear(size, config.projection_dim)
        self._activation = ACTIVATIONS[config.activation]
        self.rows = SubwordRows(self.characters)

    def forward(self, characters: Tensor) -> Tensor:
        """The vectors of tokens."""
        given = self.characters(characters).transpose(1, 2)
        states = torch.cat([self._activation(convolve(given).amax(dim=2)) for convolve in self.convolutions], dim=1)
        for highway in self.highways:
            states = highway(states)
        projected: Tensor = self.projection(states)
        return projected


class SubwordRows(nn.Module):
    """The character table, indexed by subword."""

    def __init__(self, characters: nn.Embedding) -> None:
        super().__init__()
        self.num_embeddings = SUBWORDS
        # In a list, so that it is not registered and its weights are not counted twice.
        self._characters = [characters]

    @property
    def weight(self) -> Tensor:
        """[subwords, character_dim]."""
        table = self._characters[0].weight
        return table[character_of(torch.arange(SUBWORDS, device=table.device))]


class Highway(nn.Module):
    """A highway layer: a gate between a ReLU layer and its input."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.gate, self.transform = nn.Linear(size, size), nn.Linear(size, size)

    def forward(self, states: Tensor) -> Tensor:
        """The same shape."""
        gate = self.gate(states).sigmoid()
        changed: Tensor = gate * self.transform(states).relu() + (1 - gate) * states
        return changed


class BidirectionalLayer(nn.Module):
    """An LSTM in each direction over the tokens of a text."""

    def __init__(self, config: ElmoConfig, number: int) -> None:
        super().__init__()
        self.forward_cell, self.backward_cell = ClippedCell(config), ClippedCell(config)
        self._skips = config.skip_connections and number > 0

    def forward(self, hidden_states: Tensor, tokens: Tokens) -> Tensor:
        """States of subwords [B, L, 2 projections], from those of the layer below and their tokens."""
        given = tokens.gather(hidden_states)
        left, right = given.chunk(2, dim=2)
        order = _mirrored(tokens.lengths, given.shape[1])[:, :, None].expand_as(right)
        back = self.backward_cell(right.gather(1, order)).gather(1, order)
        states = torch.cat([self.forward_cell(left), back], dim=2)
        return tokens.spread(states + given if self._skips else states)


class ClippedCell(nn.Module):
    """An LSTM with a projection that clips its cells and its output."""

    def __init__(self, config: ElmoConfig) -> None:
        super().__init__()
        size, cells = config.projection_dim, config.cell_dim
        self.from_input = nn.Linear(size, 4 * cells)
        self.from_state = nn.Linear(size, 4 * cells, bias=False)
        self.projection = nn.Linear(cells, size, bias=False)
        self._cell_clip, self._clip = config.cell_clip, config.projection_clip

    def forward(self, inputs: Tensor) -> Tensor:
        """The output at every step [B, W, projection], from inputs of that shape."""
        given = self.from_input(inputs)
        state = inputs.new_zeros(inputs.shape[0], inputs.shape[2])
        cells = inputs.new_zeros(inputs.shape[0], given.shape[2] // 4)
        outputs = []
        for step in given.unbind(1):
            entry, new, forget, out = (step + self.from_state(state)).chunk(4, dim=1)
            cells = (forget + 1).sigmoid() * cells + entry.sigmoid() * new.tanh()
            cells = cells.clamp(-self._cell_clip, self._cell_clip)
            state = self.projection(out.sigmoid() * cells.tanh()).clamp(-self._clip, self._clip)
            outputs.append(state)
        return torch.stack(outputs, dim=1)


def find_tokens(subwords: Tensor, present: Tensor) -> tuple[Tokens, Tensor, Tensor]:
    """The tokens of padded texts [B, L], all present subwords [P], and the token of each, from 0 [P]."""
    starts = begins_token(subwords) & present
    # A text that was split within a token begins with the rest of it.
    starts[:, 0] |= present[:, 0]
    lengths = starts.sum(dim=1)
    own = (starts.long().cumsum(dim=1) - 1).clamp(min=0)
    first = torch.zeros(len(subwords), int(lengths.max()), dtype=torch.int64, device=subwords.device)
    text, place = torch.nonzero(starts, as_tuple=True)
    first[text, own[starts]] = place
    word = own + (lengths.cumsum(0) - lengths)[:, None]
    return Tokens(first, own, lengths), subwords[present], word[present]


def _mirrored(lengths: Tensor, longest: int) -> Tensor:
    """Indices that reverse the tokens of each text [B, W]."""
    places = torch.arange(longest, device=lengths.device)
    return torch.where(places < lengths[:, None], lengths[:, None] - 1 - places, places)
