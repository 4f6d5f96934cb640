"""Flags of sglang by release, part 3 of 3; written by scripts/engine_flags.py."""

ROWS = """
@ 0.5.18 0.5.18
speculative-draft-load-format str
  |auto|pt|safetensors|npcache|dummy|sharded_state|presharded|gguf|bitsandbytes|mistral|layered|flash_rl|remote|remote_instance|fastsafetensors|private|runai_streamer
speculative-draft-model-quantization str
  |awq|fp8|mxfp8|gptq|marlin|gptq_marlin|awq_marlin|bitsandbytes|gguf|modelopt|modelopt_fp8|modelopt_fp4|nvfp4_online|modelopt_mixed|petit_nvfp4|w8a8_int8|w8a8_fp8|moe_wna16|w4afp8|mxfp4|auto-round|auto-round-int8|compressed-tensors|modelslim|mxfp_w4a8|quark|quark_int4fp8_moe|quark_mxfp4|mlx_q4|mlx_q8|unquant|humming
speculative-moe-a2a-backend str |none|deepep|mooncake|nixl|mori|ascend_fuseep|flashinfer|megamoe|pplx|ascend_tp
speculative-moe-runner-backend str
  |auto|deep_gemm|triton|triton_kernel|flashinfer_trtllm|experimental_sgl_trtllm|flashinfer_trtllm_routed|flashinfer_cutlass|flashinfer_mxfp4|flashinfer_cutedsl|cutlass|aiter|marlin|humming|experimental_sgl_marlin|hpc_ops|megamoe
tool-call-parser str
  |auto|apertus2509|cohere_command4|deepseekv3|deepseekv31|deepseekv32|deepseekv4|glm|glm45|glm47|gpt-oss|kimi_k2|kimi_k3|lfm2|llama3|mimo|minicpm5|mistral|muse|poolside_v1|pythonic|qwen|qwen25|qwen3_coder|step3|step3p5|minimax-m2|minimax-m3|trinity|interns1|hermes|hunyuan|gigachat3|gemma4|inkling
@ 0.5.18 0.5.20
disaggregation-decode-retraction-backup str |cpu_tensor|host_pool
elastic-ep-rejoin switch ~--elastic-ep-join-mode
keep-mm-feature-on-device switch ~--mm-feature-transport=cuda_ipc
kv-cache-dtype str =auto |auto|fp8_e5m2|fp8_e4m3|mxfp8|bf16|bfloat16|nvfp4|fp4_mx_block16|fp4_e2m1
@ 0.5.18 0.5.23
allowed-media-domains str+ =[]
c128-page-size int =16
dcp-replicate-q-proj,no-dcp-replicate-q-proj switch =None
default-chat-template-kwargs json
disable-fast-image-processor switch ~--image-processor-backend=pil
dllm-fdfo,no-dllm-fdfo switch =True
dwdp-size int =1
elastic-ep-initial-size int
elastic-ep-join-mode str |scale|recover .ep_join_mode
elastic-ep-join-rank-offset int =0 .ep_join_rank_offset
elastic-ep-scale-timeout float =600
enable-cp-decode-attn-tp switch
enable-dsa-cache-layer-split switch
enable-flexkv switch
enable-linear-replayssm-spec switch
enable-scattered-sconv switch
enable-tp-lm-head-all-to-all,no-enable-tp-lm-head-all-to-all switch =None
enable-waterfill switch
encoder-transfer-backend str =auto |auto|zmq_to_scheduler|zmq_to_tokenizer|mooncake
expert-balancedness-report-mode str =off |off|server_log|prometheus|both
flashinfer-autotune-skip-ops str+
flexkv-config-file str
fp4-gemm-backend str =auto |auto|flashinfer_cudnn|flashinfer_cutedsl|flashinfer_cutlass|flashinfer_trtllm|marlin
  .fp4_gemm_runner_backend
fp8-gemm-backend str =auto
  |auto|deep_gemm|flashinfer_trtllm|flashinfer_cutlass|flashinfer_deepgemm|flashinfer_cutedsl|cutlass|triton|aiter
  .fp8_gemm_runner_backend
fuseep-mode int =2 |1|2
grpc-mode switch ~--smg-grpc-mode
grpc-port int
hicache-ratio float
http2-max-concurrent-streams int =200
image-processor-backend str =auto |auto|torchvision|pil
language-model-only switch
lora-target-modules str+
  |q_proj|k_proj|v_proj|o_proj|q_a_proj|kv_a_proj_with_mqa|q_b_proj|kv_b_proj|wq_b|wk|weights_proj|gate_proj|up_proj|down_proj|qkv_proj|gate_up_proj|embed_tokens|lm_head|qkvr|wo_ud|all
mamba-max-states-per-path int =-1
max-ep-size int
media-url-max-file-size-mb int =64
mlx-enable-sampling switch
mm-feature-transport str |cpu|cuda_ipc|cuda_vmm
mm-global-cache-backend str =mooncake |mooncake
mm-io-worker-num int =0
mm-preprocess-cache-size-mb int
mm-processor-worker-num int =0
optimistic-prefill-attempts int =0
retraction-policy str =length |length|priority
return-hidden-states-mode str |last|full
sidecar str
sidecar-args json
smg-grpc-mode switch
smg-http-sidecar-port,grpc-http-sidecar-port int
speculative-draft-kv-cache-dtype str |auto|fp8_e5m2|fp8_e4m3|bf16|bfloat16
speculative-dspark-align-verify-tokens-to-graph-tier switch
speculative-dspark-block-size int
speculative-dspark-confidence-sts-path str
speculative-dspark-sps-table-path str
startup-weight-load-mode str =serial |serial|overlap
trust-mm-content-hashes switch
weight-cache-mode str =off |off|daemon|client
weight-cache-socket str
weight-cache-timeout int =1800
._speculative_draft_quantization_explicitly_set
@ 0.5.20 0.5.20
attention-backend str
  |triton|torch_native|flex_attention|dsa|nsa|qsa|dsv4|compressed|fa3|fa4|flashinfer|flashmla|trtllm_mla|cutedsl_mla|tokenspeed_mla|trtllm_mha|hpc_ops|minicpm_flashattn|minicpm_flashinfer|aiter|wave|intel_amx|ascend|intel_xpu
decode-attention-backend str
  |triton|torch_native|flex_attention|dsa|nsa|qsa|dsv4|compressed|fa3|fa4|flashinfer|flashmla|trtllm_mla|cutedsl_mla|tokenspeed_mla|trtllm_mha|hpc_ops|minicpm_flashattn|minicpm_flashinfer|aiter|wave|intel_amx|ascend|intel_xpu
dsa-decode-backend str
  |flashmla_sparse|flashmla_sparse_q8|flashmla_kv|flashmla_auto|flashinfer_sparse_mla|fa3|tilelang|triton|aiter|trtllm
dsa-prefill-backend str
  |flashmla_sparse|flashmla_sparse_q8|flashmla_kv|flashmla_auto|flashinfer_sparse_mla|fa3|tilelang|triton|aiter|trtllm
hicache-storage-backend str |file|sim|mooncake|npu_memcache|hf3fs|nixl|aibrix|dynamic|eic|simm|mori|shm
load-format str =auto
  |auto|pt|safetensors|npcache|dummy|sharded_state|presharded|gguf|expert_pack|bitsandbytes|mistral|layered|flash_rl|remote|remote_instance|fastsafetensors|private|runai_streamer
prefill-attention-backend str
  |triton|torch_native|flex_attention|dsa|nsa|qsa|dsv4|compressed|fa3|fa4|flashinfer|flashmla|trtllm_mla|cutedsl_mla|tokenspeed_mla|trtllm_mha|hpc_ops|minicpm_flashattn|minicpm_flashinfer|aiter|wave|intel_amx|ascend|intel_xpu
reasoning-parser str
  |auto|apertus2509|deepseek-r1|deepseek-v3|deepseek-v4|dots|glm45|ling3|hunyuan|gpt-oss|k2_horizon|kimi|kimi_k2|kimi_k3|mimo|muse|poolside_v1|qwen3|qwen3-thinking|minimax|minimax-append-think|minimax-m3|nanbeige|step3|step3p5|mistral|nemotron_3|granite_thinking_parser|interns1|gemma4|inkling|cohere_command4
sampling-backend str |flashinfer|pytorch|ascend
schedule-policy str =fcfs |lpm|random|fcfs|dfs-weight|lof|priority|routing-key|hrrn
speculative-draft-load-format str
  |auto|pt|safetensors|npcache|dummy|sharded_state|presharded|gguf|expert_pack|bitsandbytes|mistral|layered|flash_rl|remote|remote_instance|fastsafetensors|private|runai_streamer
tool-call-parser str
  |auto|apertus2509|cohere_command4|deepseekv3|deepseekv31|deepseekv32|deepseekv4|dots|glm|glm45|glm47|gpt-oss|k2_horizon|kimi_k2|kimi_k3|lfm2|ling3|llama3|mimo|minicpm5|mistral|muse|poolside_v1|pythonic|qwen|qwen25|qwen3_coder|spark25|step3|step3p5|minimax-m2|minimax-m3|nanbeige|trinity|interns1|hermes|hunyuan|gigachat3|gemma4|inkling
@ 0.5.20 0.5.22
dsv4-attn-backend str =auto |auto|flashmla|trtllm
moe-runner-backend str =auto
  |auto|deep_gemm|triton|triton_kernel|flashinfer_trtllm|experimental_sgl_trtllm|flashinfer_trtllm_routed|flashinfer_cutlass|flashinfer_mxfp4|flashinfer_cutedsl|flashinfer_megamoe|cutlass|aiter|marlin|humming|experimental_sgl_marlin|hpc_ops|megamoe|intel_xpu
speculative-moe-runner-backend str
  |auto|deep_gemm|triton|triton_kernel|flashinfer_trtllm|experimental_sgl_trtllm|flashinfer_trtllm_routed|flashinfer_cutlass|flashinfer_mxfp4|flashinfer_cutedsl|flashinfer_megamoe|cutlass|aiter|marlin|humming|experimental_sgl_marlin|hpc_ops|megamoe|intel_xpu
unified-cache-external-linker-backend str =mooncake |mooncake|mori
@ 0.5.20 0.5.23
bf16-gemm-backend str =auto |auto|cutedsl|gemv|torch
dcp-comm-backend str |ag_rs|a2a|fi_a2a
deepep-v2-mode str =direct |direct|hybrid
dsv4-prefill-backend str =auto |auto|flashmla_sparse|flashmla_sparse_q8
enable-dense-mlp-attn-tp switch
enable-layernorm-sp switch
enable-lean-attention switch =None
enable-response-store switch
enable-shared-experts-attn-tp switch
enable-unified-cache-external-linker switch
enable-w4a4-mxfp4-megamoe switch
flashinfer-a2a-dispatch-type str |auto|bf16|nvfp4|mxfp8
flashinfer-mxfp4-moe-precision str =default |default|bf16|fp8
gated-launch-port int
hicache-host-memory-mode str =cache |cache|buffer_only
hicache-storage-prefetch-retry-max-attempts int =8
hicache-storage-prefetch-retry-poll-interval int =8
http2-initial-connection-window-size int =1048576
linear-attn-backend str =triton |triton|cutedsl|flashinfer|flashkda|nvidia_kda|ptx_kda|helion|intel_xpu
linear-attn-decode-backend str |triton|cutedsl|flashinfer|flashkda|nvidia_kda|ptx_kda|helion|intel_xpu
linear-attn-prefill-backend str |triton|cutedsl|flashinfer|flashkda|nvidia_kda|ptx_kda|helion|intel_xpu
linear-attn-verify-backend str |triton|cutedsl|flashinfer|flashkda|nvidia_kda|ptx_kda|helion|intel_xpu|nv_cutedsl
load-publish-endpoint str
mamba-full-memory-ratio float
moe-a2a-backend str =none
  |none|deepep|mooncake|nixl|mori|ascend_fuseep|flashinfer|megamoe|deepep_v2|pplx|ascend_tp|flashinfer_megamoe
ple-offload-backend str =pinned |pinned|file
ple-offload-dir str
ple-offload-embedding,no-ple-offload-embedding switch =None
prefill-decode-interval int
quantization str
  |awq|fp8|mxfp8|gptq|gptq_marlin|awq_marlin|bitsandbytes|gguf|modelopt|modelopt_fp8|modelopt_fp4|nvfp4_online|modelopt_mixed|petit_nvfp4|w8a8_int8|w8a8_fp8|moe_wna16|w4afp8|mxfp4|auto-round|auto-round-int8|compressed-tensors|modelslim|mxfp_w4a8|quark|quark_int4fp8_moe|quark_mxfp4|mlx_q4|mlx_q8|unquant|humming
radix-eviction-policy-config json
return-input-ids switch
return-output-ids switch
sampling-mask-max-tokens int =4096
speculative-domino-candidate-pool-size int =2048
speculative-draft-model-quantization str
  |awq|fp8|mxfp8|gptq|gptq_marlin|awq_marlin|bitsandbytes|gguf|modelopt|modelopt_fp8|modelopt_fp4|nvfp4_online|modelopt_mixed|petit_nvfp4|w8a8_int8|w8a8_fp8|moe_wna16|w4afp8|mxfp4|auto-round|auto-round-int8|compressed-tensors|modelslim|mxfp_w4a8|quark|quark_int4fp8_moe|quark_mxfp4|mlx_q4|mlx_q8|unquant|humming
speculative-dsa-topk-backend str =sgl-kernel |sgl-kernel|torch|flashinfer
speculative-moe-a2a-backend str
  |none|deepep|mooncake|nixl|mori|ascend_fuseep|flashinfer|megamoe|deepep_v2|pplx|ascend_tp
swa-full-tokens-ratio float
uno-lora-path str
._radix_eviction_policy_explicitly_set .grpc_worker_threads
@ 0.5.22 0.5.22
enable-decoder-swa-bounded-replay switch
reasoning-parser str
  |auto|apertus2509|deepseek-r1|deepseek-v3|deepseek-v4|deepseek-v41|dots|glm45|ling3|hunyuan|gpt-oss|k2_horizon|kimi|kimi_k2|kimi_k3|mimo|muse|poolside_v1|qwen3|qwen3-thinking|minimax|minimax-append-think|minimax-m3|nanbeige|step3|step3p5|mistral|nemotron_3|granite_thinking_parser|interns1|gemma4|inkling|iquest_q1|cohere_command4|gigachat35
tool-call-parser str
  |auto|apertus2509|cohere_command4|deepseekv3|deepseekv31|deepseekv32|deepseekv4|deepseekv41|dots|glm|glm45|glm47|gpt-oss|k2_horizon|kimi_k2|kimi_k3|lfm2|ling3|llama3|mimo|minicpm5|mistral|muse|poolside_v1|pythonic|qwen|qwen25|qwen3_coder|spark25|step3|step3p5|minimax-m2|minimax-m3|nanbeige|trinity|interns1|hermes|hunyuan|gigachat3|gigachat35|gemma4|inkling|iquest_q1
@ 0.5.22 0.5.23
attention-backend str
  |triton|torch_native|flex_attention|dsa|nsa|qsa|dsv4|compressed|fa3|fa4|flashinfer|llada2_cfg_flashinfer|flashmla|trtllm_mla|cutedsl_mla|tokenspeed_mla|trtllm_mha|hpc_ops|minicpm_flashattn|minicpm_flashinfer|aiter|wave|intel_amx|ascend|intel_xpu
attn-dp-size,attention-data-parallel-size int =1
boundary-reduction str =auto |auto|ar|rs|rsv|rs+rsv
constrained-json-max-whitespace-cnt int
cuda-graph-backend-decode any |full|breakable|disabled
cuda-graph-backend-prefill any |full|breakable|disabled
cuda-graph-max-seq-len-prefill int
cuda-graph-prefill-max-context,context-bucket size
decode-attention-backend str
  |triton|torch_native|flex_attention|dsa|nsa|qsa|dsv4|compressed|fa3|fa4|flashinfer|llada2_cfg_flashinfer|flashmla|trtllm_mla|cutedsl_mla|tokenspeed_mla|trtllm_mha|hpc_ops|minicpm_flashattn|minicpm_flashinfer|aiter|wave|intel_amx|ascend|intel_xpu
disable-aiter-allreduce-fusion-in-decode switch
disable-aiter-allreduce-fusion-in-prefill switch
disaggregation-decode-allocation-policy str =early |early|prefill_complete
disaggregation-decode-host-receive-threshold float =1.0
disaggregation-decode-retraction-backup str |cpu_tensor|host_pool|none
disaggregation-enable-kv-checksum switch
dsa-decode-backend str
  |flashmla_sparse|flashmla_sparse_q8|flashmla_kv|flashmla_auto|flashinfer_sparse_mla|fa3|tilelang|triton|aiter|trtllm|intel_xpu
dsa-prefill-backend str
  |flashmla_sparse|flashmla_sparse_q8|flashmla_kv|flashmla_auto|flashinfer_sparse_mla|triton_sparse_mla|fa3|tilelang|triton|aiter|trtllm|intel_xpu
dsa-triton-union int =0 |0|2|4
enable-dp-attention switch ~--attn-dp-size␣<dp-size>
enable-dsa-fused-indexer,no-enable-dsa-fused-indexer switch =None
enable-encoder-swa-bounded-replay switch
enable-kv-cache-sharding switch
enable-linker-mla-dedup switch
enable-pd-role-switch switch
enable-watermark switch
file-storage-path str
flashinfer-allreduce-fusion-backend str |auto|trtllm|mnnvl|cutedsl
grpc-response-timeout-secs int =300
hicache-host-memory-fraction float =0.8
hicache-storage-backend str
  |file|sim|mooncake|npu_memcache|hf3fs|nixl|aibrix|dynamic|eic|simm|mori|shm|tensorcast|seaweedfs
kv-cache-dtype str =auto |auto|fp8_e5m2|fp8_e4m3|mxfp8|bf16|bfloat16|nvfp4|fp4_mx_block16
load-format str =auto
  |auto|pt|safetensors|instanttensor|npcache|dummy|sharded_state|presharded|gguf|expert_pack|bitsandbytes|mistral|layered|flash_rl|remote|remote_instance|fastsafetensors|private|runai_streamer
otlp-service-name str
prefill-attention-backend str
  |triton|torch_native|flex_attention|dsa|nsa|qsa|dsv4|compressed|fa3|fa4|flashinfer|llada2_cfg_flashinfer|flashmla|trtllm_mla|cutedsl_mla|tokenspeed_mla|trtllm_mha|hpc_ops|minicpm_flashattn|minicpm_flashinfer|aiter|wave|intel_amx|ascend|intel_xpu
prefill-kv-cache-dequant-dtype str =auto |auto|nvfp4|fp8_e4m3
qsa-indexer-dtype str =auto |auto|bfloat16|fp8_e4m3
radix-eviction-policy str =lru |lru|lfu|slru|priority|tlru
sampling-backend str |flashinfer|pytorch|ascend|intel_xpu
schedule-policy str =fcfs |lpm|random|fcfs|dfs-weight|lof|priority|routing-key|hrrn|shortest-prefill-first
shared-experts-tp-size int
speculative-draft-load-format str
  |auto|pt|safetensors|instanttensor|npcache|dummy|sharded_state|presharded|gguf|expert_pack|bitsandbytes|mistral|layered|flash_rl|remote|remote_instance|fastsafetensors|private|runai_streamer
speculative-draft-sink-size int
speculative-enable-w4a4-mxfp4-megamoe,no-speculative-enable-w4a4-mxfp4-megamoe switch =None
speculative-use-block-verification switch
swa-prefix-tails int
trust-request-chat-template switch
watermark-config str
._swa_full_tokens_ratio_explicitly_set .enable_cp_tp_group_sharing .speculative_boundary_reduction
  .watermark_context_window .watermark_default_enabled .watermark_enforce_all .watermark_key .watermark_key_b
  .watermark_max_probability .watermark_mixing_probability
@ 0.5.23 0.5.23
dsv4-attn-backend str =auto |auto|flashmla|flashmla_mega|trtllm
enable-amd-monokernel switch
enable-decoder-swa-bounded-replay,no-enable-decoder-swa-bounded-replay switch =None
enable-fused-qk-norm-rope,no-enable-fused-qk-norm-rope switch =None
enable-hierarchical-cache,enable-hicache switch
enable-http-worker-reuseport switch
enable-megamoe-for-layernorm-sp switch
enable-nvidia-megakernel switch
enable-paged-experts switch
enable-return-aux-hidden-states switch
enable-tf32-matmul,no-enable-tf32-matmul switch =None
lora-backend str =csgmv |triton|csgmv|ascend|torch_native|triton_v2
mm-enable-dp-encoder,no-mm-enable-dp-encoder switch =None
moe-runner-backend str =auto
  |auto|deep_gemm|triton|triton_kernel|flashinfer_trtllm|experimental_sgl_trtllm|flashinfer_trtllm_routed|flashinfer_cutlass|flashinfer_mxfp4|flashinfer_cutedsl|flashinfer_megamoe|cutlass|aiter|marlin|humming|experimental_sgl_marlin|lora_cutedsl|lora_triton|lora_marlin|hpc_ops|megamoe|intel_xpu
monokernel-backend str =False |amd . ~--enable-amd-monokernel
paged-experts-num-resident int
prefill-decode-interval-min-bs int =0
reasoning-parser str
  |auto|apertus2509|beam|deepseek-r1|deepseek-v3|deepseek-v4|deepseek-v41|dots|glm45|ling3|hunyuan|gpt-oss|k2_horizon|kimi|kimi_k2|kimi_k3|mimo|muse|poolside_v1|qwen3|qwen3-thinking|minimax|minimax-append-think|minimax-m3|nanbeige|step3|step3p5|mistral|nemotron_3|granite_thinking_parser|interns1|gemma4|inkling|iquest_q1|cohere_command4|gigachat35|response_template
return-aux-hidden-state-layer-ids int+
speculative-moe-runner-backend str
  |auto|deep_gemm|triton|triton_kernel|flashinfer_trtllm|experimental_sgl_trtllm|flashinfer_trtllm_routed|flashinfer_cutlass|flashinfer_mxfp4|flashinfer_cutedsl|flashinfer_megamoe|cutlass|aiter|marlin|humming|experimental_sgl_marlin|lora_cutedsl|lora_triton|lora_marlin|hpc_ops|megamoe|intel_xpu
tool-call-parser str
  |auto|apertus2509|beam|cohere_command4|deepseekv3|deepseekv31|deepseekv32|deepseekv4|deepseekv41|dots|glm|glm45|glm47|gpt-oss|k2_horizon|kimi_k2|kimi_k3|lfm2|ling3|llama3|mimo|minicpm5|mistral|muse|poolside_v1|pythonic|qwen|qwen25|qwen3_coder|spark25|step3|step3p5|minimax-m2|minimax-m3|nanbeige|trinity|interns1|hermes|hunyuan|gigachat3|gigachat35|gemma4|inkling|iquest_q1|response_template
unified-cache-external-linker-backend str =mooncake |mooncake|mori|dynamic
unified-cache-external-linker-config json
.aux_hidden_state_capture
"""
