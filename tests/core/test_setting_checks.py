"""What must fail is said before the start, with what to write instead; what is fine is called fine."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.builds import Build
from k2tui.core.engine_flags import release
from k2tui.core.preflight import SettingCheck, Weight
from k2tui.core.secrets import MASK
from k2tui.core.setting_checks import check_settings
from tests.core.builds import NEW, OLD, VLLM

SGLANG = "python3 -m sglang.launch_server --model-path /models/llama"
PRO = ("NVIDIA RTX PRO 6000 Blackwell Server Edition",) * 8
H100 = ("NVIDIA H100 80GB HBM3",) * 8
FINE, NOTE, WARN, BLOCK, UNKNOWN = Weight.FINE, Weight.NOTE, Weight.WARN, Weight.BLOCK, Weight.UNKNOWN


def checks(
    more: str, build: Build | None = NEW, gpus: tuple[str, ...] = (), *, command: str = SGLANG, env: str = ""
) -> dict[str, SettingCheck]:
    """Each check by its name."""
    variables = dict(word.split("=", 1) for word in shlex.split(env))
    engine = "sglang" if build is None else build.engine
    argv = [*shlex.split(command), *shlex.split(more)]
    found = check_settings(argv, variables, engine=engine, build=build, gpu_names=gpus)
    by_name = {check.name: check for check in found}
    assert len(by_name) == len(found), "a name is told twice"
    return by_name


def of_variable(
    env: str, more: str = "--tp-size 8", build: Build | None = NEW, gpus: tuple[str, ...] = ()
) -> SettingCheck:
    """The check of the first variable."""
    return checks(more, build, gpus, env=env)[env.split("=", 1)[0]]


def test_the_old_name_of_a_graph_flag_is_refused_where_it_is_gone_and_fine_where_it_is_real() -> None:
    gone = checks("--cuda-graph-max-bs 64")["--cuda-graph-max-bs"]
    assert (gone.weight, gone.text, gone.replacement) == (
        BLOCK,
        "gone: use --cuda-graph-max-bs-decode",
        "--cuda-graph-max-bs-decode",
    )
    assert checks("--cuda-graph-max-bs 64", OLD)["--cuda-graph-max-bs"].weight is FINE


@pytest.mark.parametrize(
    ("version", "more", "weight", "text"),
    [
        ("0.5.9", "--cuda-graph-max-bs 64", FINE, "known"),
        ("0.5.12", "--cuda-graph-max-bs 64", FINE, "known"),
        ("0.5.18", "--cuda-graph-max-bs 64", NOTE, "deprecated: use --cuda-graph-max-bs-decode"),
        ("0.5.23", "--cuda-graph-max-bs 64", BLOCK, "gone: use --cuda-graph-max-bs-decode"),
        ("0.5.23", "--cuda-graph-bs 1 2", BLOCK, "gone: use --cuda-graph-bs-decode"),
        ("0.5.23", "--nsa-prefill-backend fa3", BLOCK, "gone: use --dsa-prefill-backend"),
        ("0.5.9", "--cuda-graph-max-bs-decode 64", BLOCK, "not in this version: 0.5.15 to 0.5.23"),
        ("0.5.23", "--enable-ep-moe", BLOCK, "gone: use --ep-size"),
        ("0.5.23", "--torchao-config x", BLOCK, "gone, and nothing stands for it"),
        ("0.5.2", "--reasoning-parser kimi_k2", BLOCK, "no kimi_k2 before 0.5.6"),
        ("0.5.8", "--reasoning-parser kimi_k2", WARN, "splits wrongly with thinking off"),
        ("0.5.9", "--reasoning-parser auto", BLOCK, "no auto before 0.5.12"),
        ("0.5.9", "--pp 2", BLOCK, "ambiguous: "),
        ("0.4.6.post5", "--pp 2", NOTE, "short for --pp-size"),
        ("0.5.23", "--chunked-prefill-size -1", FINE, "known"),
        ("0.5.23", "--num-continuous-decode-steps 4", WARN, "no effect in this version"),
    ],
)
def test_a_command_is_judged_by_the_release_that_will_run_it(
    version: str, more: str, weight: Weight, text: str
) -> None:
    found = checks(more, release("sglang", version))[more.split()[0]]
    assert (found.weight, found.text[: len(text)]) == (weight, text)


def test_the_command_that_an_operator_types_today_is_fine_where_it_runs() -> None:
    command = (
        "python3 -m sglang.launch_server --model-path /shared/kimi-k2.5-int4 --tp-size 8 --trust-remote-code "
        "--mem-fraction-static 0.92 --max-running-requests 16 --cuda-graph-max-bs 16 --host 0.0.0.0 --port 30000 "
        "--reasoning-parser kimi_k2 --tool-call-parser kimi_k2 --disable-custom-all-reduce"
    )
    told = checks(
        "", release("sglang", "0.5.9"), command=command, env="NCCL_PROTO=LL NCCL_ALGO=Ring NCCL_P2P_LEVEL=SYS"
    )
    assert {check.weight for check in told.values()} == {FINE}


@pytest.mark.parametrize("build", [OLD, NEW, None])
def test_a_flag_that_nothing_reads_is_told_with_its_basis(build: Build | None) -> None:
    found = checks("--num-continuous-decode-steps 4", build)["--num-continuous-decode-steps"]
    assert (found.weight, found.text) == (WARN, "no effect in this version")
    assert "never used" in found.basis


@pytest.mark.parametrize(
    ("more", "name", "weight", "text"),
    [
        ("--tp-size 8", "--tp-size", FINE, "known"),
        ("--tensor-parallel-size 8", "--tensor-parallel-size", FINE, "known"),
        ("--mem-frac 0.9", "--mem-frac", NOTE, "short for --mem-fraction-static"),
        ("--pp 2", "--pp", BLOCK, "ambiguous: --pp-max-micro-batch-size, --pp-size"),
        ("--reasonin-parser kimi_k2", "--reasonin-parser", BLOCK, "unknown: --reasoning-parser?"),
        ("--frobnicate", "--frobnicate", BLOCK, "unknown to this build"),
        ("--enable-nan-detection", "--enable-nan-detection", BLOCK, "gone, and nothing stands for it"),
        ("--mem_fraction_static 0.9", "--mem-fraction-static", BLOCK, "spelt with dashes: --mem-fraction-static"),
        ("--tp-size eight", "--tp-size", BLOCK, "takes a whole number, found eight"),
        ("--tp-size", "--tp-size", BLOCK, "needs a value"),
        ("--tp-size 4 8", "--tp-size", BLOCK, "takes one value, found 2"),
        ("--tp-size 4 --enable-metrics --tp-size 8", "--tp-size", WARN, "given twice: the last counts"),
        ("--enable-metrics=true", "--enable-metrics", BLOCK, "takes no value, found true"),
        ("--enable-metrics true", "true", BLOCK, "belongs to no flag"),
        ("--mem-fraction-static 0,9", "--mem-fraction-static", BLOCK, "takes a number, found 0,9"),
        ("--max-total-tokens 64k", "--max-total-tokens", FINE, "known"),
        ("--max-total-tokens 64x", "--max-total-tokens", BLOCK, "takes a whole number, perhaps with a unit"),
        ("--cuda-graph-bs-decode 1 2 4", "--cuda-graph-bs-decode", FINE, "known"),
        ("--cuda-graph-bs-decode 1 two", "--cuda-graph-bs-decode", BLOCK, "takes a whole number, found two"),
        ("--chat-template-name", "--chat-template-name", FINE, "known"),
        ("--reasoning-parser kimi_k3", "--reasoning-parser", BLOCK, "takes one of auto, deepseek-r1, kimi, kimi_k2"),
        ("--model-loader-extra-config '{\"a\": 1}'", "--model-loader-extra-config", FINE, "known"),
        ("--model-loader-extra-config '{a: 1}'", "--model-loader-extra-config", BLOCK, "takes JSON: "),
        ("--served-model-name ''", "--served-model-name", FINE, "known"),
        ("--served-model-name kimi:base", "--served-model-name", BLOCK, "may hold no colon"),
        ("--disable-cuda-graph", "--disable-cuda-graph", NOTE, "deprecated: turns off decode and prefill graphs"),
        ("--enable-dp-attention", "--enable-dp-attention", NOTE, "deprecated: use --attn-dp-size"),
        ("--attn-dp-size 3 --tp-size 8", "--attn-dp-size", BLOCK, "attention DP of 3 does not divide TP of 8"),
        ("--nnodes 2 --tp-size 8", "--nnodes", BLOCK, "needs --dist-init-addr: the nodes never meet without"),
        ("--nnodes 3 --tp-size 8 --dist-init-addr a:1", "--nnodes", BLOCK, "3 nodes can't share 8 ranks"),
        ("--nnodes 2 --tp-size 8 --dist-init-addr a:1", "--nnodes", FINE, "known"),
        ("--mem-fraction-static 90", "--mem-fraction-static", WARN, "is a share of the GPU's memory: between 0 and 1"),
        ("--tool-call-parser qwen25", "--tool-call-parser", NOTE, "qwen25 is deprecated: use qwen"),
    ],
)
def test_each_flag_is_told_as_this_build_takes_it(more: str, name: str, weight: Weight, text: str) -> None:
    found = checks(more)[name]
    assert (found.weight, found.text[: len(text)]) == (weight, text)


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ("", None),
        ("--speculative-num-steps 3", "needs --speculative-eagle-topk beside the steps"),
        ("--speculative-num-draft-tokens 4", "needs --speculative-num-steps beside the others"),
        ("--speculative-eagle-topk 1", "needs --speculative-num-steps beside the others"),
        ("--speculative-num-steps 3 --speculative-eagle-topk 4", "needs --speculative-num-draft-tokens when topk"),
        ("--speculative-num-steps 3 --speculative-eagle-topk 1", None),
        ("--speculative-num-steps 3 --speculative-eagle-topk 4 --speculative-num-draft-tokens 16", None),
    ],
)
@pytest.mark.parametrize("build", [OLD, NEW])
def test_the_sizes_of_a_draft_are_given_together_or_not_at_all(build: Build, more: str, text: str | None) -> None:
    found = checks(f"--speculative-algorithm EAGLE {more}", build)["--speculative-algorithm"]
    assert (found.weight, found.text[: len(text or "known")]) == (BLOCK if text else FINE, text or "known")


def test_a_required_flag_that_is_missing_is_told() -> None:
    found = checks("--tp-size 8", command="python3 -m sglang.launch_server")["--model-path"]
    assert (found.weight, found.text) == (BLOCK, "missing: it is required")
    assert "--model-path" not in checks("--tp-size 8", command="sglang serve /models/llama")
    assert "--model-path" not in checks("--model /models/llama", command="python3 -m sglang.launch_server")


def test_without_a_build_nothing_is_called_known_and_nothing_unknown() -> None:
    found = checks("--frobnicate --cuda-graph-max-bs 64 stray", None, command="python3 -m sglang.launch_server")
    assert {check.weight for check in found.values()} == {UNKNOWN}
    assert {check.text for check in found.values()} == {"not checked: the build was not read"}


def test_the_nearest_known_release_warns_where_the_build_itself_would_block() -> None:
    nearest = replace(NEW, how="table", note="0.5.23 is the nearest lower release that is known")
    assert checks("--frobnicate", nearest)["--frobnicate"].weight is WARN
    assert checks("--frobnicate", replace(NEW, how="table"))["--frobnicate"].weight is BLOCK


@pytest.mark.parametrize(
    ("version", "weight", "text"),
    [
        ("0.5.2", BLOCK, "no kimi_k2 before 0.5.6"),
        ("0.5.8", WARN, "splits wrongly with thinking off"),
        ("0.5.9", FINE, "known"),
        ("0.5.23", FINE, "known"),
    ],
)
def test_what_a_parser_does_depends_on_the_version(version: str, weight: Weight, text: str) -> None:
    found = checks("--reasoning-parser kimi_k2", replace(NEW, version=version))["--reasoning-parser"]
    assert (found.weight, found.text) == (weight, text)


def test_parsers_are_judged_by_the_model_that_they_are_for() -> None:
    kimi = "python3 -m sglang.launch_server --model-path /shared/kimi-k2.5-int4"
    assert checks("", command=kimi)["--model-path"].text == "it thinks, and no --reasoning-parser kimi_k2"
    told = checks("--reasoning-parser kimi_k2 --tool-call-parser qwen", command=kimi)
    assert told["--model-path"].weight is FINE
    assert (told["--tool-call-parser"].weight, told["--tool-call-parser"].text) == (
        WARN,
        "Kimi-K2.5 or Kimi-K2-Thinking needs kimi_k2",
    )


@pytest.mark.parametrize(
    ("more", "gpus", "build", "weight"),
    [
        ("--attention-backend fa3", PRO, NEW, BLOCK),
        ("--attention-backend fa3", H100, NEW, FINE),
        ("--attention-backend fa3", (), NEW, FINE),
        ("--attention-backend fa3", ("Some GPU of tomorrow",), NEW, FINE),
        ("--attention-backend trtllm_mla", PRO, NEW, FINE),
        ("--attention-backend trtllm_mla", H100, NEW, BLOCK),
        ("--attention-backend trtllm_mla", PRO, replace(NEW, version="0.5.2"), BLOCK),
        ("--disable-custom-all-reduce --tp-size 8", PRO, NEW, WARN),
        ("--disable-custom-all-reduce --tp-size 2", PRO, NEW, FINE),
        ("--disable-custom-all-reduce --tp-size 8", H100, NEW, FINE),
    ],
)
def test_what_a_gpu_can_not_run_is_told(more: str, gpus: tuple[str, ...], build: Build, weight: Weight) -> None:
    assert checks(more, build, gpus)[more.split()[0]].weight is weight


@pytest.mark.parametrize(
    ("env", "weight", "text"),
    [
        ("NCCL_PROTO=LL", FINE, "known"),
        ("NCCL_PROTO=^LL128", FINE, "known"),
        ("NCCL_PROTO=ll,simple", FINE, "known"),
        ("NCCL_PROTO=LL,Simple;allreduce:^LL", FINE, "known"),
        ("NCCL_PROTO=LL64", BLOCK, "LL64 is none of LL, LL128, Simple"),
        ("NCCL_PROTO=allreduced:LL", BLOCK, "allreduced is none of Broadcast, "),
        ("NCCL_ALGO=Ring", FINE, "known"),
        ("NCCL_ALGO=NVLS_TREE", FINE, "known"),
        ("NCCL_ALGO=Rnig", BLOCK, "Rnig is none of Ring, Tree, "),
        ("NCCL_P2P_LEVEL=SYS", FINE, "known"),
        ("NCCL_P2P_LEVEL=4", FINE, "known"),
        ("NCCL_P2P_LEVEL=sys", WARN, "passed over: SYS in capitals"),
        ("NCCL_P2P_LEVEL=ALL", WARN, "passed over: takes LOC, NVL, "),
        ("NCCL_SHM_DISABLE=1", FINE, "known"),
        ("NCCL_SHM_DISABLE=yes", WARN, "yes is read as 0: give 0 or 1"),
        ("NCCL_DEBUG=info", FINE, "known"),
        ("NCCL_DEBUG=LOUD", WARN, "LOUD is none of VERSION, "),
        ("NCCL_MIN_NCHANNELS=8", FINE, "known"),
        ("NCCL_MIN_NCHANNELS=0", WARN, "0 is outside of 1 to 64"),
        ("NCCL_BUFFSIZE=4M", WARN, "4M is no whole number"),
        ("NCCL_NTHREADS=100", WARN, "must be a multiple of 32"),
        ("NCCL_PROTO=", NOTE, "empty: as if it were not set"),
        ("NCCL_PROTOO=LL", WARN, "nobody reads it: NCCL_PROTO?"),
        ("NCLL_PROTO=LL", WARN, "nobody reads it: NCCL_PROTO?"),
        ("RCCL_ALGO=Ring", FINE, "passed on as it is"),
        ("NCCL_FROBNICATE=1", NOTE, "no variable of NCCL"),
        ("NCCL_UID_STAGGER_RATE=1", FINE, "known"),
        ("CUDA_DEVICE_MAX_CONNECTIONS=1", WARN, "overwritten with 8"),
        ("CUDA_DEVICE_MAX_CONNECTIONS=8", FINE, "known"),
        ("CUDA_VISIBLE_DEVICES=0,1,2,3", BLOCK, "4 GPUs for 8 ranks"),
        ("CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7", FINE, "known"),
        ("SPT_NOENV=1", FINE, "set by k2tui for every start"),
        ("PYTHONUNBUFFERED=1", FINE, "set by k2tui for every start"),
        ("MY_OWN=1", FINE, "passed on as it is"),
    ],
)
def test_each_variable_is_told_as_its_reader_takes_it(env: str, weight: Weight, text: str) -> None:
    found = of_variable(env)
    assert (found.weight, found.text[: len(text)]) == (weight, text)


def test_a_protocol_that_nccl_does_not_know_ends_no_start_on_one_gpu() -> None:
    assert of_variable("NCCL_PROTO=LL64", "--tp-size 1").weight is WARN
    assert of_variable("NCCL_PROTO=LL", "").text == "no effect on one GPU"


def test_sglang_0_5_2_overwrites_what_later_ones_keep() -> None:
    assert of_variable("NCCL_CUMEM_ENABLE=1", build=replace(OLD, version="0.5.2")).weight is WARN
    assert of_variable("NCCL_CUMEM_ENABLE=1", build=OLD).weight is FINE
    told = of_variable("NCCL_CUMEM_ENABLE=0", "--tp-size 8 --enable-symm-mem", OLD)
    assert told.text == "overwritten with 1 by --enable-symm-mem"


def test_the_same_variable_weighs_otherwise_on_other_boards() -> None:
    assert of_variable("NCCL_PROTO=LL128", gpus=PRO).text == "LL128 is not safe without NVLink"
    assert of_variable("NCCL_PROTO=LL128", gpus=H100).text == "touches large transfers only"
    assert of_variable("NCCL_PROTO=^LL128", gpus=PRO).weight is FINE
    assert of_variable("NCCL_P2P_LEVEL=SYS", gpus=PRO).weight is NOTE
    assert of_variable("NCCL_NVLS_ENABLE=1", gpus=PRO).weight is WARN


def test_a_level_says_nothing_beside_the_switch_that_turns_p2p_off() -> None:
    told = checks("--tp-size 8", env="NCCL_P2P_LEVEL=SYS NCCL_P2P_DISABLE=1")
    assert told["NCCL_P2P_LEVEL"].text == "no effect beside NCCL_P2P_DISABLE=1"
    assert told["NCCL_P2P_DISABLE"].weight is FINE


@pytest.mark.parametrize(
    ("more", "name", "weight", "text"),
    [
        ("-tp 8", "--tp", FINE, "known"),
        ("--no-enable-prefix-caching", "--no-enable-prefix-caching", FINE, "known"),
        ("--hf-overrides.rope_theta 5", "--hf-overrides.rope-theta", FINE, "known"),
        ("-O3", "--O3", FINE, "known"),
        ("--enable-reasoning", "--enable-reasoning", BLOCK, "gone: --reasoning-parser alone does it"),
        ("--enable-auto-tool-choice", "--enable-auto-tool-choice", BLOCK, "needs --tool-call-parser"),
        ("--tool-call-parser hermes", "--tool-call-parser", WARN, "no effect without --enable-auto-tool-choice"),
    ],
)
def test_vllm_has_spellings_of_its_own(more: str, name: str, weight: Weight, text: str) -> None:
    found = checks(more, VLLM, command="vllm serve /models/llama")[name]
    assert (found.weight, found.text) == (weight, text)


def test_a_masked_value_is_no_fault_and_no_secret_is_told() -> None:
    argv = ["python3", "-m", "sglang.launch_server", "--model-path", "/m", "--api-key", "s3cr3t-value", "s3cr3t-value"]
    told = check_settings(argv, {"HF_TOKEN": MASK, "NCCL_PROTO": MASK}, engine="sglang", build=NEW)
    assert "s3cr3t" not in repr(told)
    assert next(check for check in told if check.name == "NCCL_PROTO").weight is FINE


WORDS = st.sampled_from(
    ["--tp-size", "--pp", "-1", "8", "x", "--cuda-graph-max-bs", "--enable-metrics", "=", "--", "-O3", "{", "--a.b", ""]
)


@given(st.lists(st.one_of(WORDS, st.text(max_size=6)), max_size=8), st.sampled_from([OLD, NEW, VLLM, None]))
def test_no_command_breaks_the_checks_and_no_name_is_told_twice(words: list[str], build: Build | None) -> None:
    engine = "sglang" if build is None else build.engine
    told = check_settings(["python3", "-m", "sglang.launch_server", *words], {"A": "1"}, engine=engine, build=build)
    names = [check.name for check in told]
    assert names[-1] == "A"
    assert len(set(names)) == len(names)


ODD = ["---1", "--٣", "9" * 5000, "²", "-"]


@pytest.mark.parametrize("value", ODD, ids=[ascii(value[:4]) for value in ODD])
def test_a_value_that_is_no_number_breaks_no_check(value: str) -> None:
    argv = (*shlex.split(SGLANG), f"--tp-size={value}", f"--nnodes={value}", "--enable-dp-attention")
    found = check_settings(argv, {"NCCL_BUFFSIZE": value, "NCCL_NTHREADS": value}, engine="sglang", build=NEW)
    weights = {check.name: check.weight for check in found}
    assert weights["--tp-size"] is BLOCK or value.isdecimal()
    assert weights["NCCL_NTHREADS"] is WARN
