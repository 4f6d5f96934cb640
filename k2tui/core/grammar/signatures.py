"""Which failure a message means: the failure classes, and how good a line is as an explanation."""

from __future__ import annotations

import re

from k2tui.core.facts import Standing

UNKNOWN = "exception"
"""The class of a message that no row below knows."""

SIGNATURES: tuple[tuple[str, str], ...] = (
    # what does not fit into memory; the phase makes of `oom` oom_weights, oom_graphs ...
    (
        "kv_no_room",
        r"Not enough memory\. Please try to increase --mem-fraction-static"
        r"|leave no GPU memory for the KV cache|No available memory for the cache blocks"
        r"|Not enough GPU memory for hybrid"
        r"|larger than the available KV cache memory|larger than the maximum number of tokens that can be stored in KV",
    ),
    (
        "kv_exhausted",
        r"(?:Prefill|Decode) out of memory\. Try to lower|alloc_req_slots runs out of memory"
        r"|Not enough space for mamba",
    ),
    ("oom", r"CUDA out of memory|HIP out of memory|torch\.(?:cuda\.)?OutOfMemoryError|CUDA error: out of memory"),
    ("gpus_uneven", r"memory capacity is unbalanced"),
    ("gpu_memory_taken", r"Free memory on device .*(?:less than desired|on startup)|Error in memory profiling"),
    (
        "host_memory",
        r"\[Errno 12\]|can't allocate memory: you tried to allocate|oom-kill|Out of memory: Killed process"
        r"|Not enough host memory",
    ),
    ("disk_full", r"\[Errno 28\]|No space left on device"),
    ("open_files", r"\[Errno 24\]"),
    # ports and peers
    (
        "internal_port_taken",
        r"failed to listen on any local network address|is not available in \d+ seconds"
        r"|\w_port \d+ is already in use",
    ),
    ("bad_host", r"\[Errno 99\]|[Cc]annot assign requested address"),
    ("port_taken", r"error while attempting to bind|\[Errno 98\]|[Aa]ddress already in use|EADDRINUSE"),
    ("rendezvous", r"client socket has timed out|Timed out after \d+ seconds waiting for clients|TCPStore"),
    ("gloo_mesh", r"Gloo connectFullMesh failed"),
    (
        "nccl_timeout",
        r"collective operation timeout|WorkNCCL\(.*ran for \d+ milliseconds"
        r"|Timed out waiting \d+ms for (?:recv|send) operation|Application timeout caused pair closure",
    ),
    ("nccl", r"NCCL error|nccl(?:System|UnhandledCuda|Internal|InvalidUsage|Remote)Error|peer access is not supported"),
    # checkpoints and models
    (
        "missing_shards",
        r"shard file\(s\) missing|Cannot find any (?:safetensors )?model weights|No model weights found in"
        r"|No such file .*\.safetensors",
    ),
    (
        "corrupt_shard",
        r"Error while deserializing header|MetadataIncompleteBuffer|HeaderTooLarge|InvalidHeader"
        r"|PytorchStreamReader failed|invalid load key",
    ),
    (
        "remote_code",
        r"trust_remote_code|contains custom code which must be executed|requires you to execute the"
        r"|If the tokenizer is a custom tokenizer not yet available",
    ),
    (
        "model_gated",
        r"GatedRepoError|access a gated repo|not in the authorized list|(?:401|403) Client Error.*huggingface",
    ),
    (
        "model_not_found",
        r"couldn't connect to 'https?://huggingface|is not a local folder and is not a valid model identifier"
        r"|Repo id must|does not appear to have a file named|Incorrect path_or_model_id|Repository Not Found"
        r"|Can't load (?:the configuration of|tokenizer for) "
        r"|Could not find model locally|Invalid repository ID or local directory|No supported config format found"
        r"|Could not detect config format for no config file",
    ),
    (
        "unknown_architecture",
        r"Model architectures .* are not supported|Cannot find model module|not recognize this arch"
        r"|no SGlang implementation and|Transformers implementation of .* is not compatible"
        r"|Transformers version .* is not supported for model|was supported in vLLM until|no vLLM implementation and",
    ),
    (
        "quantization",
        r"Unknown quantization method|Cannot find the config file for|quantization method .* not supported"
        r"|Unsupported .*quantization|does not match the quantization method|Quantization scheme is not supported"
        r"|quantization .*[Mm]inimum capability|Invalid quantization method|quantization requires some operators"
        r"|No compressed-tensors compatible scheme",
    ),
    # kernels
    (
        "no_kernel_image",
        r"no kernel image is available|named symbol not found|Unsupported [^:.]{0,60}SM\d|Unknown SM|sm_\d+ is not",
    ),
    (
        "deepgemm",
        r"Assertion error \([\w/.]*(?:kernel_runtime|jit|compiler|runtime)[\w/.]*:\d+\)|deep_gemm/|module 'deep_gemm"
        r"|DeepGEMM is not available",
    ),
    (
        "backend_unsupported",
        r"No valid attention backend|(?:requires|only supported on) (?:SM\d|Blackwell|Hopper)"
        r"|[Cc]ompute capability .*not supported"
        r"|not supported .*compute capability|not supported on this hardware|but hardware does not support it"
        r"|backend can only be used with (?:non-)?MLA models|Selected backend \S+ is not valid"
        r"|only supported on GPUs with compute capability",
    ),
    (
        "build_failed",
        r"Ninja build failed|Error building extension|nvcc fatal|ptxas fatal|ninja: build stopped"
        r"|No such file or directory: '(?:\S*/)?(?:ninja|nvcc|gcc|g\+\+|cc|c\+\+)'",
    ),
    (
        "no_driver",
        r"Found no NVIDIA driver|driver version is insufficient|no CUDA-capable device|NVML_ERROR"
        r"|Failed to infer device type",
    ),
    ("kernel_mismatch", r"undefined symbol|is less than the minimum required version|cannot open shared object file"),
    ("missing_package", r"No module named|ModuleNotFoundError|cannot import name|^ImportError: "),
    (
        "device_ordinal",
        r"invalid device ordinal|No CUDA GPUs are available|device >= 0 && device < num_gpus"
        r"|World size \(\d+\) is larger than the number of available|Cannot provide a placement group"
        r"|exceeds the total number of available \w+ in the placement group|Current node has no \w+ available"
        r"|Not enough resources to allocate \d+ |Ray does not allocate any",
    ),
    ("gpu_broken", r"uncorrectable ECC|ECC error|GPU is lost|GPU has fallen off|NVLink error|\bXid\b"),
    ("segfault", r"Fatal Python error: (?:Segmentation fault|Bus error|Illegal instruction)"),
    ("illegal_access", r"illegal memory access|device-side assert|unspecified launch failure"),
    ("pool_leak", r"memory leak detected!"),
    (
        "weight_names",
        r"KeyError: '[\w.]*(?:weight|scale|bias|proj|experts?)[\w.]*'|Parameter '.*' ?(?:\(replaced\) )?not found in "
        r"|[Ww]eights (?:are|were) not initialized from checkpoint|There is no module or parameter named",
    ),
    ("bad_argument", r"invalid (?:tool call|reasoning) parser: |Error: --[a-z-]+ requires --"),
    ("peer_silent", r"RPC call to \w+ timed out"),
    ("graph_capture", r"Capture (?:[\w-]+ ){1,4}graph failed|Fail when using backend|CUDAGraph|capturing stream"),
)
"""(class, what its message holds), the first that fits."""

_SIGNATURES = tuple((failure, re.compile(pattern)) for failure, pattern in SIGNATURES)

_ECHO = re.compile(
    r"Engine core initialization failed|WorkerProc initialization failed|EngineDeadError|ActorDiedError"
    r"|Engine process failed to start|EngineCore encountered an issue|Engine loop is not running"
    r"|Initialization failed\. Please see the error messages above"
    r"|Parent process exited|Connection (?:closed|reset) by peer|ConnectionResetError|[Bb]roken ?[Pp]ipe"
    r"|^EOFError\b|recvValue failed|failed to recv, got 0 bytes"
    r"|received errors while waiting for send/recv|Socket Timeout"
    r"|Could not receive type from FROM_CORE|\bcancelled\b|CancelledError|terminate called"
    r"|Fatal Python error: (?!Segmentation fault|Bus error|Illegal instruction)|An exception occurred in a subprocess"
    r"|ChildFailedError|RayChannelError|WorkerCrashedError|ChildProcessError|RayActorError|ActorUnavailableError"
    r"|Frontend process failed during|didn't reply within \d|Background loop |Task finished unexpectedly"
    r"|NCCL communicator was aborted|remote process exited or there was a network error|ncclRemoteError"
)
_BARRIER = re.compile(
    r"could finish the model loading, but there are other ranks|monitoredBarrier.*Did not receive message"
    r"|Ranks? [\d, ]+ failed to pass monitoredBarrier"
)
_DIED = re.compile(
    r"[Rr]ank \d+ scheduler (?:died|is dead)|scheduler.*died during initialization|crashed with exit code"
    r"|engine core exited unexpectedly|died unexpectedly|died with exit code|exit code: -?\d+"
    r"|exited prematurely with code -?\d+"
)
_KILLED = re.compile(r"code:? -9\b|core proc\(s\): \{[^}]*: -9\b")
_NOT_OURS = re.compile(r"^(?:KeyboardInterrupt|SystemExit|GeneratorExit|asyncio\.exceptions\.CancelledError)\b")
"""How a process ends that was asked to."""

ERRNO = re.compile(r"\[Errno (?:12|13|24|28|98)\]|EADDRINUSE|ENOSPC|ENOMEM")
"""The system's own word beats an assertion that follows from it."""


def failure_of(message: str) -> str:
    """The failure class of an error message."""
    standing = standing_of(message)
    if standing is Standing.BARRIER:
        return "slow_rank"
    if standing is Standing.DIED:
        return "child_killed" if _KILLED.search(message) else "child_died"
    if standing is Standing.ECHO:
        return "child_killed" if _KILLED.search(message) else "peer_died"
    for failure, pattern in _SIGNATURES:
        if pattern.search(message):
            return failure
    return UNKNOWN


def standing_of(message: str) -> Standing:
    """How good the message is as an explanation."""
    if _BARRIER.search(message):
        return Standing.BARRIER
    if _ECHO.search(message):
        return Standing.ECHO
    if _DIED.search(message):
        return Standing.DIED
    return Standing.CAUSE


def was_asked_to_end(message: str) -> bool:
    """The exception is how a process ends that somebody stopped."""
    return _NOT_OURS.match(message) is not None
