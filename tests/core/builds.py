"""Builds for a test, small and true: what SGLang 0.5.9 and 0.5.23 and vLLM say of some flags."""

from __future__ import annotations

from dataclasses import replace

from k2tui.core.builds import Build, BuildFlag, Takes

PARSERS = ("auto", "deepseek-r1", "kimi", "kimi_k2", "qwen3")
_SHARED = (
    BuildFlag("model-path", aliases=("model",), type="str", required=True),
    BuildFlag("served-model-name", type="str"),
    BuildFlag("host", type="str", default="127.0.0.1"),
    BuildFlag("port", type="int", default="30000"),
    BuildFlag("tp-size", aliases=("tensor-parallel-size",), type="int", default="1"),
    BuildFlag("pp-size", type="int", default="1"),
    BuildFlag("pp-max-micro-batch-size", type="int"),
    BuildFlag("dp-size", aliases=("data-parallel-size",), type="int", default="1"),
    BuildFlag("nnodes", type="int", default="1"),
    BuildFlag("dist-init-addr", aliases=("nccl-init-addr",), type="str"),
    BuildFlag("trust-remote-code", Takes.NOTHING, type="bool"),
    BuildFlag("enable-metrics", Takes.NOTHING, type="bool"),
    BuildFlag("mem-fraction-static", type="float"),
    BuildFlag("num-continuous-decode-steps", type="int", default="1"),
    BuildFlag("attention-backend", type="str", choices=("triton", "flashinfer", "fa3", "trtllm_mla")),
    BuildFlag("speculative-algorithm", type="str", choices=("EAGLE", "EAGLE3", "NGRAM")),
    BuildFlag("speculative-num-steps", type="int"),
    BuildFlag("speculative-eagle-topk", type="int"),
    BuildFlag("speculative-num-draft-tokens", type="int"),
    BuildFlag("disable-cuda-graph", Takes.NOTHING, type="bool"),
    BuildFlag("disable-custom-all-reduce", Takes.NOTHING, type="bool"),
    BuildFlag("enable-symm-mem", Takes.NOTHING, type="bool"),
    BuildFlag("model-loader-extra-config", type="json"),
    BuildFlag("tool-call-parser", type="str", choices=("auto", "kimi_k2", "qwen", "qwen25")),
)

OLD = Build(
    "sglang",
    (
        *_SHARED,
        BuildFlag("cuda-graph-max-bs", type="int"),
        BuildFlag("cuda-graph-bs", Takes.SEVERAL, type="int"),
        BuildFlag("enable-dp-attention", Takes.NOTHING, type="bool"),
        BuildFlag("reasoning-parser", type="str", choices=PARSERS[1:]),
    ),
    version="0.5.9",
)
NEW = Build(
    "sglang",
    (
        *(replace(flag, deprecated=flag.name == "disable-cuda-graph") for flag in _SHARED),
        BuildFlag("cuda-graph-max-bs-decode", type="int"),
        BuildFlag("cuda-graph-max-bs-prefill", type="int"),
        BuildFlag("cuda-graph-bs-decode", Takes.SEVERAL, type="int"),
        BuildFlag("cuda-graph-bs-prefill", Takes.SEVERAL, type="int"),
        BuildFlag("enable-dp-attention", Takes.NOTHING, type="bool", deprecated=True, replacement="--attn-dp-size"),
        BuildFlag("attn-dp-size", type="int", default="1"),
        BuildFlag("max-total-tokens", type="size"),
        BuildFlag("reasoning-parser", type="str", choices=PARSERS),
        BuildFlag("chat-template-name", Takes.MAYBE, type="str"),
    ),
    version="0.5.23",
)
VLLM = Build(
    "vllm",
    (
        BuildFlag("model", type="str"),
        BuildFlag("tensor-parallel-size", aliases=("tp",), type="int"),
        BuildFlag("enable-prefix-caching", Takes.NOTHING, type="bool"),
        BuildFlag("hf-overrides", type="json"),
        BuildFlag("compilation-config", aliases=("O",), type="json"),
        BuildFlag("enable-auto-tool-choice", Takes.NOTHING, type="bool"),
        BuildFlag("tool-call-parser", type="str"),
        BuildFlag("reasoning-parser", type="str"),
    ),
    version="0.11.0",
)
