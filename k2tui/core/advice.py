"""What to do about each failure class, and where that is known from."""

from __future__ import annotations

import re
from collections.abc import Mapping

from k2tui.core.flag_words import flag_words
from k2tui.core.grammar.signatures import UNKNOWN
from k2tui.core.launch import Advice, Launch, LaunchKind, LaunchPhase
from k2tui.core.refused_flag import about_refused

SOURCE, THREAD, INFERRED = "source", "thread", "inferred"

_LEFTOVER = (
    "If another process holds memory of that GPU (nvidia-smi --query-compute-apps=pid,used_memory lists them), "
    "end what an earlier start left behind."
)

_ROWS: Mapping[str, tuple[tuple[str, str], ...]] = {
    # memory: three verdicts, in opposite directions
    "oom_start": ((_LEFTOVER, INFERRED),),
    "oom_weights": (
        ("The weights do not fit: use more GPUs ({tp}), a smaller or a quantized model.", INFERRED),
        ("Changing {fraction} does not help here: the KV cache has taken nothing yet.", INFERRED),
        (_LEFTOVER, INFERRED),
    ),
    "kv_no_room": (
        ("Raise {fraction}, or shorten {context}: beside the weights nothing is left for the KV cache.", SOURCE),
        ("If a higher fraction then runs out of memory, the model needs more GPUs ({tp}).", THREAD),
    ),
    "oom_kv": (("Lower {fraction}: the KV cache asked for more than was free.", INFERRED), (_LEFTOVER, INFERRED)),
    "oom_graphs": (
        ("Lower {fraction}, or capture fewer sizes ({graph_sizes}): the graphs need room beside the KV cache.", SOURCE),
    ),
    "oom_serving": (("Lower {fraction}, or {requests}.", INFERRED),),
    "kv_exhausted": (("Lower {requests}, or shorten {context}: the KV cache is full.", SOURCE),),
    "gpu_memory_taken": (
        (_LEFTOVER, THREAD),
        ("Only when nothing else runs there: lower {fraction}.", SOURCE),
    ),
    "gpus_uneven": ((_LEFTOVER, SOURCE),),
    "host_memory": (
        (
            "The host's memory ran out, not the GPU's: check dmesg -T | grep -i oom, the container's limit and swap.",
            SOURCE,
        ),
        ("Fewer loader threads need less memory at a time.", THREAD),
    ),
    "child_killed": (
        ("Killed from outside, most likely by the kernel's OOM killer: check dmesg -T | grep -i oom.", INFERRED),
    ),
    "disk_full": (("Free space, delete the last file if it is short, and go on from there.", INFERRED),),
    "open_files": (("Raise the limit of open files (ulimit -n).", INFERRED),),
    # ports and peers
    "port_taken": (("Stop what listens on that port (ss -ltnp), or choose another {port}{late}.", SOURCE),),
    "internal_port_taken": (
        ("Start it again: an internal port was taken meanwhile. It is not the port of the HTTP server.", INFERRED),
    ),
    "rendezvous": (
        (
            "The address in {dist_addr} can't be reached from this node: check host, port and firewall, and start "
            "rank 0 first.",
            INFERRED,
        ),
    ),
    "gloo_mesh": (("Set GLOO_SOCKET_IFNAME and NCCL_SOCKET_IFNAME to an interface that all nodes share.", THREAD),),
    "nccl": (
        ("Start it again with NCCL_DEBUG=INFO: the reason is not in this log.", SOURCE),
        (
            "Often: too little shared memory in the container, a wrong interface, PCIe peer-to-peer behind an IOMMU "
            "(NCCL_P2P_DISABLE=1).",
            INFERRED,
        ),
    ),
    "nccl_timeout": (
        ("One rank did not come to a collective: look at the last line of each rank, and at its GPU.", INFERRED),
    ),
    "rdma": (
        ("Check the RDMA links of both nodes (ibstat, GID index, same partition), and NVSHMEM_HCA_LIST.", INFERRED),
    ),
    "slow_rank": (
        ("Another rank is missing: look at its node's log first; the rank that says so is healthy.", SOURCE),
        ("If its disk is slow, copy the weights to a local disk, or warm the page cache.", THREAD),
    ),
    "peer_died": (
        (
            "The cause is elsewhere: this process only saw another one end. Read the log of the other node or rank.",
            INFERRED,
        ),
    ),
    "peer_silent": (
        (
            "A worker has been silent for a minute: try NCCL_P2P_DISABLE=1 or {no_car}; in a container give it "
            "--ipc=host or a larger --shm-size.",
            INFERRED,
        ),
    ),
    "node_dead": (("Look at that machine: ray status and its own log say why it is gone.", INFERRED),),
    "child_died": (("The child's own words stand above this line, or in dmesg when there are none.", INFERRED),),
    # checkpoints and models
    "missing_shards": (("Finish the download: the index names files that are not there.", SOURCE),),
    "corrupt_shard": (
        (
            "A weight file is no safetensors file: look for one of 130 bytes (git lfs pull) or a broken download.",
            THREAD,
        ),
    ),
    "remote_code": (("Add {remote_code}: the model brings code of its own.", SOURCE),),
    "model_gated": (
        ("Ask for access on the model's page, and give the server a token of that account (HF_TOKEN).", SOURCE),
    ),
    "model_not_found": (
        ("The model path is neither a directory here nor a model that can be fetched from here: check it.", INFERRED),
    ),
    "unknown_architecture": (("This version does not know the model: update the engine.", SOURCE),),
    "quantization": (
        ("This version has no support for the model's quantization: update, or use another checkpoint.", INFERRED),
    ),
    "weight_names": (
        (
            "The model's code does not expect that weight: update the engine, or avoid pipeline parallelism for this "
            "model.",
            INFERRED,
        ),
    ),
    # kernels
    "no_kernel_image": (
        (
            "The kernels were not built for this GPU: install wheels or an image for its architecture (sm_120 needs "
            "CUDA 12.8).",
            THREAD,
        ),
        ("Less memory or no graphs only move the failure.", INFERRED),
    ),
    "deepgemm": (("DeepGEMM does not support this GPU: choose the triton back-end for FP8 GEMM and MoE.", THREAD),),
    "backend_unsupported": (
        ("No attention back-end supports this model on this GPU: another version or another GPU.", THREAD),
    ),
    "build_failed": (("A kernel could not be compiled: this is the compiler's own line.", INFERRED),),
    "no_driver": (("This process sees no GPU driver: check nvidia-smi, and the container's --gpus.", INFERRED),),
    "kernel_mismatch": (
        ("A kernel package was built for another torch: install the one that belongs to it.", INFERRED),
    ),
    "missing_package": (("A Python package is missing in this environment.", SOURCE),),
    "device_ordinal": (
        (
            "More ranks than visible GPUs: match {tp} to the GPUs of each node, and check CUDA_VISIBLE_DEVICES.",
            INFERRED,
        ),
    ),
    "gpu_broken": (
        ("Take that GPU out of use: dmesg and nvidia-smi -q -d ECC,ROW_REMAPPER say what is wrong with it.", INFERRED),
    ),
    "segfault": (("Native code failed: the C stack below that line names the library; look at dmesg too.", INFERRED),),
    "illegal_access": (("A kernel failed: start it again with CUDA_LAUNCH_BLOCKING=1 to learn which.", INFERRED),),
    "pool_leak": (("An engine bug: start it again, and update.", INFERRED),),
    "graph_capture": (("{graphs_off} shows whether only the capture fails; it costs speed.", SOURCE),),
    # time-outs
    "watchdog": (
        ("A rank did not advance for the watchdog's limit: look for the stuck one (py-spy dump).", INFERRED),
        ("Raise {watchdog} only when long kernels or compilations are expected.", THREAD),
    ),
    "no_heartbeat": (
        ("The scheduler does not answer its web server: start it again.", INFERRED),
        ("/health may go on answering 200: a completion of one token is a better witness.", THREAD),
    ),
    UNKNOWN: (
        (
            "The line says it in the engine's own words, its stack stands above; k2tui has no advice for it.",
            INFERRED,
        ),
    ),
    # arguments and effects
    "bad_argument": (("Compare the arguments with this version's --help.", INFERRED),),
    "bad_host": (("The address to listen on is not one of this machine (ip addr): change {host}.", SOURCE),),
    "backend_ignored": (
        ("Give a back-end that this build has for this model and GPU, or leave the flag out.", INFERRED),
    ),
    "other_port": (("It listens on another port than it was given.", INFERRED),),
    "reasoning_parser": (
        (
            "Reasoning comes back inside content: set {reasoning} to the model's family (kimi_k2 for Kimi).",
            THREAD,
        ),
    ),
    "reasoning_swallows": (
        ("The reasoning parser takes the answer of a model that does not think: leave {reasoning} out.", INFERRED),
    ),
    "tool_parser": (
        (
            "Tool calls come back empty: set {tools} to the model's format, and check with one real call.",
            INFERRED,
        ),
    ),
    "tool_calls_in_reasoning": (
        ("The reasoning parser keeps tool calls that follow an unclosed thought: update the engine.", THREAD),
    ),
    "tool_calls_lost": (("A share of the tool calls is lost: update the engine.", INFERRED),),
    "garbage": (("Answers are garbage: change the attention or MoE back-end, or the image.", INFERRED),),
    "answers_fail": (("A share of the requests fails.", INFERRED),),
    "request_refused": (
        ("The answer's own text says why: a chat template, the served name, a parser or a key.", INFERRED),
    ),
    "no_answer": (("It says that it is up, but a completion failed.", INFERRED),),
    "disk_will_fill": (
        (
            "The disk will be full before the job is done: shorten the context, keep fewer layers, or add space.",
            INFERRED,
        ),
    ),
}

_SILENCE: Mapping[LaunchPhase, tuple[tuple[str, str], ...]] = {
    LaunchPhase.DISTRIBUTED: (
        ("The ranks do not find each other: try NCCL_P2P_DISABLE=1 and {no_car}, and check IOMMU/ACS.", THREAD),
    ),
    LaunchPhase.WEIGHTS: (
        ("No shard for a long time: check the disk or the mount that the weights are on.", INFERRED),
    ),
    LaunchPhase.POSTPROCESS: (("A rank has not finished loading: look at its node (path, mount, memory).", INFERRED),),
    LaunchPhase.CUDA_GRAPH: (
        ("{graphs_off} shows whether only the capture hangs; a capped graph size has helped others.", THREAD),
    ),
}


def advice_for(launch: Launch) -> tuple[Advice, ...]:
    """What to do, most useful first; empty while nothing is wrong."""
    rows: list[tuple[str, str]] = []
    if launch.finding is not None:
        rows += _ROWS.get(launch.finding, ())
    elif launch.cause is not None:
        rows += _special(launch, launch.cause.line)
        rows += _ROWS.get(launch.cause.failure, ())
        if launch.cause.failure == "silence":
            rows += _SILENCE.get(launch.phase, ())
    elif launch.kind is LaunchKind.CRASHED:
        rows.append(
            ("The log does not say why it ended: check dmesg -T | grep -i oom, and who sent a signal.", INFERRED)
        )
    words = flag_words(launch)
    said: dict[str, str] = {}
    for row, basis in rows:
        text = _said(row, words)
        if text is not None:
            said.setdefault(text, basis)
    return tuple(Advice(text, basis) for text, basis in said.items())


def _plain(text: str) -> str:
    """A text that holds what somebody else wrote: its braces are no place for a flag."""
    return text.replace("{", "{{").replace("}", "}}")


def _said(text: str, words: Mapping[str, str]) -> str | None:
    """The row with this build's flags; None when it needs a flag that the build does not have."""
    try:
        return text.format_map(words)
    except KeyError:
        return None


def _special(launch: Launch, line: str) -> list[tuple[str, str]]:
    """What only the words of the line itself can tell."""
    failure = launch.cause.failure if launch.cause is not None else ""
    if failure.startswith("oom") and re.search(r"[Pp]rocess \d+ has [\d.]+ [GM]iB memory in use", line):
        return [(_LEFTOVER, SOURCE)]
    if failure == "bad_argument" and (text := about_refused(line, launch.engine, launch.arg_names)) is not None:
        return [(_plain(text), SOURCE)]
    if found := re.search(r"estimated maximum model length is (\d+)", line):
        return [(f"{{context}} {found[1]} fits, by the engine's own estimate.", SOURCE)]
    return []
