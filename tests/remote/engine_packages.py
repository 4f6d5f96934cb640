"""Small engines in every layout that SGLang and vLLM have had: packages that can be read, installed and imported."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

FILLER = 20
"""Flags that fill a parser up: fewer than twenty in all are no engine."""


def write(root: Path, files: dict[str, str]) -> Path:
    """The files below a directory; gives the directory."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        for folder in path.parents:
            if folder == root:
                break
            (folder / "__init__.py").touch()
        path.write_text(text, encoding="utf-8")
    return root


_FILLING = "\n".join(f'        parser.add_argument("--filler-{number}", type=int)' for number in range(FILLER))

OLD = {
    "sglang/srt/parsers.py": """
import heavy_that_is_not_there
class Detector: pass
class ReasoningParser:
    DetectorMap: dict[str, type] = {"deepseek-r1": Detector, "kimi_k2": heavy_that_is_not_there.Kimi}
    def __init__(self): raise RuntimeError
""",
    "sglang/srt/server_args.py": f"""
from __future__ import annotations
import argparse, dataclasses, json
from typing import List, Literal, Optional
from sglang.srt.parsers import ReasoningParser
from sglang.srt.utils import human_readable_int, nullable_str
KINDS = ["auto", "pt"]
KINDS += ["gguf"]
def add_kinds(more):
    KINDS.extend(more)
KINDS.append("remote")

class DeprecatedAction(argparse.Action):
    def __init__(self, option_strings, dest, nargs=0, **kwargs):
        super().__init__(option_strings, dest, nargs=nargs, **kwargs)
    def __call__(self, parser, namespace, values, option_string=None):
        raise ValueError(self.help)

class PathAction(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None):
        setattr(namespace, self.dest, values)

@dataclasses.dataclass
class ServerArgs:
    model_path: str
    load_format: str = "auto"
    tp_size: int = 1
    quantization: Optional[str] = None
    fractions: Optional[List[float]] = None
    context_length: Optional[int] = None
    disable_cuda_graph: bool = False
    log_file: str = dataclasses.field(default_factory=lambda: "/var/log/x")

    @staticmethod
    def add_cli_args(parser: argparse.ArgumentParser):
        parser.add_argument("--model-path", "--model", type=str, required=True, help="where\\n  the model is")
        parser.add_argument("--load-format", type=str, choices=KINDS, default=ServerArgs.load_format)
        parser.add_argument("--tensor-parallel-size", "--tp-size", "-t", type=int, default=ServerArgs.tp_size)
        parser.add_argument("--quantization", type=nullable_str, default=ServerArgs.quantization)
        parser.add_argument("--fractions", type=float, nargs="+", default=ServerArgs.fractions)
        parser.add_argument("--context-length", type=human_readable_int, default=None)
        parser.add_argument("--overrides", type=json.loads, default="{{}}")
        parser.add_argument("--disable-cuda-graph", action="store_true", help="off")
        parser.add_argument("--overlap", action=argparse.BooleanOptionalAction, default=True)
        parser.add_argument("--lora-paths", type=str, nargs="*", action=PathAction)
        parser.add_argument("--device", type=str, nargs="?", const="cuda", default=argparse.SUPPRESS)
        parser.add_argument("--enable-flashmla", action=DeprecatedAction, help="--enable-flashmla is deprecated. "
            "Please use '--attention-backend flashmla' instead.")
        parser.add_argument("--old-way", action="store_true", help="[Deprecated] Use --new-way instead.")
        names = list(ReasoningParser.DetectorMap.keys())
        parser.add_argument("--reasoning-parser", type=str, choices=["auto"] + names, help=f"one of {{names}}")
        group = parser.add_argument_group("more")
        for level in ("debug", "info"):
            group.add_argument(f"--log-{{level}}", action="store_true")
{_FILLING}
""",
    "sglang/srt/utils.py": """
import torch_that_is_not_there
def human_readable_int(text): "Reads 64k."; return int(text)
def nullable_str(text): return text
""",
    "sglang/version.py": '__version__ = "0.5.9"\n',
}

_ARG_UTILS = """
from typing import Annotated
A = Annotated
class Arg: ...
def add_cli_args_from_dataclass(parser, cls): raise RuntimeError
"""
_FILLED = "\n".join(f'    filler_{number}: A[int, "filler"] = {number}' for number in range(FILLER))
MIDDLE = {
    "sglang/srt/arg_groups/arg_utils.py": _ARG_UTILS,
    "sglang/srt/server_args.py": f"""
import dataclasses, json
from typing import List, Literal, Optional
from sglang.srt.arg_groups.arg_utils import A, Arg, add_cli_args_from_dataclass
BACKENDS = ["triton", "fa3"]

class DeprecatedAliasStoreAction: ...

@dataclasses.dataclass
class ServerArgs:
    model_path: A[str, Arg(help="where", aliases=["--model"])]
    tp_size: A[int, Arg(help="ranks", aliases=["--tensor-parallel-size"])] = 1
    attention_backend: A[Optional[str], Arg(help="kernels", choices=BACKENDS + ["aiter"])] = None
    mode: A[Literal["serial", "overlap"], "how"] = "serial"
    cuda_graph_bs_decode: A[Optional[List[int]], "sizes"] = None
    hooks: A[Optional[List[str]], Arg(type_parser=json.loads)] = None
    enable_metrics: A[bool, "figures"] = False
    gemm_backend: A[str, Arg(cli_name="--fp8-gemm-backend")] = "auto"
    internal: A[int, Arg(no_cli=True)] = 0
    plain: int = 3
{_FILLED}

    @staticmethod
    def add_cli_args(parser):
        add_cli_args_from_dataclass(parser, ServerArgs)
        parser.add_argument("--cuda-graph-bs", type=int, nargs="+", action=DeprecatedAliasStoreAction,
            new_flag="--cuda-graph-bs-decode", dest="cuda_graph_bs_decode", help="old name")
""",
}

NEW = {
    "sglang/srt/arg_groups/arg_utils.py": _ARG_UTILS,
    "sglang/srt/arg_groups/field_order.py": 'POSITIONAL_FIELD_ORDER = ("model_path", "tp_size")\n',
    "sglang/srt/arg_groups/choices.py": 'FORMATS = ["auto", "gguf"]\n',
    "sglang/srt/arg_groups/fields/parallel.py": f"""
from __future__ import annotations
import msgspec
from sglang.srt.arg_groups.arg_utils import A, Arg
class Parallel(msgspec.Struct):
    _NS_PATH = "parallel"
    tp_size: A[int, Arg(help="ranks")] = 1
    urls: A[list[str], "where"] = msgspec.field(default_factory=list)
{_FILLED}
""",
    "sglang/srt/arg_groups/fields/model.py": """
from typing import Optional
from sglang.srt.arg_groups.arg_utils import A, Arg
from sglang.srt.arg_groups.choices import FORMATS
class Model:
    load_format: A[str, Arg(help="format", choices=FORMATS)] = "auto"
    model_path: A[str, Arg(help="where", aliases=["--model"])]
    parser: A["str | None", Arg(no_cli=True)] = "auto"
""",
    "sglang/srt/names.py": 'NAMES = ["kimi_k2", "qwen3"]\n',
    "sglang/srt/server_args.py": """
import sys, msgspec
from sglang.srt.arg_groups.arg_utils import add_cli_args_from_dataclass
from sglang.srt.arg_groups.fields import collect_input_fields
from sglang.srt.arg_groups.fields.model import Model
from sglang.srt.arg_groups.fields.parallel import Parallel
def _names():
    module = sys.modules.get("sglang.srt.heavy")
    if module is not None:
        return list(module.Parser.Map)
    from sglang.srt.names import NAMES
    return list(NAMES)
class ServerArgs:
    @staticmethod
    def add_cli_args(parser):
        add_cli_args_from_dataclass(parser, ServerArgs)
        parser.add_argument("--parser", type=str, choices=["auto"] + _names(), default=_declared_default("parser"))
_INPUT_NAMESPACES = [Parallel, Model]
_annotations, _defaults = collect_input_fields(_INPUT_NAMESPACES)
ServerArgs = msgspec.defstruct("ServerArgs", [])
def _declared_default(name): return next(field.default for field in msgspec.structs.fields(ServerArgs))
""",
    "sglang/_version.py": "__version__ = version = '0.5.23'\n",
}

_CONFIG = "\n".join(f"    filler_{number}: int = {number}" for number in range(FILLER))
VLLM = {
    "vllm/config/model.py": f'''
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal
Dtype = Literal["auto", "half", "bfloat16"]
@dataclass
class Inner: ...
@dataclass
class ModelConfig:
    model: str = "a/b"
    """Name of the model."""
    dtype: Dtype = "auto"
    quantization: Literal["awq", "fp8"] | str | None = None
    seed: int | None = None
    max_model_len: int = None
    enforce_eager: bool = False
    served_model_name: str | list[str] | None = None
    inner: Inner = field(default_factory=Inner)
    extra: dict[str, Any] = field(default_factory=dict)
    kind: ClassVar[str] = "x"
{_CONFIG}
''',
    "vllm/engine/arg_utils.py": """
from vllm.config.model import ModelConfig
def get_kwargs(cls): raise RuntimeError
class EngineArgs:
    @staticmethod
    def add_cli_args(parser):
        kwargs = get_kwargs(ModelConfig)
        group = parser.add_argument_group(title="Model", description=ModelConfig.__doc__)
        for name in kwargs:
            if name != "seed":
                group.add_argument(f"--{name.replace('_', '-')}", **kwargs[name])
        kwargs["seed"]["default"] = 0
        group.add_argument("--seed", **kwargs["seed"])
        group.add_argument("--old", action="store_true", deprecated=True)
        return parser
class AsyncEngineArgs(EngineArgs): ...
""",
    "vllm/entrypoints/openai/cli_args.py": """
import json
from vllm.config.model import dataclass
from vllm.engine.arg_utils import AsyncEngineArgs
@dataclass
class BaseArgs:
    origins: list[str] = None
    @classmethod
    def _customize(cls, kwargs):
        kwargs["origins"]["type"] = json.loads
        del kwargs["origins"]["nargs"]
        return kwargs
    @classmethod
    def add_cli_args(cls, parser):
        from vllm.engine.arg_utils import get_kwargs
        for key, value in cls._customize(get_kwargs(cls)).items():
            parser.add_argument(f"--{key.replace('_', '-')}", **value)
        return parser
@dataclass
class FrontendArgs(BaseArgs):
    port: int = 8000
    @classmethod
    def _customize(cls, kwargs):
        kwargs = super()._customize(kwargs)
        kwargs["port"]["help"] = "where it listens"
        return kwargs
def make_arg_parser(parser):
    parser.add_argument("model_tag", nargs="?")
    parser.add_argument("--api-server-count", "-asc", type=int, default=None)
    parser = FrontendArgs.add_cli_args(parser)
    return AsyncEngineArgs.add_cli_args(parser)
""",
}

UNREADABLE = {
    "sglang/srt/server_args.py": """
import argparse
class ServerArgs:
    pass
def _add(parser):
    print("noise on stdout")
    for number in range(30):
        parser.add_argument("--made-%d" % number, type=int, default=number, choices=[number, 99])
ServerArgs.add_cli_args = staticmethod(_add)
""",
}


def install(site: Path, name: str, version: str) -> Path:
    """A dist-info beside the package, as an installer writes it; gives its directory."""
    info = site / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    rows = []
    for path in sorted((site / name).rglob("*.py")):
        data = path.read_bytes()
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{path.relative_to(site)},sha256={digest},{len(data)}")
    (info / "RECORD").write_text("\n".join([*rows, f"{info.name}/RECORD,,"]) + "\n", encoding="utf-8")
    return info
