"""Flags of vllm by release, part 1 of 2; written by scripts/engine_flags.py."""

VERSIONS = """
0.8.5 0.11.0 0.33.0
"""

ROWS = """
@ 0.8.5 0.8.5
additional-config json .
allow-credentials switch .
allowed-local-media-path str .
api-key str .
chat-template-content-format str =auto |auto|string|openai .
collect-detailed-traces str .
compilation-config,O any .
config-format str =auto |auto|hf|mistral .
device str =auto |auto|cpu|cuda|hpu|neuron|tpu|xpu .
disable-async-output-proc switch .
disable-cascade-attn switch .
disable-fastapi-docs switch .
disable-frontend-multiprocessing switch .
disable-log-requests switch .
disable-mm-preprocessor-cache switch .
disable-sliding-window switch .
disable-uvicorn-access-log switch .
distributed-executor-backend str |external_launcher|mp|ray|uni|None .
dtype str =auto |auto|half|float16|bfloat16|float|float32 .
enable-auto-tool-choice switch .
enable-lora-bias,no-enable-lora-bias switch .
enable-prompt-adapter,no-enable-prompt-adapter switch =None .
enable-prompt-tokens-details switch .
enable-reasoning switch .
enable-request-id-headers switch .
enable-server-load-tracking switch .
enable-sleep-mode switch .
enable-ssl-refresh switch .
enforce-eager switch .
guided-decoding-backend str =auto |auto|guidance|lm-format-enforcer|outlines|xgrammar .
hf-overrides json .
ignore-patterns str =[] .
kv-cache-dtype str =auto |auto|fp8|fp8_e4m3|fp8_e5m2 .
kv-transfer-config any .
load-format str =auto
  |auto|pt|safetensors|npcache|dummy|tensorizer|sharded_state|gguf|bitsandbytes|mistral|runai_streamer|runai_streamer_sharded|fastsafetensors
  .
long-lora-scaling-factors float+ .
lora-extra-vocab-size int =256 .
max-prompt-adapter-token int =0 .
max-prompt-adapters int =1 .
max-seq-len-to-capture int =8192 .
model str =facebook/opt-125m .
model-impl str =auto |auto|vllm|transformers .
model-loader-extra-config json ={} .
multi-step-stream-outputs,no-multi-step-stream-outputs switch =True .
num-scheduler-steps int =1 .
override-generation-config json .
override-neuron-config json .
override-pooler-config json .
preemption-mode str |recompute|swap|None .
prefix-caching-hash-algo str =builtin |builtin|sha256 .
prompt-adapters str+ .
qlora-adapter-name-or-path str .
quantization,q str
  |aqlm|awq|deepspeedfp|tpu_int8|fp8|ptpc_fp8|fbgemm_fp8|modelopt|nvfp4|marlin|bitblas|gguf|gptq_marlin_24|gptq_marlin|gptq_bitblas|awq_marlin|gptq|compressed-tensors|bitsandbytes|qqq|hqq|experts_int8|neuron_quant|ipex|quark|moe_wna16|torchao|None
  .
reasoning-parser str .
return-tokens-as-token-ids switch .
rope-scaling json .
scheduler-delay-factor float =0.0 .
skip-tokenizer-init switch .
task str =auto |auto|generate|embedding|embed|classify|score|reward|transcription .
tokenizer-mode str =auto |auto|slow|mistral|custom .
tokenizer-pool-extra-config json ={} .
tokenizer-pool-size int =0 .
tokenizer-pool-type str =ray .
trust-remote-code switch .
use-v2-block-manager switch =True . ~
uvicorn-log-level str =info |debug|info|warning|error|critical|trace .
@ 0.8.5 0.11.0
allowed-origins json =['*'] .
block-size int |1|128|16|32|64|8 .
calculate-kv-scales,no-calculate-kv-scales switch .
disable-chunked-mm-input,no-disable-chunked-mm-input switch .
disable-custom-all-reduce,no-disable-custom-all-reduce switch .
enable-chunked-prefill,no-enable-chunked-prefill switch =None .
enable-expert-parallel,no-enable-expert-parallel switch .
enable-lora,no-enable-lora switch =None .
enable-prefix-caching,no-enable-prefix-caching switch =None .
gpu-memory-utilization float =0.9 .
limit-mm-per-prompt json ={} .
logits-processor-pattern str .
max-long-partial-prefills int =1 .
max-lora-rank int =16 .
max-num-partial-prefills int =1 .
num-lookahead-slots int =0 .
rope-theta float .
scheduler-cls str =vllm.core.scheduler.Scheduler .
seed int .
speculative-config json .
swap-space float =4 .
@ 0.8.5 0.33.0
allowed-headers json =['*'] .
allowed-methods json =['*'] .
chat-template str .
code-revision str .
cpu-offload-gb float =0 .
data-parallel-size,dp int =1 .
disable-log-stats switch .
download-dir str .
fully-sharded-loras,no-fully-sharded-loras switch .
generation-config str =auto .
hf-config-path str .
hf-token str? .
host str .
long-prefill-token-threshold int =0 .
lora-dtype str =auto |auto|bfloat16|float16 .
lora-modules str+ .
max-cpu-loras int .
max-log-len int .
max-logprobs int =20 .
max-loras int =1 .
max-model-len size .
max-num-batched-tokens size .
max-num-seqs int .
max-parallel-loading-workers int .
middleware str =[] .
mm-processor-kwargs json .
num-gpu-blocks-override int .
otlp-traces-endpoint str .
pipeline-parallel-size,pp int =1 .
port int =8000 .
ray-workers-use-nsight,no-ray-workers-use-nsight switch .
response-role str =assistant .
revision str .
root-path str .
scheduling-policy str =fcfs |fcfs|priority .
served-model-name str+ .
show-hidden-metrics-for-version str .
ssl-ca-certs str .
ssl-cert-reqs int =0 .
ssl-certfile str .
ssl-keyfile str .
tensor-parallel-size,tp int =1 .
tokenizer str .
tokenizer-revision str .
tool-call-parser str .
tool-parser-plugin str =`` .
use-tqdm-on-load,no-use-tqdm-on-load switch =True .
worker-cls str =auto .
worker-extension-cls str =`` .
@ 0.11.0 0.11.0
api-server-count,asc int =1 .
async-scheduling,no-async-scheduling switch .
chat-template-content-format str =auto |auto|openai|string .
collect-detailed-traces str+ .
compilation-config,O json ={…} .
convert str =auto |auto|classify|embed|none|reward .
cuda-graph-sizes int+ =[] .
data-parallel-hybrid-lb,no-data-parallel-hybrid-lb switch .
disable-cascade-attn,no-disable-cascade-attn switch .
disable-fastapi-docs,no-disable-fastapi-docs switch .
disable-frontend-multiprocessing,no-disable-frontend-multiprocessing switch .
disable-hybrid-kv-cache-manager,no-disable-hybrid-kv-cache-manager switch .
disable-log-requests,no-disable-log-requests switch =True . ~
disable-mm-preprocessor-cache switch . ~
disable-sliding-window,no-disable-sliding-window switch .
disable-uvicorn-access-log,no-disable-uvicorn-access-log switch .
enable-auto-tool-choice,no-enable-auto-tool-choice switch .
enable-dbo,no-enable-dbo switch .
enable-eplb,no-enable-eplb switch .
enable-force-include-usage,no-enable-force-include-usage switch .
enable-log-outputs,no-enable-log-outputs switch .
enable-log-requests,no-enable-log-requests switch .
enable-lora-bias,no-enable-lora-bias switch . ~
enable-multimodal-encoder-data-parallel switch . ~
enable-prompt-embeds,no-enable-prompt-embeds switch .
enable-prompt-tokens-details,no-enable-prompt-tokens-details switch .
enable-request-id-headers,no-enable-request-id-headers switch .
enable-server-load-tracking,no-enable-server-load-tracking switch .
enable-sleep-mode,no-enable-sleep-mode switch .
enable-ssl-refresh,no-enable-ssl-refresh switch .
enable-tokenizer-info-endpoint,no-enable-tokenizer-info-endpoint switch .
eplb-log-balancedness,no-eplb-log-balancedness switch =None . ~
eplb-step-interval int . ~
eplb-window-size int . ~
guided-decoding-backend str . ~
guided-decoding-disable-additional-properties bool . ~
guided-decoding-disable-any-whitespace bool . ~
guided-decoding-disable-fallback bool . ~
ignore-patterns str+ .
kv-cache-dtype str =auto |auto|bfloat16|fp8|fp8_e4m3|fp8_e5m2|fp8_inc .
log-config-file str .
lora-extra-vocab-size int =256 . ~
mamba-cache-dtype str =auto |auto|float32 .
mamba-ssm-cache-dtype str =auto |auto|float32 .
num-redundant-experts int . ~
override-attention-dtype str .
override-pooler-config json . ~
prefix-caching-hash-algo str =sha256 |sha256|sha256_cbor .
reasoning-parser str =`` .
rope-scaling json ={} .
safetensors-load-strategy str =lazy .
task str |auto|classify|draft|embed|embedding|generate|reward|score|transcription|None . ~
tokenizer-mode str =auto |auto|custom|mistral|slow .
@ 0.11.0 0.33.0
additional-config any ={} .
allow-credentials,no-allow-credentials switch .
allowed-local-media-path str =`` .
allowed-media-domains str+ .
api-key str+ .
config str .
config-format str =auto .
data-parallel-address,dpa str .
data-parallel-backend,dpb str =mp .
data-parallel-rank,dpn int .
data-parallel-rpc-port,dpp int .
data-parallel-size-local,dpl int .
data-parallel-start-rank,dpr int .
dbo-decode-token-threshold int =32 .
dbo-prefill-token-threshold int =512 .
decode-context-parallel-size,dcp int =1 .
default-mm-loras json .
distributed-executor-backend str .
dtype str =auto |auto|bfloat16|float|float16|float32|half .
enforce-eager,no-enforce-eager switch .
eplb-config json ={…} .
exclude-tools-when-tool-choice-none,no-exclude-tools-when-tool-choice-none switch .
expert-placement-strategy str =linear |linear|round_robin .
h11-max-header-count int =256 .
h11-max-incomplete-event-size int =4194304 .
headless switch .
hf-overrides json ={} .
interleave-mm-strings,no-interleave-mm-strings switch .
io-processor-plugin str .
kv-cache-memory-bytes size .
kv-events-config json .
kv-sharing-fast-prefill,no-kv-sharing-fast-prefill switch .
kv-transfer-config json .
load-format str =auto .
log-error-stack,no-log-error-stack switch .
logits-processors str+ .
logprobs-mode str =raw_logprobs |processed_logits|processed_logprobs|raw_logits|raw_logprobs .
media-io-kwargs json ={} .
mm-encoder-tp-mode str =weights |data|weights .
mm-processor-cache-gb float =4 .
mm-processor-cache-type str =lru |lru|shm .
mm-shm-cache-max-object-size-mb int =128 .
model str =Qwen/Qwen3-0.6B .
model-impl str =auto .
model-loader-extra-config any ={} .
override-generation-config json ={} .
pooler-config json .
pt-load-map-location any =cpu .
quantization,q str .
return-tokens-as-token-ids,no-return-tokens-as-token-ids switch .
runner str =auto |auto|draft|generate|pooling .
skip-mm-profiling,no-skip-mm-profiling switch .
skip-tokenizer-init,no-skip-tokenizer-init switch .
structured-outputs-config json ={…} .
tool-server str .
trust-remote-code,no-trust-remote-code switch .
trust-request-chat-template,no-trust-request-chat-template switch .
uds str .
uvicorn-log-level str =info |critical|debug|error|info|trace|warning .
video-pruning-rate float .
@ 0.33.0 0.33.0
aggregate-engine-logging switch .
all2all-backend str =allgather_reducescatter
  |allgather_reducescatter|deepep_high_throughput|deepep_low_latency|deepep_v2|flashinfer_all2allv|flashinfer_nvlink_one_sided|flashinfer_nvlink_two_sided|moonep|mori_high_throughput|mori_low_latency|naive|nixl_ep|pplx
  .
allow-deprecated-quantization,no-allow-deprecated-quantization switch .
allowed-origins json =[] .
anthropic-disabled-thinking-effort str =auto |auto|high|low|max|medium|none|xhigh .
api-server-count,asc int .
async-scheduling,no-async-scheduling switch =None .
attention-backend str .
attention-config,ac json ={…} .
aux-output-config json ={…} .
block-size int .
chat-template-content-format str =auto .
cohere-format str =cmd4 .
cohere-is-reasoning-model,no-cohere-is-reasoning-model switch =True .
collect-detailed-traces str+ |all|model|worker .
compilation-config,cc json ={…} .
convert str =auto |auto|classify|embed|none .
cp-kv-cache-interleave-size int .
cpu-distributed-timeout-seconds int .
cpu-offload-params str+ =[] .
cudagraph-capture-sizes int+ .
cudagraph-metrics,no-cudagraph-metrics switch .
custom-histogram-buckets json .
data-parallel-external-lb,no-data-parallel-external-lb,dpe switch .
data-parallel-hybrid-lb,no-data-parallel-hybrid-lb,dph switch .
data-parallel-multi-port-external-lb,dpm switch .
data-parallel-supervisor-port int =9256 .
dcp-comm-backend str |a2a|ag_rs|None .
dcp-kv-cache-interleave-size int =1 .
dcp-q-replicate,no-dcp-q-replicate switch =None .
default-chat-template-kwargs json .
device-ids any .
diffusion-config,dc json .
disable-access-log-for-endpoints str .
disable-cascade-attn,no-disable-cascade-attn,enable-cascade-attn switch =None .
disable-chunked-mm-input,no-disable-chunked-mm-input,enable-chunked-mm-input switch .
disable-custom-all-reduce,no-disable-custom-all-reduce,enable-custom-all-reduce switch .
disable-fastapi-docs,no-disable-fastapi-docs,enable-fastapi-docs switch .
disable-hybrid-kv-cache-manager,no-disable-hybrid-kv-cache-manager,enable-hybrid-kv-cache-manager switch =None .
disable-nccl-for-dp-synchronization,no-disable-nccl-for-dp-synchronization,enable-nccl-for-dp-synchronization switch
  =None .
disable-sliding-window,no-disable-sliding-window,enable-sliding-window switch .
disable-uvicorn-access-log,no-disable-uvicorn-access-log,enable-uvicorn-access-log switch .
distributed-timeout-seconds int .
dp-supervisor-probe-failure-threshold int =3 .
dp-supervisor-probe-interval-s float =5.0 .
dp-supervisor-probe-timeout-s float =5.0 .
dp-sync-interval int =16 .
ec-manager-config json ={…} .
ec-transfer-config json .
elastic-ep-max-dp-size int .
enable-auto-tool-choice,no-enable-auto-tool-choice,disable-auto-tool-choice switch .
enable-batch-sharded-sampling,no-enable-batch-sharded-sampling,disable-batch-sharded-sampling switch =None .
enable-chunked-prefill,no-enable-chunked-prefill,disable-chunked-prefill switch =None .
enable-cumem-allocator,no-enable-cumem-allocator,disable-cumem-allocator switch .
enable-dbo,no-enable-dbo,disable-dbo switch .
enable-elastic-ep,no-enable-elastic-ep,disable-elastic-ep switch .
enable-ep-weight-filter,no-enable-ep-weight-filter,disable-ep-weight-filter switch .
enable-eplb,no-enable-eplb,disable-eplb switch .
enable-expert-parallel,no-enable-expert-parallel,disable-expert-parallel,ep switch .
enable-fault-tolerance,no-enable-fault-tolerance,disable-fault-tolerance switch .
enable-flash-late-interaction,no-enable-flash-late-interaction,disable-flash-late-interaction switch =True .
enable-flashinfer-autotune,no-enable-flashinfer-autotune,disable-flashinfer-autotune switch =None .
enable-force-include-usage,no-enable-force-include-usage,disable-force-include-usage switch .
enable-hc-sp,no-enable-hc-sp,disable-hc-sp switch .
enable-layerwise-nvtx-tracing,no-enable-layerwise-nvtx-tracing,disable-layerwise-nvtx-tracing switch .
enable-log-deltas,no-enable-log-deltas,disable-log-deltas switch =True .
enable-log-outputs,no-enable-log-outputs,disable-log-outputs switch .
enable-log-requests,no-enable-log-requests,disable-log-requests switch .
enable-logging-iteration-details,no-enable-logging-iteration-details,disable-logging-iteration-details switch .
enable-lora,no-enable-lora,disable-lora switch =None .
enable-mamba-cache-stochastic-rounding,no-enable-mamba-cache-stochastic-rounding,disable-mamba-cache-stochastic-rounding
  switch .
enable-mamba-shared-prefix-checkpoint,no-enable-mamba-shared-prefix-checkpoint,disable-mamba-shared-prefix-checkpoint
  switch .
enable-mfu-metrics,no-enable-mfu-metrics,disable-mfu-metrics switch .
enable-mixed-moe-lora-format,no-enable-mixed-moe-lora-format,disable-mixed-moe-lora-format switch .
enable-mm-embeds,no-enable-mm-embeds,disable-mm-embeds switch .
enable-moe-shared-loras,no-enable-moe-shared-loras,disable-moe-shared-loras switch .
enable-nccl-comm-suspend,no-enable-nccl-comm-suspend,disable-nccl-comm-suspend switch .
enable-offline-docs,no-enable-offline-docs,disable-offline-docs switch .
enable-per-request-metrics,no-enable-per-request-metrics,disable-per-request-metrics switch .
enable-prefix-caching,no-enable-prefix-caching,disable-prefix-caching switch =None .
enable-prompt-embeds,no-enable-prompt-embeds,disable-prompt-embeds switch .
enable-prompt-tokens-details,no-enable-prompt-tokens-details,disable-prompt-tokens-details switch .
enable-request-id-headers,no-enable-request-id-headers,disable-request-id-headers switch .
enable-return-routed-experts,no-enable-return-routed-experts,disable-return-routed-experts switch .
enable-scale-out,no-enable-scale-out,disable-scale-out switch .
enable-server-load-tracking,no-enable-server-load-tracking,disable-server-load-tracking switch .
enable-shm-tensor-arena,no-enable-shm-tensor-arena,disable-shm-tensor-arena switch .
enable-sleep-mode,no-enable-sleep-mode,disable-sleep-mode switch .
enable-ssl-refresh,no-enable-ssl-refresh,disable-ssl-refresh switch .
enable-tokenizer-info-endpoint,no-enable-tokenizer-info-endpoint,disable-tokenizer-info-endpoint switch .
enable-tower-connector-lora,no-enable-tower-connector-lora,disable-tower-connector-lora switch .
enable-trace-replay,no-enable-trace-replay,disable-trace-replay switch .
engram-config json .
fail-on-environ-validation,no-fail-on-environ-validation switch .
fault-tolerance-config json ={…} .
fingerprint-mode str =full |custom|full|hash|none .
fingerprint-value str .
gdn-prefill-backend str |flashinfer|triton|cutedsl|aiter_flydsl|sycl .
gpu-memory-utilization,device-memory-utilization float =0.92 .
grpc switch .
grpc-port int .
ignore-patterns str+ =['original/**/*'] .
ir-op-priority json ={…} .
jit-monitor-mode str =warn |error|warn .
jit-monitor-verbose,no-jit-monitor-verbose switch .
kda-decode-backend str |auto|native|flashinfer|triton .
kda-prefill-backend str |auto|triton|flashkda|flashinfer|fused .
kernel-config json ={…} .
kv-cache-dtype str =auto .
kv-cache-dtype-skip-layers str+ =[] .
kv-cache-metrics,no-kv-cache-metrics switch .
kv-cache-metrics-sample float =0.01 .
kv-offloading-backend str =native |lmcache|native .
kv-offloading-size float .
language-model-only,no-language-model-only switch .
limit-mm-per-prompt json ={…} .
linear-backend any =auto
  |aiter|auto|b12x|conch|cutlass|deep_gemm|emulation|exllama|fbgemm|flashinfer_b12x|flashinfer_cudnn|flashinfer_cutedsl|flashinfer_cutlass|flashinfer_trtllm|humming|machete|marlin|torch|triton|xpu|xpu_woq
  .
log-config-file str = . ~--logging-config.pylogging_config_file
log-level str = |CRITICAL|ERROR|WARNING|INFO|DEBUG|NOTSET .
logging-config json = .
long-prefill-token-threshold-adaptive,no-long-prefill-token-threshold-adaptive switch .
lora-target-modules str+ .
mamba-backend str =triton .
mamba-block-size int .
mamba-cache-dtype str =auto |auto|bfloat16|float16|float32 .
mamba-cache-mode str |align|none .
mamba-cache-philox-rounds int =0 .
mamba-ssm-cache-dtype str =auto |auto|bfloat16|float16|float32 .
mamba-ssu-algorithm str |auto|horizontal|simple|vertical|None .
master-addr str =127.0.0.1 .
master-port int =29501 .
max-cudagraph-capture-size int .
max-lora-cls-labels int .
max-lora-rank int =16 |1|128|16|256|32|320|512|64|8 .
"""
