"""Loading models that fill masks or translate, from a folder or from the Hub."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wordstill.errors import TeacherError, in_one_line
from wordstill.teacher.loading import hub_answers, quiet


def load_pretrained(name: str | Path, auto_class: str, what: str) -> tuple[Any, Any]:
    """A model and its tokenizer.

    Args:
        name: A folder, which never causes a request to the network, or a name on the Hub.
        auto_class: The class of transformers that loads such models.
        what: What the model is, for messages.

    Raises:
        TeacherError: There is none, or its weights are not those of such a model.
    """
    import transformers

    folder = Path(name).expanduser()
    source = str(folder if folder.is_dir() else name)
    offline = folder.is_dir() or not hub_answers()
    options = {"local_files_only": offline, "trust_remote_code": False}
    try:
        with quiet():
            tokenizer = transformers.AutoTokenizer.from_pretrained(source, **options)
            model, report = getattr(transformers, auto_class).from_pretrained(
                source, dtype="auto", output_loading_info=True, **options
            )
    except Exception as error:  # Broken files come as nearly every kind of error.
        reason = in_one_line(error)
        raise TeacherError(f"Cannot load the {what} {str(name)!r} ({reason}).") from error
    if report["missing_keys"]:
        missing = sorted(report["missing_keys"])
        raise TeacherError(
            f"{name} has no weights for {len(missing)} parts of a {what}, such as {missing[0]}. It was "
            f"trained for something else; give a {what}."
        )
    return model, tokenizer
