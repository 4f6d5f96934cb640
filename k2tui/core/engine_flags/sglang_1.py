"""Flags of sglang by release, part 1 of 3; written by scripts/engine_flags.py."""

VERSIONS = """
0.4.6.post5 0.5.2 0.5.6 0.5.8 0.5.9 0.5.10 0.5.11 0.5.12 0.5.15 0.5.18 0.5.20 0.5.22 0.5.23
"""

ROWS = """
@ 0.4.6.post5 0.4.6.post5
attention-backend str |aiter|flashinfer|triton|torch_native|fa3|flashmla|cutlass_mla
disaggregation-transfer-backend str =mooncake |mooncake|nixl
enable-deepep-moe switch
enable-ep-moe switch
enable-flashinfer-mla switch =None . ~~--attention-backend␣flashinfer
enable-flashmla switch =None . ~~--attention-backend␣flashmla
expert-parallel-size,ep-size int =1 .
hicache-write-policy str =write_through_selective |write_back|write_through|write_through_selective
load-balance-method str =round_robin |round_robin|shortest_queue
log-requests-level int =0 |0|1|2
model-path str !
n-share-experts-fusion int =0
page-size int =1
pdlb-url str
quantization str
  |awq|fp8|gptq|marlin|gptq_marlin|awq_marlin|bitsandbytes|gguf|modelopt|modelopt_fp4|w8a8_int8|w8a8_fp8|moe_wna16|qoq
reasoning-parser str |deepseek-r1|qwen3
schedule-policy str =fcfs |lpm|random|fcfs|dfs-weight
speculative-algorithm str |EAGLE|EAGLE3|NEXTN
speculative-draft-model-path str
tool-call-parser str |qwen25|mistral|llama3|deepseekv3|pythonic
@ 0.4.6.post5 0.5.2
kv-cache-dtype str =auto |auto|fp8_e5m2|fp8_e4m3
load-format str =auto |auto|pt|safetensors|npcache|dummy|sharded_state|gguf|bitsandbytes|layered|remote
lora-backend str =triton
max-micro-batch-size int
mm-attention-backend str |sdpa|fa3|triton_attn
sampling-backend str |flashinfer|pytorch
@ 0.4.6.post5 0.5.6
preferred-sampling-params str
@ 0.4.6.post5 0.5.9
context-length int
enable-nan-detection switch
max-prefill-tokens int =16384
max-total-tokens int
stream-output switch
@ 0.4.6.post5 0.5.10
collect-tokens-histogram switch
ds-channel-config-path str
ds-heavy-channel-num int =32
ds-heavy-channel-type str =qk
ds-heavy-token-num int =256
ds-sparse-decode-threshold int =4096
enable-double-sparsity switch
@ 0.4.6.post5 0.5.12
cuda-graph-bs int+
cuda-graph-max-bs int
data-parallel-size,dp-size int =1 .
debug-tensor-dump-inject str =False
deepep-mode str =auto |normal|low_latency|auto
disable-cuda-graph switch
ep-dispatch-algorithm str
expert-distribution-recorder-mode str
pipeline-parallel-size,pp-size int =1 .
tensor-parallel-size,tp-size int =1 .
.dp_size .ep_size .pp_size .tp_size
@ 0.4.6.post5 0.5.15
disable-fast-image-processor switch
enable-expert-distribution-metrics switch
hicache-ratio float =2.0
torchao-config str =``
@ 0.4.6.post5 0.5.20
enable-dp-attention switch
file-storage-path str =sglang_storage
@ 0.4.6.post5 0.5.22
enable-hierarchical-cache switch
@ 0.4.6.post5 0.5.23
allow-auto-truncate switch
api-key str
base-gpu-id int =0
bucket-e2e-request-latency float+
bucket-inter-token-latency float+
bucket-time-to-first-token float+
chat-template str
chunked-prefill-size int
completion-template str
constrained-json-whitespace-pattern str
cpu-offload-gb int =0
debug-tensor-dump-input-file str
debug-tensor-dump-output-folder str
decode-log-interval int =40
deepep-config str
delete-ckpt-after-loading switch
device str
disable-chunked-prefix-cache switch
disable-cuda-graph-padding switch
disable-custom-all-reduce switch
disable-outlines-disk-cache switch
disable-overlap-schedule switch
disable-radix-cache switch
disaggregation-bootstrap-port int =8998
disaggregation-ib-device str
disaggregation-mode str =null |null|prefill|decode
dist-init-addr,nccl-init-addr str
dist-timeout int
download-dir str
dtype str =auto |auto|half|float16|bfloat16|float|float32
enable-cache-report switch
enable-custom-logit-processor switch
enable-dp-lm-head switch
enable-eplb switch
enable-memory-saver switch
enable-metrics switch
enable-mixed-chunk switch
enable-multimodal switch =None
enable-nccl-nvls switch
enable-p2p-check switch
enable-request-time-stats-logging switch
enable-tokenizer-batch-encode switch
enable-torch-compile switch
ep-num-redundant-experts int =0
eplb-rebalance-num-iterations int =1000
expert-distribution-recorder-buffer-size int
flashinfer-mla-disable-ragged switch
gpu-id-step int =1
grammar-backend str |xgrammar|outlines|llguidance|none
hicache-size int =0
host str =127.0.0.1
init-expert-location str =trivial
is-embedding switch
json-model-override-args json ={}
kv-events-config str
log-level str =info
log-level-http str
log-requests switch
lora-paths str+
max-loras-per-batch int =8
max-running-requests int
mem-fraction-static float
moe-dense-tp-size int
nnodes int =1
node-rank int =0
num-continuous-decode-steps int =1
port int =30000
quantization-param-path str
random-seed int
revision str
schedule-conservativeness float =1.0
served-model-name str
show-time-cost switch
skip-tokenizer-init switch
speculative-accept-threshold-acc float =1.0
speculative-accept-threshold-single float =1.0
speculative-eagle-topk int
speculative-num-draft-tokens int
speculative-num-steps int
speculative-token-map str
stream-interval int =1
tokenizer-mode str =auto |auto|slow
tokenizer-path str
torch-compile-max-bs int =32
triton-attention-num-kv-splits int =8
triton-attention-reduce-in-fp32 switch
trust-remote-code switch
warmups str
watchdog-timeout float =300
@ 0.5.2 0.5.2
attention-backend str
  |triton|torch_native|cutlass_mla|fa3|flashinfer|flashmla|trtllm_mla|trtllm_mha|dual_chunk_flash_attn|hybrid_linear_attn|aiter|wave|intel_amx|ascend
debug-tensor-dump-prefill-only switch
decode-attention-backend str
  |triton|torch_native|cutlass_mla|fa3|flashinfer|flashmla|trtllm_mla|trtllm_mha|dual_chunk_flash_attn|hybrid_linear_attn|aiter|wave|intel_amx|ascend
enable-deepep-moe switch ~
enable-ep-moe switch ~
enable-flashinfer-cutlass-moe switch ~
enable-flashinfer-mxfp4-moe switch ~
enable-flashinfer-trtllm-moe switch ~
enable-triton-kernel-moe switch ~
hicache-io-backend str =kernel |direct|kernel
hicache-mem-layout str =layer_first |layer_first|page_first
hicache-storage-backend str |file|mooncake|hf3fs|nixl
max-queued-requests int =9223372036854775807
moe-a2a-backend str =none |none|deepep
moe-runner-backend str =auto |auto|triton|triton_kernel|flashinfer_trtllm|flashinfer_cutlass|flashinfer_mxfp4
prefill-attention-backend str
  |triton|torch_native|cutlass_mla|fa3|flashinfer|flashmla|trtllm_mla|trtllm_mha|dual_chunk_flash_attn|hybrid_linear_attn|aiter|wave|intel_amx|ascend
quantization str
  |awq|fp8|gptq|marlin|gptq_marlin|awq_marlin|bitsandbytes|gguf|modelopt|modelopt_fp4|petit_nvfp4|w8a8_int8|w8a8_fp8|moe_wna16|qoq|w4afp8|mxfp4
reasoning-parser str |deepseek-r1|deepseek-v3|glm45|gpt-oss|kimi|qwen3|qwen3-thinking|step3
schedule-policy str =fcfs |lpm|random|fcfs|dfs-weight|lof
sm-group-num int =3
speculative-algorithm str |EAGLE|EAGLE3|NEXTN|STANDALONE
tool-call-parser str |llama3|qwen25|mistral|deepseekv3|deepseekv31|pythonic|kimi_k2|qwen3_coder|glm45|step3|gpt-oss
@ 0.5.2 0.5.6
hybrid-kvcache-ratio float?
load-balance-method str =round_robin |round_robin|shortest_queue|minimum_tokens
lora-target-modules str+ |q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj|qkv_proj|gate_up_proj|all
prefill-round-robin-balance switch
@ 0.5.2 0.5.8
disaggregation-transfer-backend str =mooncake |mooncake|nixl|ascend|fake
mamba-ssm-dtype str =float32 |float32|bfloat16
@ 0.5.2 0.5.9
disaggregation-decode-dp int
disaggregation-decode-tp int
disaggregation-prefill-pp int =1
@ 0.5.2 0.5.11
hicache-storage-prefetch-policy str =best_effort |best_effort|wait_complete|timeout
@ 0.5.2 0.5.12
enable-flashinfer-allreduce-fusion switch
expert-parallel-size,ep-size,ep int =1 .
@ 0.5.2 0.5.18
flashinfer-mxfp4-moe-precision str =default |default|bf16
swa-full-tokens-ratio float =0.8
@ 0.5.2 0.5.23
crash-dump-folder str
custom-weight-loader str+
disable-flashinfer-cutlass-moe-fp4-allgather switch
disable-hybrid-swa-memory switch
disable-shared-experts-fusion switch
enable-cudagraph-gc switch
enable-lmcache switch
enable-lora switch =None
enable-metrics-for-all-schedulers switch
enable-mscclpp switch
enable-pdmux switch
enable-profile-cuda-graph switch
enable-return-hidden-states switch
enable-symm-mem switch
enable-two-batch-overlap switch
eplb-algorithm str =auto
eplb-min-rebalancing-utilization-threshold float =1.0
eplb-rebalance-layers-per-chunk int
gc-warning-threshold-secs float =0.0
generation-tokens-buckets str+
hicache-storage-backend-extra-config str
hicache-write-policy str =write_through |write_back|write_through|write_through_selective
log-requests-level int =2 |0|1|2|3
max-loaded-loras int
max-lora-rank int
max-mamba-cache-size int
model-impl str =auto
model-loader-extra-config json ={}
model-path,model str !
nccl-port int
num-reserved-decode-tokens int =512
numa-node int+
offload-group-size int =-1
offload-mode str =cpu
offload-num-in-group int =1
offload-prefetch-step int =1
page-size int
prompt-tokens-buckets str+
scheduler-recv-interval int =1
skip-server-warmup switch
sleep-on-idle switch
speculative-attention-mode str =prefill |prefill|decode
speculative-draft-model-path,speculative-draft-model str
speculative-draft-model-revision str
tbo-token-distribution-threshold float =0.48
tokenizer-worker-num int =1
tool-server str
weight-loader-disable-mmap switch
weight-version str =default
@ 0.5.6 0.5.6
dllm-block-size int
enable-flashinfer-autotune switch
load-format str =auto
  |auto|pt|safetensors|npcache|dummy|sharded_state|gguf|bitsandbytes|layered|remote|remote_instance
load-watch-interval float =0.1
lora-backend str =csgmv |triton|csgmv|ascend
piecewise-cuda-graph-max-tokens int =4096
piecewise-cuda-graph-tokens json
quantization str
  |awq|fp8|gptq|marlin|gptq_marlin|awq_marlin|bitsandbytes|gguf|modelopt|modelopt_fp8|modelopt_fp4|petit_nvfp4|w8a8_int8|w8a8_fp8|moe_wna16|qoq|w4afp8|mxfp4|auto-round|compressed-tensors
reasoning-parser str
  |deepseek-r1|deepseek-v3|glm45|gpt-oss|kimi|kimi_k2|qwen3|qwen3-thinking|minimax|minimax-append-think|step3
schedule-policy str =fcfs |lpm|random|fcfs|dfs-weight|lof|priority
speculative-draft-load-format str
  |auto|pt|safetensors|npcache|dummy|sharded_state|gguf|bitsandbytes|layered|remote|remote_instance
tool-call-parser str
  |deepseekv3|deepseekv31|deepseekv32|glm|glm45|gpt-oss|kimi_k2|llama3|mistral|pythonic|qwen|qwen25|qwen3_coder|step3|minimax-m2
@ 0.5.6 0.5.8
mm-attention-backend str |sdpa|fa3|triton_attn|ascend_attn|aiter_attn
moe-a2a-backend str =none |none|deepep|mooncake|ascend_fuseep
nsa-decode-backend str =fa3 |flashmla_sparse|flashmla_kv|flashmla_auto|fa3|tilelang|aiter
nsa-prefill-backend str =flashmla_sparse |flashmla_sparse|flashmla_kv|flashmla_auto|fa3|tilelang|aiter
@ 0.5.6 0.5.9
elastic-ep-backend str |none|mooncake
enable-piecewise-cuda-graph switch
mm-max-concurrent-calls int =32
mm-per-request-timeout int =10.0
moe-runner-backend str =auto
  |auto|deep_gemm|triton|triton_kernel|flashinfer_trtllm|flashinfer_cutlass|flashinfer_mxfp4|flashinfer_cutedsl|cutlass
radix-eviction-policy str =lru |lru|lfu
speculative-moe-runner-backend str
  |auto|deep_gemm|triton|triton_kernel|flashinfer_trtllm|flashinfer_cutlass|flashinfer_mxfp4|flashinfer_cutedsl|cutlass
speculative-ngram-branch-length int =18
speculative-ngram-max-match-window-size int =12
speculative-ngram-min-match-window-size int =1
@ 0.5.6 0.5.10
hicache-storage-backend str |file|mooncake|hf3fs|nixl|aibrix|dynamic|eic
multi-item-scoring-delimiter int
speculative-algorithm str |EAGLE|EAGLE3|NEXTN|STANDALONE|NGRAM
@ 0.5.6 0.5.11
attention-backend str
  |triton|torch_native|flex_attention|nsa|cutlass_mla|fa3|fa4|flashinfer|flashmla|trtllm_mla|trtllm_mha|dual_chunk_flash_attn|aiter|wave|intel_amx|ascend|intel_xpu
decode-attention-backend str
  |triton|torch_native|flex_attention|nsa|cutlass_mla|fa3|fa4|flashinfer|flashmla|trtllm_mla|trtllm_mha|dual_chunk_flash_attn|aiter|wave|intel_amx|ascend|intel_xpu
prefill-attention-backend str
  |triton|torch_native|flex_attention|nsa|cutlass_mla|fa3|fa4|flashinfer|flashmla|trtllm_mla|trtllm_mha|dual_chunk_flash_attn|aiter|wave|intel_amx|ascend|intel_xpu
@ 0.5.6 0.5.12
enable-nsa-prefill-context-parallel switch
hicache-mem-layout str =layer_first |layer_first|page_first|page_first_direct|page_first_kv_split|page_head
piecewise-cuda-graph-compiler str =eager |eager|inductor
sampling-backend str |flashinfer|pytorch|ascend
@ 0.5.6 0.5.15
grpc-mode switch
keep-mm-feature-on-device switch
kv-cache-dtype str =auto |auto|fp8_e5m2|fp8_e4m3|bf16|bfloat16|fp4_e2m1
@ 0.5.6 0.5.18
mamba-full-memory-ratio float =0.9
@ 0.5.6 0.5.22
mm-enable-dp-encoder switch
@ 0.5.6 0.5.23
abort-on-priority-when-disabled switch
checkpoint-engine-wait-weights-before-ready switch
config str .
constrained-json-disable-any-whitespace switch
debug-tensor-dump-layers int+
decrypted-config-file str
decrypted-draft-config-file str
disable-tokenizer-batch-decode switch
disaggregation-decode-enable-offload-kvcache switch
disaggregation-decode-polling-interval int =1
dllm-algorithm str
dynamic-batch-tokenizer-batch-size int =32
dynamic-batch-tokenizer-batch-timeout float =0.002
enable-attn-tp-input-scattered switch
enable-broadcast-mm-inputs-process switch
enable-deterministic-inference switch
enable-draft-weights-cpu-backup switch
enable-dynamic-batch-tokenizer switch
enable-fp32-lm-head switch
enable-layerwise-nvtx-marker switch
enable-priority-scheduling switch
enable-single-batch-overlap switch
enable-torch-compile-debug-mode switch
enable-torch-symm-mem switch
enable-trace switch
enable-weights-cpu-backup switch
export-metrics-to-file switch
export-metrics-to-file-dir str
fastapi-root-path str =``
forward-hooks json
hicache-io-backend str =kernel |direct|kernel|kernel_ascend
kt-cpuinfer int
kt-max-deferred-experts-per-token int
kt-method str =AMXINT4
kt-num-gpu-experts int
kt-threadpool-count int =2
kt-weight-path str
lora-eviction-policy str =lru |lru|fifo
max-lora-chunk-size int =16 |16|32|64|128
max-queued-requests int
mm-process-config json
modelopt-checkpoint-restore-path str
modelopt-checkpoint-save-path str
modelopt-export-path str
modelopt-quant str
mooncake-ib-device str
otlp-traces-endpoint str =localhost:4317
pdmux-config-path str
pp-max-micro-batch-size int
priority-scheduling-preemption-threshold int =10
quantize-and-serve switch
remote-instance-weight-loader-seed-instance-ip str
remote-instance-weight-loader-seed-instance-service-port int
remote-instance-weight-loader-send-weights-group-ports json
rl-on-policy-target str |fsdp
sampling-defaults str =model |openai|model
schedule-low-priority-values-first switch
sm-group-num int =8
speculative-ngram-capacity int =10000000
speculative-ngram-match-type str =BFS |BFS|PROB
speculative-ngram-max-bfs-breadth int =10
speculative-ngram-min-bfs-breadth int =1
tokenizer-metrics-allowed-custom-labels str+
tokenizer-metrics-custom-labels-header str =x-custom-labels
triton-attention-split-tile-size int
@ 0.5.8 0.5.8
disaggregation-decode-enable-fake-auto switch
fp4-gemm-backend str =auto |auto|flashinfer_cudnn|flashinfer_cutlass|flashinfer_trtllm .fp4_gemm_runner_backend
fp8-gemm-backend str =auto |auto|deep_gemm|flashinfer_trtllm|cutlass|triton|aiter .fp8_gemm_runner_backend
nsa-prefill-cp-mode str =in-seq-split |in-seq-split|round-robin-split
quantization str
  |awq|fp8|gptq|marlin|gptq_marlin|awq_marlin|bitsandbytes|gguf|modelopt|modelopt_fp8|modelopt_fp4|petit_nvfp4|w8a8_int8|w8a8_fp8|moe_wna16|qoq|w4afp8|mxfp4|auto-round|compressed-tensors|modelslim|quark_int4fp8_moe
reasoning-parser str
  |deepseek-r1|deepseek-v3|glm45|gpt-oss|kimi|kimi_k2|qwen3|qwen3-thinking|minimax|minimax-append-think|step3|nano_v3|interns1
speculative-draft-model-quantization str
  |awq|fp8|gptq|marlin|gptq_marlin|awq_marlin|bitsandbytes|gguf|modelopt|modelopt_fp8|modelopt_fp4|petit_nvfp4|w8a8_int8|w8a8_fp8|moe_wna16|qoq|w4afp8|mxfp4|auto-round|compressed-tensors|modelslim|quark_int4fp8_moe|unquant
speculative-moe-a2a-backend str |none|deepep|mooncake|ascend_fuseep
tool-call-parser str
  |deepseekv3|deepseekv31|deepseekv32|glm|glm45|glm47|gpt-oss|kimi_k2|llama3|mimo|mistral|pythonic|qwen|qwen25|qwen3_coder|step3|minimax-m2|trinity|interns1
@ 0.5.8 0.5.9
disable-hicache-numa-detect switch
hierarchical-sparse-attention-extra-config str
load-format str =auto
  |auto|pt|safetensors|npcache|dummy|sharded_state|gguf|bitsandbytes|layered|flash_rl|remote|remote_instance|fastsafetensors|private
remote-instance-weight-loader-backend str =nccl |transfer_engine|nccl
"""
